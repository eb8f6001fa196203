"""The minimum of the Kullback-Leibler divergence, against its definition and scipy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from polytomy.errors import ArgumentError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import one_vs_one
from polytomy.solvers.coupling import solve_divergence
from polytomy.solvers.least_squares import solve_least_squares
from solver_strategies import (
    FloatArray,
    answers,
    assert_leaves_out,
    assert_on_simplex,
    chances_to_decisions,
    codes,
    consistent_answers,
    law,
    one_vs_one_codes,
    pair_matrix,
    probabilities,
    reordered,
    side_chances,
    side_masses,
    sided,
    strict_codes,
    ternary_codes,
)

any_codes = st.one_of(strict_codes(), one_vs_one_codes(), ternary_codes())
convex_codes = st.one_of(strict_codes(), one_vs_one_codes())


def measure(code: CodingMatrix, r: FloatArray, p: FloatArray, weights: Any = None) -> float:
    """The divergence of one sample, by its definition."""
    value = 0.0
    for row in range(code.n_partitions):
        if np.isnan(r[row]):
            continue
        positive = sum(p[j] for j in range(code.n_classes) if code.matrix[row, j] == 1)
        negative = sum(p[j] for j in range(code.n_classes) if code.matrix[row, j] == -1)
        for answer, mass in (((1 + r[row]) / 2, positive), ((1 - r[row]) / 2, negative)):
            if answer > 0:
                with np.errstate(divide="ignore"):
                    term = answer * np.log(answer / (mass / (positive + negative)))
                value += term if weights is None else weights[row] * term
    return float(value)


def minimise_by_scipy(code: CodingMatrix, r: FloatArray, start: FloatArray) -> FloatArray:
    found = minimize(
        lambda p: measure(code, r, p),
        start,
        method="SLSQP",
        bounds=[(1e-12, 1)] * code.n_classes,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return np.maximum(found.x, 1e-12) / np.maximum(found.x, 1e-12).sum()


@law
@given(st.data())
def test_every_answer_gives_a_point_of_the_simplex(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))
    assert_on_simplex(solve_divergence(code, r), code.n_classes)


@law
@given(st.data())
def test_consistent_answers_give_their_probabilities_back(data: st.DataObject) -> None:
    code = data.draw(codes())
    p = data.draw(probabilities(code.n_classes))
    np.testing.assert_allclose(
        solve_divergence(code, consistent_answers(code, p))[0], p, rtol=0, atol=1e-9
    )


@law
@given(st.data())
def test_no_point_of_the_simplex_is_lower_for_strict_and_pairwise_codes(
    data: st.DataObject,
) -> None:
    code = data.draw(convex_codes)
    r = data.draw(answers(code.n_partitions, n_samples=1))
    other = data.draw(probabilities(code.n_classes))
    p = solve_divergence(code, r)[0]
    lowest = measure(code, r[0], p)
    for step in (1.0, 1e-2, 1e-4):
        assert measure(code, r[0], (1 - step) * p + step * other) >= lowest - 1e-12


@law
@given(st.data())
def test_no_small_step_improves_the_minimum_of_any_code(data: st.DataObject) -> None:
    code = data.draw(ternary_codes())
    r = data.draw(answers(code.n_partitions, n_samples=1))
    other = data.draw(probabilities(code.n_classes))
    p = solve_divergence(code, r)[0]
    lowest = measure(code, r[0], p)
    for step in (1e-3, 1e-4, 1e-5):
        assert measure(code, r[0], (1 - step) * p + step * other) >= lowest - 1e-12


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_scipy_finds_no_lower_minimum_and_comes_as_low(data: st.DataObject) -> None:
    code = data.draw(st.one_of(convex_codes, ternary_codes(max_classes=4)))
    r = data.draw(hnp.arrays(np.float64, code.n_partitions, elements=st.floats(-0.9, 0.9)))
    ours = measure(code, r, solve_divergence(code, r[np.newaxis])[0])
    starts = [np.full(code.n_classes, 1 / code.n_classes)]
    starts += [0.8 * vertex + 0.2 * starts[0] for vertex in np.eye(code.n_classes)]
    theirs = min(measure(code, r, minimise_by_scipy(code, r, start)) for start in starts)
    assert ours <= theirs + 1e-9
    assert theirs <= ours + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_the_lowest_of_several_local_minima_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = 5
    matrix = rng.integers(-1, 2, (9, n_classes))
    matrix = matrix[(matrix.min(axis=1) == -1) & (matrix.max(axis=1) == 1)]
    code = CodingMatrix(np.concatenate([matrix, pair_matrix(n_classes)[:4]]))
    r = np.tanh(rng.normal(0, 3, code.n_partitions))
    ours = measure(code, r, solve_divergence(code, r[np.newaxis])[0])
    for start in rng.dirichlet(np.full(n_classes, 0.3), 6) + 1e-6:
        assert ours <= measure(code, r, minimise_by_scipy(code, r, start / start.sum())) + 1e-9


@law
@given(st.data())
def test_the_gradient_vanishes_inside_and_points_inwards_at_the_border(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, n_samples=1))[0]
    p = solve_divergence(code, r[np.newaxis])[0]
    for j in range(code.n_classes):
        pull = cost = 0.0
        for row in np.flatnonzero(code.matrix[:, j]):
            side = code.matrix[row] == code.matrix[row, j]
            pull += (1 + code.matrix[row, j] * r[row]) / 2 / p[side].sum()
            cost += 1 / p[code.matrix[row] != 0].sum()
        if p[j] > 1e-9:
            assert pull == pytest.approx(cost, rel=1e-6)
        else:
            assert pull <= cost * (1 + 1e-9)


@law
@given(st.data())
def test_permuting_classes_permutes_the_answer(data: st.DataObject) -> None:
    code = data.draw(convex_codes)
    r = data.draw(answers(code.n_partitions))
    order = list(data.draw(st.permutations(range(code.n_classes))))
    permuted = solve_divergence(CodingMatrix(code.matrix[:, order]), r)
    np.testing.assert_allclose(permuted, solve_divergence(code, r)[:, order], atol=1e-8)


@law
@given(st.data())
def test_order_and_sign_of_the_rows_do_not_matter(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions))
    other = data.draw(reordered(code, r))
    np.testing.assert_allclose(solve_divergence(*other), solve_divergence(code, r), atol=1e-8)


@law
@given(st.data())
def test_a_missing_answer_leaves_the_row_out(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions))
    row = data.draw(st.integers(0, code.n_partitions - 1))
    assert_leaves_out(solve_divergence, code, r, row, atol=1e-7)


@law
@given(st.data())
def test_a_weight_of_two_is_a_row_given_twice(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions))
    row = data.draw(st.integers(0, code.n_partitions - 1))
    weights = np.ones(code.n_partitions)
    weights[row] = 2.0
    twice = CodingMatrix(np.concatenate([code.matrix, code.matrix[[row]]]))
    np.testing.assert_allclose(
        solve_divergence(code, r, weights=weights),
        solve_divergence(twice, np.concatenate([r, r[:, [row]]], axis=1)),
        atol=1e-8,
    )


@law
@given(st.data())
def test_only_ratios_of_weights_matter_and_zero_leaves_out(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions))
    weights = data.draw(hnp.arrays(np.float64, code.n_partitions, elements=st.floats(0.1, 9.0)))
    weights[data.draw(st.integers(0, code.n_partitions - 1))] = 0.0
    weighted = solve_divergence(code, r, weights=weights)
    np.testing.assert_allclose(
        solve_divergence(code, r, weights=weights * 1e200), weighted, atol=1e-9
    )
    r[:, weights == 0] = np.nan
    np.testing.assert_array_equal(solve_divergence(code, r, weights=weights), weighted)


def test_weights_minimise_the_weighted_divergence() -> None:
    rng = np.random.default_rng(3)
    code = CodingMatrix(2 * np.eye(4, dtype=int) - 1)
    r = rng.uniform(-0.8, 0.8, 4)
    weights = np.array([1.0, 5.0, 0.5, 2.0])
    p = solve_divergence(code, r[np.newaxis], weights=weights)[0]
    for other in rng.dirichlet(np.ones(4), 200):
        assert measure(code, r, 0.99 * p + 0.01 * other, weights) >= measure(code, r, p, weights)


def test_a_tree_is_multiplied_out() -> None:
    code = CodingMatrix([[-1, -1, 1, 1], [-1, 1, 0, 0], [0, 0, -1, 1]])
    p = solve_divergence(code, [[0.5, 0.2, -1.0]])
    np.testing.assert_allclose(p, [[0.25 * 0.4, 0.25 * 0.6, 0.75, 0.0]], atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3, 6, 30])
def test_hard_answers_in_one_order_make_the_first_class_certain(n_classes: int) -> None:
    code = CodingMatrix(pair_matrix(n_classes))
    p = solve_divergence(code, np.ones((1, code.n_partitions)))
    np.testing.assert_array_equal(p, [[1.0] + [0.0] * (n_classes - 1)])


def test_hard_answers_that_beat_each_other_in_a_ring_make_the_ring_uniform() -> None:
    # 0 beats 1, 1 beats 2, 2 beats 0, and all of them beat 3.
    code = CodingMatrix(pair_matrix(4))
    p = solve_divergence(code, [[1, -1, 1, 1, 1, 1]])
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 3, 0]], atol=1e-12)


def test_two_classes_that_claim_all_share_it() -> None:
    # −log p₀ − log p₁ − log(1 − p₂) is least at 1/2, 1/2, 0.
    code = CodingMatrix(2 * np.eye(3, dtype=int) - 1)
    np.testing.assert_allclose(solve_divergence(code, [[1, 1, -1]]), [[0.5, 0.5, 0.0]], atol=1e-12)


def test_when_all_classes_are_denied_none_is_preferred() -> None:
    code = CodingMatrix(2 * np.eye(5, dtype=int) - 1)
    np.testing.assert_allclose(solve_divergence(code, -np.ones((1, 5))), np.full((1, 5), 0.2))


def test_the_shortest_of_several_minimisers_is_returned() -> None:
    # P(2, 3) = P(1, 3) = 3/4 leaves p₃ open; p₀² + p₁² + p₂² + p₃² is least at p₃ = 1/2.
    code = CodingMatrix([[-1, -1, 1, 1], [-1, 1, -1, 1]])
    np.testing.assert_allclose(
        solve_divergence(code, [[0.5, 0.5]]), [[0, 0.25, 0.25, 0.5]], atol=1e-9
    )


def test_classes_never_compared_are_weighed_by_least_norm() -> None:
    # Pairs shared out as (1/3, 2/3) and (1/2, 1/2) have squared norms 5/9 and 1/2.
    code = CodingMatrix([[1, -1, 0, 0], [0, 0, 1, -1]])
    mass = Fraction(9, 5) / (Fraction(9, 5) + 2)
    expected = [mass / 3, mass * 2 / 3, (1 - mass) / 2, (1 - mass) / 2]
    p = solve_divergence(code, [[-1 / 3, 0.0]])
    np.testing.assert_allclose(p[0], np.array(expected, dtype=float), atol=1e-9)


def test_a_sample_without_answers_is_uniform() -> None:
    code = CodingMatrix(pair_matrix(4))
    np.testing.assert_allclose(
        solve_divergence(code, np.full((1, 6), np.nan)), np.full((1, 4), 0.25)
    )


def test_nearly_certain_answers_keep_their_order_of_magnitude() -> None:
    # The answer 1 − 2e-13 is itself rounded by 2^-54, a part of 3e-4 of what it lacks to 1.
    p = np.array([1.0, 1e-10, 1e-13])
    code = CodingMatrix(pair_matrix(3))
    found = solve_divergence(code, consistent_answers(code, p))[0]
    np.testing.assert_allclose(found[1:] / found[:-1], p[1:] / p[:-1], rtol=1e-3)


def test_single_precision_does_not_lose_the_simplex() -> None:
    rng = np.random.default_rng(0)
    code = CodingMatrix(2 * np.eye(7, dtype=int) - 1)
    assert_on_simplex(solve_divergence(code, rng.uniform(-1, 1, (50, 7)).astype(np.float32)), 7)


def test_no_samples_give_no_rows() -> None:
    code = CodingMatrix(2 * np.eye(3, dtype=int) - 1)
    assert solve_divergence(code, np.empty((0, 3))).shape == (0, 3)


def test_it_differs_from_least_squares_where_answers_contradict_each_other() -> None:
    code = CodingMatrix(2 * np.eye(3, dtype=int) - 1)
    r = [[0.9, 0.8, -0.9]]
    assert np.abs(solve_divergence(code, r) - solve_least_squares(code, r)).max() > 1e-3


def test_invalid_weights_are_refused() -> None:
    code = CodingMatrix(2 * np.eye(3, dtype=int) - 1)
    with pytest.raises(ArgumentError, match=r"weights must have shape \(3,\); got \(2,\)"):
        solve_divergence(code, [[0.0, 0.0, 0.0]], weights=[1, 2])


def test_weights_of_any_size_give_probabilities() -> None:
    code = one_vs_one(3)
    certain = 1 - np.array([0, 1e-16, 6e-8, 1])
    r = np.random.default_rng(8).choice(np.concatenate((certain, -certain, [np.nan])), (200, 3))
    for weights in ([1e-305, 1, 1], [1e-300, 1e300, 1], [5e-324, 1, 1e-300], [5e-324, 0, 5e-324]):
        p = solve_divergence(code, r, weights=weights)
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    # However small, a weight counts where no other does: class 0 gets what the first row says.
    p = solve_divergence(code, [[0.5, np.nan, 0.0]], weights=[1e-300, 1, 1e300])
    np.testing.assert_allclose(p, [[1 / 7, 3 / 7, 3 / 7]], rtol=0, atol=1e-9)


@law
@given(st.data())
def test_one_vs_rest_in_any_disguise_gives_what_the_general_routine_gives(
    data: st.DataObject,
) -> None:
    n_classes = data.draw(st.integers(3, 6))
    order = data.draw(st.permutations(range(n_classes)))
    signs = data.draw(hnp.arrays(np.int8, n_classes, elements=st.sampled_from([-1, 1])))
    code = CodingMatrix((2 * np.eye(n_classes, dtype=np.int8) - 1)[order] * signs[:, np.newaxis])
    assert code.is_one_vs_rest
    # Certain answers, and missing ones, are left to the general routine.
    r = data.draw(answers(n_classes, n_samples=3, hard=True, gaps=True))
    r[0] = data.draw(answers(n_classes, n_samples=1))[0]
    weights = data.draw(hnp.arrays(np.float64, n_classes, elements=st.floats(0.1, 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodingMatrix, "single_classes", None)
        unknown = CodingMatrix(code.matrix)
        assert not unknown.is_one_vs_rest
        expected = solve_divergence(unknown, r, weights)
    np.testing.assert_allclose(solve_divergence(code, r, weights), expected, atol=1e-8)


def measure_sides(code: CodingMatrix, chances: list[FloatArray], p: FloatArray) -> float:
    """Σ KL(q ‖ P_s/T) over the partitions, by its definition."""
    value = 0.0
    for sides, q in zip(code.sides, chances, strict=True):
        masses = side_masses(sides, p)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = q * np.log(q * masses.sum() / masses)
        value += float(terms[q > 0].sum())
    return value


@law
@given(st.data())
def test_partitions_of_any_number_of_sides_are_a_direct_minimisation(data: st.DataObject) -> None:
    code = data.draw(sided(5).filter(lambda code: code.is_strict))
    chances = data.draw(side_chances(code, n_samples=1))
    (p,) = solve_divergence(code, chances_to_decisions(code, chances))
    own = [q[0] for q in chances]
    found = minimize(
        lambda x: measure_sides(code, own, x / x.sum()),
        np.full(code.n_classes, 1 / code.n_classes),
        method="SLSQP",
        bounds=[(1e-12, 1)] * code.n_classes,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    lowest = measure_sides(code, own, p)
    assert lowest <= found.fun + 1e-9
    # The objective is convex, so a point that is as low as its neighbours is a minimum.
    rng = np.random.default_rng(0)
    for step in (1e-2, 1e-4):
        near = np.abs(p + step * rng.normal(size=(20, code.n_classes)))
        for each in near / near.sum(axis=1, keepdims=True):
            assert lowest <= measure_sides(code, own, each) + 1e-12


@law
@given(st.data())
def test_partitions_that_leave_out_classes_have_a_stationary_point(data: st.DataObject) -> None:
    code = data.draw(sided(5))
    chances = data.draw(side_chances(code, n_samples=1))
    (p,) = solve_divergence(code, chances_to_decisions(code, chances))
    own = [q[0] for q in chances]
    lowest = measure_sides(code, own, p)
    rng = np.random.default_rng(0)
    near = np.abs(p * (1 + 1e-3 * rng.normal(size=(20, code.n_classes))))
    for each in near / near.sum(axis=1, keepdims=True):
        assert lowest <= measure_sides(code, own, each) + 1e-10


@law
@given(st.data())
def test_one_row_or_two_and_any_order_of_sides_give_the_same(data: st.DataObject) -> None:
    code = data.draw(sided(5).filter(lambda code: code.is_strict))
    chances = data.draw(side_chances(code))
    expected = solve_divergence(code, chances_to_decisions(code, chances))
    turned = CodingMatrix.from_sides(code.n_sides[:, np.newaxis] - 1 - code.sides)
    other = solve_divergence(turned, chances_to_decisions(turned, [q[:, ::-1] for q in chances]))
    np.testing.assert_allclose(other, expected, atol=1e-8)
    is_own = code.sides[:, np.newaxis] == np.arange(code.n_sides.max())[:, np.newaxis]
    rows = [2 * each[:n].astype(np.int8) - 1 for each, n in zip(is_own, code.n_sides, strict=True)]
    doubled = CodingMatrix(np.vstack(rows), code.n_sides)
    other = solve_divergence(doubled, chances_to_decisions(doubled, chances))
    np.testing.assert_allclose(other, expected, atol=1e-8)


@law
@given(st.data())
def test_weights_are_those_of_partitions(data: st.DataObject) -> None:
    code = data.draw(sided(5).filter(lambda code: code.is_strict))
    decisions = chances_to_decisions(code, data.draw(side_chances(code)))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=code.n_partitions, max_size=9))
    counts = np.array((counts * code.n_partitions)[: code.n_partitions])
    # A partition of weight two is the same as two partitions.
    repeated = CodingMatrix.from_sides(np.repeat(code.sides, counts, axis=0))
    starts = np.cumsum(code.rows_per_partition) - code.rows_per_partition
    columns = [
        column
        for start, n, count in zip(starts, code.rows_per_partition, counts, strict=True)
        for column in [*range(start, start + n)] * count
    ]
    np.testing.assert_allclose(
        solve_divergence(code, decisions, weights=counts),
        solve_divergence(repeated, decisions[:, columns]),
        atol=1e-8,
    )
