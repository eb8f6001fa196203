"""Small arguments for every routine, with the types that the package uses.

Numba compiles a function for the types of its arguments. So calling a routine with all of its
examples compiles everything that it will ever need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.banks.reference import KINDS
from polytomy.routines.kernel_rows.reference import KERNEL_VALUES, nothing_to_make
from polytomy.routines.linear.reference import LinearForm, LinearSamples
from polytomy.routines.smo.reference import FROM_FIRST_RUN

__all__ = ["Example", "examples"]

_RBF = KINDS["rbf"], 1.0, 3, 0.0
_PAIR = np.array([[-1, 1]], dtype=np.int8)
_MANY_CLASSES = 100
"""A number of classes too large to solve samples side by side."""


class Example(NamedTuple):
    """A call of a routine."""

    subject: str
    name: str
    arguments: tuple[Any, ...]


def examples() -> Iterator[Example]:
    """Yield calls of all routines.

    Examples
    --------
    >>> sorted({example.subject for example in examples()})[:3]
    ['banks', 'calibration', 'coupling']
    """
    yield from _training_examples()
    yield from map(_linear_example, (np.float64, np.float32))
    yield from _calibration_examples()
    yield from _bank_examples()
    yield from _solver_examples()
    starts = np.array([0, 2, 4])
    yield Example("distances", "hausdorff_matrix", (np.arange(8.0).reshape(4, 2), starts))


def _training_examples() -> Iterator[Example]:
    yield Example("kernel_rows", "kernel_values", (np.zeros(1), _RBF[0], 1.0, 3, 0.0))
    for holds_kernel_values, dtype in ((True, np.float32), (False, np.float64)):
        matrix = np.empty((2, 2), dtype)
        arguments = np.eye(2), np.ones(2), np.ones(2), *_RBF, holds_kernel_values, matrix, 0, 0
        yield Example("kernel_rows", "store_products", arguments)
    values = np.eye(2, dtype=np.float32), np.empty((0, 0)), nothing_to_make(), KERNEL_VALUES
    yield Example("smo", "train_machines", (*values, *_two_samples()))


def _two_samples() -> tuple[Any, ...]:
    """Return the remaining arguments of `train_machines`, for two samples and two runs."""
    return (
        np.arange(2),
        np.array([2]),
        np.array([-1.0, 1.0]),
        np.ones((2, 2)),
        np.array([_RBF[1:], _RBF[1:]]),
        np.ones((2, 2)),
        np.array([1e-3]),
        np.array([-1]),
        np.array([True]),
        FROM_FIRST_RUN,
        np.empty(4, dtype=np.float32),
    )


def _linear_example(dtype: Any) -> Example:
    nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
    samples = LinearSamples(np.eye(2, dtype=dtype), *nothing, np.ones(2), 2)
    problem = np.arange(2), np.array([0, 2]), np.array([-1.0, 1.0]), np.ones((1, 2))
    folds = np.full(2, -1), np.empty((1, 0), dtype=np.bool_)
    arguments = samples, *problem, *folds, LinearForm(True, 1.0, 0.0, 100), np.ones(1), np.ones(1)
    return Example("linear", "fit_linear_models", arguments)


def _calibration_examples() -> Iterator[Example]:
    values, halves = np.array([-1.0, 1.0]), np.array([0.25, 0.75])
    is_positive, ones = values > 0, np.ones(2)
    yield Example("calibration", "fit_sigmoids", (values, is_positive, ones, np.array([0, 2])))
    yield Example("calibration", "fit_log_odds", (values[:, np.newaxis], halves, ones))
    softmax = np.diag(values), np.array([0, 1]), np.ones((1, 2)), np.zeros((1, 3)), True, 1e-10
    yield Example("calibration", "fit_scale_and_bias", softmax)


def _bank_examples() -> Iterator[Example]:
    sums = np.zeros(1)
    yield Example("banks", "answer_logistic", (np.zeros((1, 1)), sums, sums))
    pair = np.array([0]), np.array([1]), np.zeros((1, 2))
    yield Example("banks", "count_pair_votes", (np.zeros((1, 1)), sums, sums, *pair))
    rows = np.zeros(1, dtype=np.intp)
    weights = np.array([0, 1]), rows, sums
    for dtype in (np.float64, np.float32):
        centre = np.zeros(1, dtype)
        dense = np.zeros((1, 1)), np.zeros((1, 1)), rows, centre, centre, _RBF, weights
        yield Example("banks", "add_dense_scores", (*dense, np.zeros((1, 1))))
        sparse = _sparse_row(dtype), _sparse_row(dtype), rows, 1, _RBF, weights
        yield Example("banks", "add_sparse_scores", (*sparse, np.zeros((1, 1))))
        products = np.zeros((1, 1), dtype), centre, centre
        yield Example("banks", "transform_products", (*products, _RBF))


def _sparse_row(dtype: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return np.ones(1, dtype), np.zeros(1, dtype=np.int32), np.array([0, 1], dtype=np.int32)


def _solver_examples() -> Iterator[Example]:
    answers, zero, one = np.zeros((1, 1)), np.array([0]), np.array([1])
    yield Example("least_squares", "multiply_down_tree", (answers, np.array([[~0, ~1]]), zero))
    cuts = np.array([0, 1]), zero, np.ones(1, dtype=np.int8)
    yield Example("least_squares", "regress_isotonic", (answers, *cuts))
    yield Example("least_squares", "project_answers", (answers, np.array([[-1.0, 1.0]])))
    many = np.array(np.triu_indices(_MANY_CLASSES, 1))
    for negative, positive, n_classes in ((zero, one, 2), (*many, _MANY_CLASSES)):
        pairs = np.zeros((1, len(negative))), negative, positive, n_classes
        yield Example("least_squares", "couple_pairs", pairs)
    row = np.array([0, 2]), np.array([0, 1]), np.array([-1.0, 1.0]), np.array([[1.0, -1], [-1, 1]])
    # Samples are solved side by side; one without an answer is then solved separately.
    yield Example("least_squares", "minimise_on_simplex", (np.array([[np.nan]]), *row, 2))
    answer = np.array([[0.5, 0.5]])
    yield Example("one_vs_rest", "minimise_one_vs_rest", (answer, np.ones(2)))
    yield Example("divergence", "minimise_divergence", (_PAIR, answers, np.ones((1, 2)), True))
    yield Example("coupling", "stationary_distribution", (zero, one, answers, 2))
