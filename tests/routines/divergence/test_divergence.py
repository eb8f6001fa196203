"""The compiled routine of the divergence agrees with the reference routine."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.routines.compiled import divergence as compiled
from polytomy.routines.reference import divergence as reference
from polytomy.scheme import CodingMatrix
from solver_strategies import answers, codes, pair_matrix

TWINS = [reference, compiled]


def noisy_answers(code: CodingMatrix, rng: np.random.Generator, noise: float) -> np.ndarray:
    signed = code.matrix.astype(np.float64)
    p = rng.dirichlet(np.ones(code.n_classes), 30)
    true = (p @ signed.T) / (p @ np.abs(signed).T)
    return np.tanh(np.arctanh(true) + noise * rng.normal(size=true.shape))


@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["one-vs-rest", "strict", "pairs", "ternary"])
def test_twins_find_the_same_probabilities(kind: str, noise: float) -> None:
    rng = np.random.default_rng(11)
    n_classes = 7
    matrix = {
        "one-vs-rest": 2 * np.eye(n_classes, dtype=np.int8) - 1,
        "strict": np.sign(rng.uniform(-1, 1, (14, n_classes))).astype(np.int8),
        "pairs": pair_matrix(n_classes),
        "ternary": rng.integers(-1, 2, (30, n_classes)).astype(np.int8),
    }[kind]
    code = CodingMatrix(matrix[(matrix.min(axis=1) == -1) & (matrix.max(axis=1) == 1)])
    assert code.is_determined
    r = noisy_answers(code, rng, noise)
    weights = rng.uniform(0.2, 1.0, (code.n_partitions, 1)) * [[1.0, 1.0]]
    results = [
        twin.minimise_divergence(code.matrix, r, weights, code.is_strict or code.is_pairwise)
        for twin in TWINS
    ]
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-12)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_twins_find_equally_low_minima_whatever_the_answers(data: st.DataObject) -> None:
    # Where several points are minima the twins may find different ones, but not of other heights.
    code = data.draw(codes())
    r = data.draw(answers(code.n_partitions, n_samples=1, hard=True, gaps=True))
    weights = np.ones((code.n_partitions, 2))
    heights = []
    for twin in TWINS:
        p = twin.minimise_divergence(code.matrix, r, weights, code.is_strict or code.is_pairwise)[0]
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        made = []
        for row in np.flatnonzero(~np.isnan(r[0])):
            positive, negative = p[code.matrix[row] == 1].sum(), p[code.matrix[row] == -1].sum()
            if positive + negative > 1e-9:
                for share, mass in ((1 + r[0, row], positive), (1 - r[0, row], negative)):
                    if share > 0:
                        made.append(-share / 2 * np.log(max(mass, 1e-300) / (positive + negative)))
        heights.append(sum(made))
    assert heights[0] == pytest.approx(heights[1], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("twin", TWINS)
def test_no_samples_give_no_rows(twin: ModuleType) -> None:
    matrix = CodingMatrix(pair_matrix(3)).matrix
    assert twin.minimise_divergence(matrix, np.empty((0, 3)), np.ones(3), True).shape == (0, 3)


@pytest.mark.parametrize("twin", TWINS)
def test_the_arguments_are_not_changed(twin: ModuleType) -> None:
    rng = np.random.default_rng(0)
    matrix = CodingMatrix(pair_matrix(4)).matrix
    r, weights = rng.uniform(-1, 1, (3, 6)), rng.uniform(0, 1, (6, 2))
    before = r.copy(), weights.copy()
    twin.minimise_divergence(matrix, r, weights, True)
    np.testing.assert_array_equal(r, before[0])
    np.testing.assert_array_equal(weights, before[1])


@pytest.mark.parametrize("is_strict", [True, False])
def test_twins_agree_on_rows_that_count_on_one_side(is_strict: bool) -> None:
    rng = np.random.default_rng(7)
    sides = rng.integers(0 if is_strict else -1, 3, (6, 5))
    sides[:3] = [[0, 1, 2, 0, 1], [0, 0, 1, 1, 2], [0, 1, 1, 2, 2]]
    code = CodingMatrix.from_sides([row for row in sides if {*row} >= {0, 1, 2}])
    assert code.is_determined
    p = rng.dirichlet(np.ones(5), 30)
    r = np.empty((30, code.n_rows))
    for row, entries in enumerate(code.matrix.astype(float)):
        r[:, row] = (p @ entries) / (p @ np.abs(entries))
    r = np.clip(r + rng.normal(0, 0.1, r.shape), -1, 1)
    weights = np.column_stack([np.zeros(code.n_rows), np.ones(code.n_rows)])
    results = [twin.minimise_divergence(code.matrix, r, weights, is_strict) for twin in TWINS]
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("hardness", [0.0, 0.3])
@pytest.mark.parametrize(("n_classes", "n_sides"), [(30, 3), (70, 5), (120, 12)])
def test_wide_partitions_of_several_sides_meet_the_conditions_of_a_minimum(
    n_classes: int, n_sides: int, hardness: float
) -> None:
    # L is convex in p. So p is a minimum if no class has a pull beyond that of the classes with
    # mass, which is the number of partitions.
    rng = np.random.default_rng(3)
    sides = np.array([rng.permutation(n_classes) % n_sides for _ in range(25)])
    is_member = (sides[:, np.newaxis] == np.arange(n_sides)[:, np.newaxis]).reshape(-1, n_classes)
    q = rng.dirichlet(np.full(n_sides, 0.5), (40, 25))
    # Some partitions are certain of one side.
    is_hard = rng.uniform(size=(40, 25)) < hardness
    q[is_hard] = np.eye(n_sides)[rng.integers(n_sides, size=is_hard.sum())]
    shares = q.reshape(40, -1)
    weights = np.column_stack([np.zeros(25 * n_sides), np.ones(25 * n_sides)])
    matrix = np.where(is_member, 1, -1).astype(np.int8)
    found = compiled.minimise_divergence(matrix, 2 * shares - 1, weights, True)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    masses = found @ is_member.T
    pulls = np.divide(shares, masses, out=np.zeros_like(shares), where=shares > 0) @ is_member
    has_mass = found > 1e-12
    np.testing.assert_allclose(pulls[has_mass], 25, rtol=1e-9)
    assert pulls.max() <= 25 * (1 + 1e-9)
