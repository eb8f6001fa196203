"""Pairwise coupling, against hand-worked examples and the equations that define each method."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polytomy.scheme import CodingMatrix
from polytomy.solvers import coupling
from polytomy.solvers.coupling import (
    solve_divergence,
    solve_hastie_tibshirani,
    solve_like_libsvm,
    solve_price,
    solve_wu_lin_weng_1,
)
from polytomy.solvers.least_squares import solve_least_squares
from solver_strategies import (
    FloatArray,
    answers,
    assert_on_simplex,
    consistent_answers,
    law,
    one_vs_one_codes,
    pair_matrix,
    probabilities,
    reordered,
)

Solver = Callable[[CodingMatrix, FloatArray], FloatArray]
SOLVERS = [solve_hastie_tibshirani, solve_wu_lin_weng_1, solve_price]
all_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)

THREE = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])


def mean_shares(code: CodingMatrix, r: FloatArray) -> FloatArray:
    """μ_ij of one sample, by its definition: the mean of the partitions of i and j."""
    shares = np.full((code.n_classes, code.n_classes), np.nan)
    for i in range(code.n_classes):
        for j in range(code.n_classes):
            found = [
                (1 + code.matrix[row, i] * r[row]) / 2
                for row in range(code.n_partitions)
                if i != j and code.matrix[row, i] and code.matrix[row, j] and not np.isnan(r[row])
            ]
            if found:
                shares[i, j] = sum(found) / len(found)
    return shares


@all_solvers
@law
@given(data=st.data())
def test_every_answer_gives_a_point_of_the_simplex(solver: Solver, data: st.DataObject) -> None:
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))
    assert_on_simplex(solver(code, r), code.n_classes)


@all_solvers
@law
@given(data=st.data())
def test_consistent_answers_give_their_probabilities_back(
    solver: Solver, data: st.DataObject
) -> None:
    code = data.draw(one_vs_one_codes())
    p = data.draw(probabilities(code.n_classes))
    np.testing.assert_allclose(solver(code, consistent_answers(code, p))[0], p, rtol=1e-9)


@all_solvers
@law
@given(data=st.data())
def test_permuting_classes_permutes_the_answer(solver: Solver, data: st.DataObject) -> None:
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions))
    order = list(data.draw(st.permutations(range(code.n_classes))))
    permuted = solver(CodingMatrix(code.matrix[:, order]), r)
    np.testing.assert_allclose(permuted, solver(code, r)[:, order], atol=1e-9)


@all_solvers
@law
@given(data=st.data())
def test_order_and_sign_of_the_rows_do_not_matter(solver: Solver, data: st.DataObject) -> None:
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions, gaps=True))
    other = data.draw(reordered(code, r))
    np.testing.assert_allclose(solver(*other), solver(code, r), atol=1e-9)


@all_solvers
@law
@given(data=st.data())
def test_two_classes_have_the_mean_answer(solver: Solver, data: st.DataObject) -> None:
    n_rows = data.draw(st.integers(1, 3))
    code = CodingMatrix([[1, -1]] * n_rows)
    r = data.draw(answers(n_rows, n_samples=1))
    share = (1 + r.mean()) / 2
    np.testing.assert_allclose(solver(code, r), [[share, 1 - share]], atol=1e-9)


@law
@given(st.data())
def test_hastie_and_tibshirani_minimise_the_divergence(data: st.DataObject) -> None:
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))
    weights = data.draw(hnp.arrays(np.float64, code.n_partitions, elements=st.floats(0.1, 9.0)))
    np.testing.assert_array_equal(
        solve_hastie_tibshirani(code, r, weights), solve_divergence(code, r, weights)
    )


def test_hastie_and_tibshirani_balance_what_is_won_and_expected() -> None:
    # Their condition for the minimum: Σ_j n_ij μ_ij = Σ_j n_ij p_i/(p_i + p_j) for every class i.
    rng = np.random.default_rng(1)
    code = CodingMatrix(pair_matrix(5))
    r = rng.uniform(-1, 1, (20, code.n_partitions))
    n = rng.integers(10, 100, code.n_partitions)
    for p, answered in zip(solve_hastie_tibshirani(code, r, n), r, strict=True):
        won, expected = np.zeros(5), np.zeros(5)
        for row in range(code.n_partitions):
            i, j = np.flatnonzero(code.matrix[row])
            won[i] += n[row] * (1 + answered[row]) / 2
            won[j] += n[row] * (1 - answered[row]) / 2
            expected[i] += n[row] * p[i] / (p[i] + p[j])
            expected[j] += n[row] * p[j] / (p[i] + p[j])
        np.testing.assert_allclose(won, expected, rtol=1e-9)


def test_price_by_hand() -> None:
    # μ₀₁ = 2/3, μ₀₂ = 3/4, μ₁₂ = 1/2.
    first = 1 / (Fraction(3, 2) + Fraction(4, 3) - 1)
    second = 1 / (Fraction(3) + Fraction(2) - 1)
    third = 1 / (Fraction(4) + Fraction(2) - 1)
    assert (first, second, third) == (Fraction(6, 11), Fraction(1, 4), Fraction(1, 5))
    total = first + second + third
    p = solve_price(THREE, np.array([[1 / 3, 1 / 2, 0]]))
    np.testing.assert_allclose(
        p[0], [float(mass / total) for mass in (first, second, third)], atol=1e-15
    )


def test_wu_lin_weng_1_mixes_two_closed_sets_by_least_norm() -> None:
    # 0 and 1 beat 2 for certain and each other half the time; 3 is compared with none.
    code = CodingMatrix([[1, -1, 0, 0], [1, 0, -1, 0], [0, 1, -1, 0],
                         [1, 0, 0, -1], [0, 1, 0, -1], [0, 0, 1, -1]])  # fmt: skip
    p = solve_wu_lin_weng_1(code, [[0.0, 1.0, 1.0, np.nan, np.nan, np.nan]])
    # Squared norms 1/2 and 1: the masses are as 2 to 1.
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 0, 1 / 3]], atol=1e-15)


def test_wu_lin_weng_1_by_hand() -> None:
    # μ₀₁ = 2/3, μ₀₂ = 3/4, μ₁₂ = 1/2; the fixed point was solved on paper.
    p = [Fraction(29, 53), Fraction(13, 53), Fraction(11, 53)]
    share = {(0, 1): Fraction(2, 3), (0, 2): Fraction(3, 4), (1, 2): Fraction(1, 2)}
    share |= {(j, i): 1 - value for (i, j), value in share.items()}
    for i in range(3):
        assert p[i] == sum(share[i, j] * (p[i] + p[j]) / 2 for j in range(3) if j != i)
    found = solve_wu_lin_weng_1(THREE, np.array([[1 / 3, 1 / 2, 0]]))
    np.testing.assert_allclose(found[0], [float(mass) for mass in p], atol=1e-15)


@law
@given(st.data())
def test_wu_lin_weng_1_is_a_fixed_point(data: st.DataObject) -> None:
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions, n_samples=1, hard=True))
    share = mean_shares(code, r[0])
    p = solve_wu_lin_weng_1(code, r)[0]
    k = code.n_classes
    again = [sum(share[i, j] * (p[i] + p[j]) for j in range(k) if j != i) for i in range(k)]
    np.testing.assert_allclose(p * (k - 1), again, atol=1e-12)


@law
@given(st.data())
def test_price_is_its_formula_over_the_answered_pairs(data: st.DataObject) -> None:
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions, n_samples=1, gaps=True))
    masses = []
    for row in mean_shares(code, r[0]):
        answered = row[~np.isnan(row)]
        masses.append(1 / ((1 / answered).sum() - (len(answered) - 1)))
    np.testing.assert_allclose(solve_price(code, r)[0], np.array(masses) / sum(masses), rtol=1e-9)


@law
@given(st.data())
def test_price_at_certain_answers_is_the_limit_of_nearly_certain_ones(
    data: st.DataObject,
) -> None:
    code = CodingMatrix(pair_matrix(data.draw(st.integers(2, 5))))
    r = data.draw(answers(code.n_partitions, n_samples=1, hard=True))
    largest = 1 - 2.0**-40
    near = np.clip(r, -largest, largest)
    np.testing.assert_allclose(solve_price(code, r), solve_price(code, near), atol=1e-6)


@all_solvers
def test_certain_answers_in_one_order_make_the_first_class_certain(solver: Solver) -> None:
    code = CodingMatrix(pair_matrix(6))
    p = solver(code, np.ones((1, 15)))
    np.testing.assert_array_equal(p, [[1, 0, 0, 0, 0, 0]])


@all_solvers
def test_classes_that_beat_each_other_in_a_ring_are_equal(solver: Solver) -> None:
    np.testing.assert_allclose(solver(THREE, np.array([[1, -1, 1]])), [[1 / 3] * 3], atol=1e-12)


@all_solvers
def test_a_sample_without_answers_is_uniform(solver: Solver) -> None:
    np.testing.assert_allclose(solver(THREE, np.full((1, 3), np.nan)), [[1 / 3] * 3])


@pytest.mark.parametrize("solver", [solve_hastie_tibshirani, solve_wu_lin_weng_1])
def test_classes_without_comparison_are_weighed_by_least_norm(solver: Solver) -> None:
    # Only 0 and 1, 2 and 3 are compared: as 1:2 and 1:1, of squared norms 5/9 and 1/2.
    code = CodingMatrix([[1, -1, 0, 0], [0, 0, 1, -1], *pair_matrix(4)[1:5]])
    r = np.array([[-1 / 3, 0, np.nan, np.nan, np.nan, np.nan]])
    mass = (9 / 5) / (9 / 5 + 2)
    expected = [mass / 3, mass * 2 / 3, (1 - mass) / 2, (1 - mass) / 2]
    np.testing.assert_allclose(solver(code, r)[0], expected, atol=1e-9)


@pytest.mark.parametrize("solver", [solve_hastie_tibshirani, solve_wu_lin_weng_1])
@law
@given(data=st.data())
def test_a_missing_pair_does_not_spoil_consistent_answers(
    solver: Solver, data: st.DataObject
) -> None:
    code = CodingMatrix(pair_matrix(data.draw(st.integers(3, 5))))
    p = data.draw(probabilities(code.n_classes))
    r = consistent_answers(code, p)
    r[0, data.draw(st.integers(0, code.n_partitions - 1))] = np.nan
    np.testing.assert_allclose(solver(code, r)[0], p, atol=1e-9)


@all_solvers
def test_one_class_is_certain(solver: Solver) -> None:
    code = CodingMatrix(np.zeros((0, 1)))
    np.testing.assert_array_equal(solver(code, np.empty((2, 0))), [[1.0], [1.0]])


def test_nothing_overflows_where_ratios_multiply_over_many_classes() -> None:
    # A line of 60 classes, each 1e16 times as probable as the one before.
    n_classes = 60
    code = CodingMatrix(pair_matrix(n_classes))
    r = np.full((1, code.n_partitions), np.nan)
    i, j = np.triu_indices(n_classes, 1)
    r[0, j == i + 1] = -np.nextafter(1.0, 0.0)
    for solver in (solve_wu_lin_weng_1, solve_hastie_tibshirani):
        p = solver(code, r)
        assert_on_simplex(p, n_classes)
        assert p[0].argmax() == n_classes - 1


def libsvm_iteration(shares: FloatArray) -> FloatArray:
    """The published algorithm for one sample, with every sum written out anew at each step."""
    n = len(shares)
    Q = -shares * shares.T
    np.fill_diagonal(Q, (shares**2).sum(axis=0))
    p = np.full(n, 1 / n)
    for _ in range(max(100, n)):
        if np.abs(Q @ p - p @ Q @ p).max() < 0.005 / n:
            break
        for k in range(n):
            p[k] = (p @ Q @ p - Q[k] @ p + Q[k, k] * p[k]) / Q[k, k]
            p /= p.sum()
    return p


@given(st.data())
@law
def test_libsvm_stops_where_its_iteration_does(data):
    code = data.draw(one_vs_one_codes())
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))
    found = solve_like_libsvm(code, r)
    assert_on_simplex(found, code.n_classes)
    for sample, p in zip(r, found, strict=True):
        shares = np.clip(mean_shares(code, sample), 1e-7, 1 - 1e-7)
        np.fill_diagonal(shares, 0.0)
        if np.isnan(shares).any() or code.n_classes == 2:
            expected = solve_least_squares(code, [sample])[0]
            np.testing.assert_allclose(p, expected, rtol=0, atol=1e-6)
            continue
        np.testing.assert_allclose(p, libsvm_iteration(shares), rtol=0, atol=1e-9)


def test_libsvm_goes_by_the_order_of_the_classes():
    answers = [[0.9, -0.4, 0.8]]
    swapped = CodingMatrix(THREE.matrix[:, ::-1])
    one, other = solve_like_libsvm(THREE, answers), solve_like_libsvm(swapped, answers)[:, ::-1]
    assert 1e-6 < np.abs(one - other).max() < 0.01


def test_libsvm_does_many_samples_as_it_does_each(monkeypatch):
    code = CodingMatrix(pair_matrix(5))
    r = np.random.default_rng(0).uniform(-1, 1, (40, code.n_partitions))
    r[7, 2] = np.nan
    together = solve_like_libsvm(code, r)
    monkeypatch.setattr(coupling, "_BLOCK_BYTES", 8 * 25 * 7)  # seven at a time
    np.testing.assert_allclose(solve_like_libsvm(code, r), together, rtol=0, atol=1e-14)
