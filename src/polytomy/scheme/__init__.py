"""The meaning of a control text: a tree of codes over class labels."""

from polytomy.scheme.labels import Label
from polytomy.scheme.layout import Binary, ClassRef, Node, NodeRef
from polytomy.scheme.reading import parse, read
from polytomy.scheme.scheme import Partition, Scheme

__all__ = ["Binary", "ClassRef", "Label", "Node", "NodeRef", "Partition", "Scheme", "parse", "read"]
