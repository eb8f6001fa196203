"""Least squares as compiled routines; their twins are in `reference`."""

from polytomy.routines.least_squares.compiled.shortcuts import (
    multiply_down_tree,
    project_answers,
    regress_isotonic,
)
from polytomy.routines.least_squares.compiled.systems import couple_pairs, minimise_on_simplex

__all__ = [
    "couple_pairs",
    "minimise_on_simplex",
    "multiply_down_tree",
    "project_answers",
    "regress_isotonic",
]
