"""Schemes from classes, matrices, hierarchies and data."""

from polytomy.designs.flat import (
    adjacent,
    exhaustive,
    from_matrix,
    one_vs_one,
    one_vs_rest,
    orthogonal,
    random_code,
)
from polytomy.designs.registry import DESIGNS, design
from polytomy.designs.trees import balanced_tree, from_tree, random_tree

__all__ = [
    "DESIGNS",
    "adjacent",
    "balanced_tree",
    "design",
    "exhaustive",
    "from_matrix",
    "from_tree",
    "one_vs_one",
    "one_vs_rest",
    "orthogonal",
    "random_code",
    "random_tree",
]
