"""Random codes and answers for the laws of the solvers."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from polytomy.errors import CodeError
from polytomy.scheme import CodingMatrix
from strategies import orders, sided_codes

FloatArray = NDArray[np.float64]

law = settings(max_examples=30, deadline=None)

hard_values = st.sampled_from([-1.0, 0.0, 1.0])
soft_values = st.floats(-0.999, 0.999, allow_subnormal=False)


def pair_matrix(n_classes: int) -> NDArray[np.int8]:
    """All pairs, the first class of each on the +1 side."""
    pairs = list(combinations(range(n_classes), 2))
    matrix = np.zeros((len(pairs), n_classes), dtype=np.int8)
    for row, (first, second) in enumerate(pairs):
        matrix[row, first], matrix[row, second] = 1, -1
    return matrix


@cache
def _signs(n: int) -> st.SearchStrategy[NDArray[np.int8]]:
    return hnp.arrays(np.int8, n, elements=st.sampled_from([-1, 1]))


@cache
def _strict_rows(n_classes: int) -> st.SearchStrategy[list[NDArray[np.int8]]]:
    row = _signs(n_classes).filter(lambda r: abs(int(r.sum())) < n_classes)
    return st.lists(row, max_size=6)


@cache
def _ternary_rows(n_classes: int) -> st.SearchStrategy[list[NDArray[np.int8]]]:
    row = hnp.arrays(np.int8, n_classes, elements=st.sampled_from([-1, 0, 1]))
    return st.lists(row.filter(lambda r: r.min() < 0 < r.max()), max_size=5)


@st.composite
def _shuffled(draw: st.DrawFn, matrix: NDArray[np.int8]) -> CodingMatrix:
    """The code with its rows in any order and of either sign."""
    signs = draw(_signs(len(matrix)))
    return CodingMatrix(matrix[draw(orders(len(matrix)))] * signs[:, np.newaxis])


@st.composite
def one_vs_one_codes(draw: st.DrawFn, max_classes: int = 5, max_repeats: int = 3) -> CodingMatrix:
    matrix = pair_matrix(draw(st.integers(2, max_classes)))
    repeated = draw(st.lists(st.integers(0, len(matrix) - 1), max_size=max_repeats))
    return draw(_shuffled(np.concatenate([matrix, matrix[repeated]])))


@st.composite
def strict_codes(draw: st.DrawFn, max_classes: int = 6) -> CodingMatrix:
    n_classes = draw(st.integers(2, max_classes))
    rows = draw(_strict_rows(n_classes))
    # One-vs-rest, without one class perhaps, tells all classes apart.
    base = 2 * np.eye(n_classes, dtype=np.int8) - 1
    base = base[: n_classes - draw(st.integers(0, 1 if n_classes > 2 else 0))]
    return draw(_shuffled(np.concatenate([base, np.array(rows, np.int8).reshape(-1, n_classes)])))


@st.composite
def ternary_codes(draw: st.DrawFn, max_classes: int = 5) -> CodingMatrix:
    n_classes = draw(st.integers(3, max_classes))
    rows = draw(_ternary_rows(n_classes))
    # A line of pairs compares all classes with each other, if only through those between.
    line = np.eye(n_classes - 1, n_classes, dtype=np.int8)
    line = line - np.roll(line, 1, axis=1)
    return draw(_shuffled(np.concatenate([line, np.array(rows, np.int8).reshape(-1, n_classes)])))


@cache
def codes(max_classes: int = 5) -> st.SearchStrategy[CodingMatrix]:
    """Codes of every kind; all of them determine the probabilities."""
    kinds = [strict_codes(max_classes), one_vs_one_codes(max_classes), ternary_codes(max_classes)]
    return st.one_of(kinds).filter(lambda code: code.is_determined)


@st.composite
def tree_children(draw: st.DrawFn, max_classes: int = 8) -> Any:
    """A nested pair of pairs with the classes 0, 1, … as leaves."""
    parts: list[Any] = list(range(draw(st.integers(2, max_classes))))
    while len(parts) > 1:
        at = draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [(parts[at], parts[at + 1])]
    return parts[0]


@cache
def probabilities(n_classes: int) -> st.SearchStrategy[FloatArray]:
    masses = hnp.arrays(np.float64, n_classes, elements=st.floats(0.02, 1.0))
    return masses.map(lambda mass: mass / mass.sum())


@cache
def answers(
    n_partitions: int, *, n_samples: int = 2, hard: bool = False, gaps: bool = False
) -> st.SearchStrategy[FloatArray]:
    """Decision values: of any size, at the ends of the interval too, or missing."""
    values = st.one_of(soft_values, hard_values) if hard else soft_values
    if gaps:
        values = st.one_of(values, st.just(np.nan))
    return hnp.arrays(np.float64, (n_samples, n_partitions), elements=values)


def consistent_answers(code: CodingMatrix, p: FloatArray) -> FloatArray:
    """What the partitions answer if p is the truth, one sample."""
    signed = code.matrix.astype(np.float64)
    return ((signed @ p) / (np.abs(signed) @ p))[np.newaxis]


def without_row(code: CodingMatrix, row: int) -> CodingMatrix | None:
    """The code without a partition, if that is a code."""
    try:
        return CodingMatrix(np.delete(code.matrix, row, axis=0))
    except CodeError:
        return None


@st.composite
def reordered(
    draw: st.DrawFn, code: CodingMatrix, r: FloatArray
) -> tuple[CodingMatrix, FloatArray]:
    """The same partitions and answers with rows in another order, some turned round."""
    order, signs = draw(orders(code.n_partitions)), draw(_signs(code.n_partitions))
    turned = CodingMatrix((code.matrix * signs[:, np.newaxis])[order])
    return turned, (r * signs)[:, order]


def assert_leaves_out(
    solver: Any, code: CodingMatrix, r: FloatArray, row: int, atol: float
) -> None:
    """A missing answer is as good as a code without that row, where that is a code."""
    smaller = without_row(code, row)
    if smaller is not None:
        expected = solver(smaller, np.delete(r, row, axis=1))
        gap = np.where(np.arange(code.n_partitions) == row, np.nan, r)
        np.testing.assert_allclose(solver(code, gap), expected, atol=atol)


def assert_on_simplex(p: FloatArray, n_classes: int) -> None:
    assert p.dtype == np.float64
    assert p.shape[1] == n_classes
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@cache
def sided(max_classes: int = 6) -> st.SearchStrategy[CodingMatrix]:
    """Codes whose partitions have two sides or more, and that determine the probabilities."""
    return st.integers(2, max_classes).flatmap(sided_codes).filter(lambda code: code.is_determined)


@st.composite
def side_chances(draw: st.DrawFn, code: CodingMatrix, n_samples: int = 3) -> list[FloatArray]:
    """A probability for each side of each partition: arrays of shape (n_samples, n_sides)."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.1, 1.0, 10.0]))
    return [generator.dirichlet([spread] * n, n_samples) for n in code.n_sides.tolist()]


def chances_to_decisions(code: CodingMatrix, chances: list[FloatArray]) -> FloatArray:
    """The columns of decisions: one for a partition of one row, else one for each side."""
    columns = [
        q[:, 1:] - q[:, :1] if n_rows == 1 else 2.0 * q - 1.0
        for q, n_rows in zip(chances, code.rows_per_partition.tolist(), strict=True)
    ]
    return np.hstack(columns)


def side_masses(sides: NDArray[np.intp], p: FloatArray) -> FloatArray:
    """The mass of each side of one partition."""
    return np.array([p[sides == side].sum() for side in range(sides.max() + 1)])
