"""Least squares in plain NumPy: the oracle of the compiled routines."""

from polytomy.routines.least_squares.reference.shortcuts import (
    multiply_down_tree,
    project_answers,
    regress_isotonic,
)
from polytomy.routines.least_squares.reference.systems import couple_pairs, minimise_on_simplex

__all__ = [
    "couple_pairs",
    "minimise_on_simplex",
    "multiply_down_tree",
    "project_answers",
    "regress_isotonic",
]
