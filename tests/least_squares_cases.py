"""Codes of every structure, decisions of every kind, and certificates of their least squares.

Decisions lie on a grid or are drawn from a continuous distribution: exact ties and exact certainty
are there, but nothing that is neither zero nor clearly different from it.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from polytomy.errors import CodeError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import exhaustive, one_vs_rest, orthogonal

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]

STRUCTURES = (
    "one-vs-rest",
    "orthogonal",
    "exhaustive",
    "adjacent",
    "tree",
    "one-vs-one",
    "some pairs",
    "strict",
    "few rows",
    "ternary",
    "sparse",
)
ANSWERS = ("noisy", "consistent", "uniform", "grid", "certain", "zero")


def make_code(structure: str, n_classes: int, seed: int) -> CodingMatrix:
    """Return a random code of the structure, with rows in any order and of either sign."""
    rng = np.random.default_rng(seed)
    for _ in range(10_000):
        matrix = _draw(structure, n_classes, rng)
        matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(n_classes)]
        matrix = matrix * rng.choice(np.array([-1, 1], dtype=np.int8), (len(matrix), 1))
        try:
            return CodingMatrix(matrix)
        except CodeError:
            continue
    raise AssertionError(f"no {structure} code of {n_classes} classes")


def _draw(structure: str, n_classes: int, rng: np.random.Generator) -> Signs:
    n_bits = max(1, int(np.ceil(np.log2(n_classes))))
    sides, sides_and_none = np.array([-1, 1], dtype=np.int8), np.array([-1, 0, 1], dtype=np.int8)
    match structure:
        case "one-vs-rest":
            return one_vs_rest(n_classes).matrix
        case "orthogonal":
            return orthogonal(n_classes, random_state=int(rng.integers(1000))).matrix
        case "exhaustive":
            return exhaustive(min(n_classes, 6)).matrix[:, :n_classes]
        case "adjacent":
            cuts = np.concatenate((np.arange(n_classes - 1), rng.integers(0, n_classes - 1, 3)))
            return np.where(np.arange(n_classes) > cuts[:, np.newaxis], 1, -1).astype(np.int8)
        case "tree":
            return _draw_tree(n_classes, rng)
        case "one-vs-one":
            pairs = pair_matrix(n_classes)
            return np.concatenate((pairs, pairs[rng.integers(0, len(pairs), 2)]))
        case "some pairs":
            pairs = pair_matrix(n_classes)
            return pairs[rng.random(len(pairs)) < rng.uniform(0.2, 0.9)]
        case "strict":
            return rng.choice(sides, (2 * n_classes, n_classes))
        case "few rows":
            columns = rng.choice(2 ** (n_bits + 1), n_classes, replace=False)
            bits = columns >> np.arange(n_bits + 1)[:, np.newaxis] & 1
            return (2 * bits - 1).astype(np.int8)
        case "ternary":
            return rng.choice(sides_and_none, (2 * n_classes, n_classes))
        case _:
            return rng.choice(sides_and_none, (n_bits + 2, n_classes))


def pair_matrix(n_classes: int) -> Signs:
    """All pairs, the first class of each on the −1 side."""
    pairs = list(combinations(range(n_classes), 2))
    matrix = np.zeros((len(pairs), n_classes), dtype=np.int8)
    for row, (first, second) in enumerate(pairs):
        matrix[row, first], matrix[row, second] = -1, 1
    return matrix


def _draw_tree(n_classes: int, rng: np.random.Generator) -> Signs:
    groups = [[k] for k in range(n_classes)]
    matrix = np.zeros((n_classes - 1, n_classes), dtype=np.int8)
    for row in matrix:
        for side in (-1, 1):
            row[groups[0]] = side
            groups = [*groups[1:], groups[0]]
        first, second = groups[-2:]
        groups = [*groups[:-2], first + second]
        rng.shuffle(groups)
    return matrix


def make_answers(kind: str, code: CodingMatrix, n_samples: int, seed: int) -> Floats:
    """Return decisions of one kind for a code."""
    rng = np.random.default_rng(seed)
    shape = n_samples, code.n_partitions
    match kind:
        case "noisy":
            exact = consistent_answers(code, rng.dirichlet(np.ones(code.n_classes), n_samples))
            return np.clip(exact + 0.3 * rng.normal(size=shape), -1, 1)
        case "consistent":
            return consistent_answers(code, rng.dirichlet(np.ones(code.n_classes), n_samples))
        case "uniform":
            return rng.uniform(-1, 1, shape)
        case "grid":
            return rng.choice(np.linspace(-1, 1, 9), shape)
        case "certain":
            return rng.choice([-1.0, 1.0], shape)
        case _:
            return np.zeros(shape)


def consistent_answers(code: CodingMatrix, p: Floats) -> Floats:
    """Return what the partitions answer if p are the true probabilities."""
    signed = code.matrix.astype(np.float64)
    return np.clip((p @ signed.T) / (p @ np.abs(signed).T), -1.0, 1.0)


def with_gaps(answers: Floats, seed: int, share: float = 0.25) -> Floats:
    """Return the decisions with some of them missing; the first sample has none at all."""
    missing = np.random.default_rng(seed).random(answers.shape) < share
    missing[:1] = True
    return np.where(missing, np.nan, answers)


@st.composite
def problems(
    draw: st.DrawFn,
    structures: tuple[str, ...] = STRUCTURES,
    kinds: tuple[str, ...] = ANSWERS,
    max_classes: int = 8,
    n_samples: int = 4,
) -> tuple[CodingMatrix, Floats]:
    """A code and decisions for it."""
    structure, kind = draw(st.sampled_from(structures)), draw(st.sampled_from(kinds))
    least = 3 if structure in ("few rows", "sparse", "ternary", "some pairs", "exhaustive") else 2
    most = 6 if structure == "exhaustive" else max_classes
    seed = draw(st.integers(0, 2**32 - 1))
    code = make_code(structure, draw(st.integers(least, most)), seed)
    return code, make_answers(kind, code, n_samples, seed)


def residuals(code: CodingMatrix, r: Floats) -> Floats:
    """Return the matrix Q of one sample: its answered partitions' residuals are Qp."""
    answered = ~np.isnan(r)
    signed = code.matrix[answered].astype(np.float64)
    return signed - r[answered, np.newaxis] * np.abs(signed)


