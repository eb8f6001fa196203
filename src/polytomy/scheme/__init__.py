"""The meaning of a control text: a tree of codes over class labels."""

from typing import Any

from polytomy.inputs.renamed import find_renamed
from polytomy.scheme.layout import BinaryName, ClassRef, Label, Node, NodeRef
from polytomy.scheme.partitions import Partition
from polytomy.scheme.reading import parse, read
from polytomy.scheme.scheme import Scheme

__all__ = [
    "BinaryName",
    "ClassRef",
    "Label",
    "Node",
    "NodeRef",
    "Partition",
    "Scheme",
    "parse",
    "read",
]


def __getattr__(name: str) -> Any:
    return find_renamed(__name__, name, {"Binary": BinaryName})
