"""Coding matrices as validated, immutable objects, and functions that create the usual ones."""

from polytomy.codes.checks import MAX_ENTRIES, find_problems
from polytomy.codes.coding_matrix import CodingMatrix
from polytomy.codes.n_ary import count_n_ary, n_ary
from polytomy.codes.orthogonal import hadamard, hadamard_order, orthogonal
from polytomy.codes.random_codes import random_strict, random_ternary
from polytomy.codes.standard import (
    MAX_EXHAUSTIVE_CLASSES,
    adjacent,
    chain,
    direct,
    exhaustive,
    one_vs_one,
    one_vs_rest,
)
from polytomy.codes.structure import NO_CHILD, AdjacentOrder, Equiangular, TreeShape
from polytomy.inputs.arguments import as_count
from polytomy.inputs.seeds import RandomState, as_generator

__all__ = [
    "MAX_ENTRIES",
    "MAX_EXHAUSTIVE_CLASSES",
    "NO_CHILD",
    "AdjacentOrder",
    "CodingMatrix",
    "Equiangular",
    "RandomState",
    "TreeShape",
    "adjacent",
    "as_count",
    "as_generator",
    "chain",
    "count_n_ary",
    "direct",
    "exhaustive",
    "find_problems",
    "hadamard",
    "hadamard_order",
    "n_ary",
    "one_vs_one",
    "one_vs_rest",
    "orthogonal",
    "random_strict",
    "random_ternary",
]