def assert_minimum(code: CodingMatrix, r: Floats, p: Floats) -> None:
    """Check the conditions of Karush, Kuhn and Tucker for |Qp|² on the simplex."""
    assert p.min() >= 0.0
    assert abs(p.sum() - 1.0) <= 1e-12
    q = residuals(code, r)
    slope = q.T @ (q @ p)
    slope -= slope @ p
    assert slope.min(initial=0.0) >= -1e-8
    assert np.abs(slope * p).max() <= 1e-8


def assert_shortest(code: CodingMatrix, r: Floats, p: Floats) -> None:
    """Check that no minimum is shorter, by a linear program that finds the multipliers.

    The minima are p' ≥ 0 with Bp' = Bp, where B is Q with a row of ones. So p is the shortest if
    there is a y with (Bᵀy)_j = p_j where p_j > 0, and (Bᵀy)_j ≤ 0 where p_j = 0 may change, which
    is where the objective has no slope.
    """
    q = residuals(code, r)
    b = np.vstack((q, np.ones(code.n_classes)))
    slope = q.T @ (q @ p)
    slope -= slope @ p
    positive = p > 1e-9
    may_change = ~positive & (slope < 1e-7)
    equal, below = b.T[positive], b.T[may_change]
    n_rows = b.shape[0]
    ones = np.ones((np.count_nonzero(positive), 1))
    # Unknowns are y and the largest violation, which is minimised.
    solution = linprog(
        np.append(np.zeros(n_rows), 1.0),
        A_ub=np.vstack(
            (
                np.hstack((equal, -ones)),
                np.hstack((-equal, -ones)),
                np.hstack((below, -np.ones((len(below), 1)))),
            )
        ),
        b_ub=np.concatenate((p[positive], -p[positive], np.zeros(len(below)))),
        bounds=[(None, None)] * n_rows + [(0, None)],
    )
    assert solution.status == 0
    assert solution.fun <= 1e-8
