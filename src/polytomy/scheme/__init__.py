"""Schemes and coding matrices: the meaning of a control text, as a tree of codes over labels."""

from polytomy.scheme import coverings as coverings  # names its codes for control texts
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import BinaryName, ClassRef, Label, Node, NodeRef, Partition
from polytomy.scheme.reading import parse, read
from polytomy.scheme.scheme import Scheme, SchemeEnsemble

__all__ = [
    "BinaryName",
    "ClassRef",
    "CodingMatrix",
    "Label",
    "Node",
    "NodeRef",
    "Partition",
    "Scheme",
    "SchemeEnsemble",
    "parse",
    "read",
]
