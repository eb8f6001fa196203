"""Least squares: the minimum, the shortest where there are many, by whichever algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize

from least_squares_cases import (
    ANSWERS,
    STRUCTURES,
    assert_minimum,
    assert_shortest,
    consistent_answers,
    make_answers,
    make_code,
    pair_matrix,
    problems,
    residuals,
    with_gaps,
)
from polytomy.errors import CodeError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import adjacent, direct, one_vs_one, one_vs_rest
from polytomy.solvers.least_squares import ALGORITHMS, algorithms_for, solve_by, solve_least_squares
from solver_strategies import chances_to_decisions, side_chances, side_masses, sided

law = settings(max_examples=60, deadline=None)

seeds = st.integers(0, 2**32 - 1)


@law
@given(problems(), st.booleans())
def test_the_answer_is_a_minimum_and_the_shortest(problem, has_gaps):
    code, answers = problem
    answers = with_gaps(answers, seed=0) if has_gaps else answers
    probabilities = solve_least_squares(code, answers)
    assert probabilities.shape == (len(answers), code.n_classes)
    for r, p in zip(answers, probabilities, strict=True):
        assert_minimum(code, r, p)
        assert_shortest(code, r, p)


@law
@given(problems(), st.booleans())
def test_every_algorithm_that_applies_gives_the_same(problem, has_gaps):
    code, answers = problem
    answers = with_gaps(answers, seed=1) if has_gaps else answers
    default = solve_least_squares(code, answers)
    for algorithm in algorithms_for(code):
        p = solve_by(algorithm, code, answers)
        np.testing.assert_allclose(p, default, rtol=0, atol=1e-10)


ALMOST_CERTAIN = 1 - np.array([0, 3e-16, 1e-12, 1e-7, 2e-7, 1e-4, 1e-3, 0.5, 1 - 1e-9, 1])


# For one of these answers, SciPy 1.17's nnls returns a point that is no minimum.
WRONG_BY_NNLS = CodingMatrix(
    [
        [-1, -1, 1, 1, 1, 1, -1, -1],
        [1, 1, -1, 1, 1, 1, 1, -1],
        [1, -1, 1, -1, 1, 1, -1, 1],
        [1, 1, -1, 1, 1, -1, -1, -1],
    ]
)


@law
@given(problems(), seeds)
@example((WRONG_BY_NNLS, np.empty((0, 4))), 61026110)
def test_answers_at_and_next_to_certainty_give_minima_by_every_algorithm(problem, seed):
    code, _ = problem
    values = np.concatenate((ALMOST_CERTAIN, -ALMOST_CERTAIN))
    answers = np.random.default_rng(seed).choice(values, (30, code.n_partitions))
    default = solve_least_squares(code, answers)
    for r, p in zip(answers, default, strict=True):
        assert_minimum(code, r, p)
    for algorithm in algorithms_for(code):
        p = solve_by(algorithm, code, answers)
        np.testing.assert_allclose(p, default, rtol=0, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(problems(max_classes=5, n_samples=1))
def test_no_general_solver_finds_less(problem):
    code, answers = problem
    q = residuals(code, answers[0])
    n_classes = code.n_classes
    found = minimize(
        lambda p: np.sum((q @ p) ** 2),
        np.full(n_classes, 1 / n_classes),
        jac=lambda p: 2 * q.T @ (q @ p),
        bounds=[(0, 1)] * n_classes,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    on_simplex = np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()
    theirs = np.sum((q @ on_simplex) ** 2)
    ours = np.sum((q @ solve_least_squares(code, answers)[0]) ** 2)
    assert ours <= theirs * (1 + 1e-10) + 1e-15


@law
@given(problems(kinds=("consistent",)))
def test_consistent_answers_give_the_true_probabilities_where_the_code_determines_them(problem):
    code, _ = problem
    p = np.random.default_rng(0).dirichlet(np.ones(code.n_classes), 5)
    answers = consistent_answers(code, p)
    found = solve_least_squares(code, answers)
    determined = np.delete(np.arange(code.n_classes), code.undetermined)
    np.testing.assert_allclose(found[:, determined], p[:, determined], rtol=0, atol=1e-9)
    np.testing.assert_allclose(consistent_answers(code, found), answers, rtol=0, atol=1e-9)


@law
@given(problems(), seeds)
def test_permuting_the_classes_permutes_the_columns(problem, seed):
    code, answers = problem
    order = np.random.default_rng(seed).permutation(code.n_classes)
    permuted = solve_least_squares(CodingMatrix(code.matrix[:, order]), answers)
    expected = solve_least_squares(code, answers)[:, order]
    np.testing.assert_allclose(permuted, expected, rtol=0, atol=1e-10)


@law
@given(problems(), seeds)
def test_neither_the_order_nor_the_signs_of_the_partitions_matter(problem, seed):
    code, answers = problem
    rng = np.random.default_rng(seed)
    order = rng.permutation(code.n_partitions)
    signs = rng.choice([-1, 1], code.n_partitions)
    other = CodingMatrix((code.matrix * signs[:, np.newaxis])[order])
    p = solve_least_squares(other, (answers * signs)[:, order])
    np.testing.assert_allclose(p, solve_least_squares(code, answers), rtol=0, atol=1e-10)


@law
@given(problems(), seeds)
def test_a_partition_without_an_answer_is_as_if_it_were_not_there(problem, seed):
    code, answers = problem
    row = seed % code.n_partitions
    try:
        without = CodingMatrix(np.delete(code.matrix, row, axis=0))
    except CodeError:
        return  # without that partition it is not a code
    answers[:, row] = np.nan
    expected = solve_least_squares(without, np.delete(answers, row, axis=1))
    np.testing.assert_allclose(solve_least_squares(code, answers), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_any_answer_all_classes_are_alike(algorithm):
    code = CodingMatrix([[-1, 1]])  # has every structure
    p = solve_by(algorithm, code, [[np.nan], [1.0], [-0.5]])
    np.testing.assert_allclose(p, [[0.5, 0.5], [0, 1], [0.75, 0.25]], rtol=0, atol=1e-15)


def test_answers_worked_by_hand():
    # One-vs-rest: Aᵀr/4 is (−0.3, −0.4, −0.5) up to a multiple of 1; each gets 1/3 more than that.
    p = solve_least_squares(one_vs_rest(3), [[0.6, 0.4, 0.2]])
    np.testing.assert_allclose(p, [[1 / 3 + 0.1, 1 / 3, 1 / 3 - 0.1]], atol=1e-15)
    # Adjacent: the cuts say F₀ = 0.75 and F₁ = 0.25; pooled both are 0.5.
    p = solve_least_squares(adjacent(3), [[-0.5, 0.5]])
    np.testing.assert_allclose(p, [[0.5, 0, 0.5]], atol=1e-15)
    # One-vs-one, each class beating the next: all lose once, so all are alike.
    p = solve_least_squares(CodingMatrix([[1, -1, 0], [0, 1, -1], [-1, 0, 1]]), [[1.0, 1.0, 1.0]])
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 3]], atol=1e-15)
    # The same code, certain of class 0.
    p = solve_least_squares(one_vs_one(3), [[-1.0, -1.0, 0.3]])
    np.testing.assert_allclose(p, [[1, 0, 0]], atol=1e-15)
    # Two pairs that nothing compares: each pair keeps its ratio; the shortest p with p₀ = 3p₁ and
    # p₂ = p₃ gives the pairs the masses m and 1 − m with m·10/16 = (1 − m)·8/16.
    p = solve_least_squares(CodingMatrix([[1, -1, 0, 0], [0, 0, 1, -1]]), [[0.5, 0.0]])
    np.testing.assert_allclose(p, [[3 / 9, 1 / 9, 2.5 / 9, 2.5 / 9]], atol=1e-14)


@pytest.mark.parametrize(
    "tiny", [0.1, 1e-2, 1e-3, 1e-4, 1e-5, 2e-7, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16, 0]
)
def test_the_least_norm_does_not_depend_on_how_certain_an_answer_is(tiny):
    # Nothing tells of class 0. The pair keeps its ratio q : 1 - q and gets the mass m for which
    # (1 - m)² + m²·(q² + (1 - q)²) is least.
    r = 1 - tiny
    pair = np.array([(1 - r) / 2, (1 + r) / 2])
    mass = 1 / (1 + pair @ pair)
    code = CodingMatrix([[-1, 1, 0], [0, -1, 1]])
    p = solve_least_squares(code, [[np.nan, r]])
    np.testing.assert_allclose(p[0], [1 - mass, *(mass * pair)], rtol=0, atol=1e-8)
    # Two pairs that nothing compares, one of them undecided: its classes share alike.
    mass = 1 / (1 + 2 * pair @ pair)
    code = CodingMatrix([[0, -1, 1, 0], [1, 0, 0, -1]])
    p = solve_least_squares(code, [[r, 0.0]])
    rest = (1 - mass) / 2
    np.testing.assert_allclose(p[0], [rest, *(mass * pair), rest], rtol=0, atol=1e-8)


@law
@given(problems(structures=("tree", "adjacent"), max_classes=7), st.sampled_from([1e-4, 2e-7]))
def test_gaps_next_to_certainty_give_the_same_by_every_algorithm(problem, tiny):
    # Product and regression are exact whatever the answers; the active set must weigh them. LIBSVM
    # bounds its answers so that tiny is 2e-7.
    code, _ = problem
    values = np.array([tiny - 1, -0.5, 0, 0.5, 1 - tiny, np.nan])
    answers = np.random.default_rng(3).choice(values, (30, code.n_partitions))
    found = solve_by("active-set", code, answers)
    np.testing.assert_allclose(found, solve_least_squares(code, answers), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["certain", "grid", "zero", "uniform"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_hostile_answers_raise_no_warning(structure, kind, recwarn):
    code = make_code(structure, 6, seed=3)
    p = solve_least_squares(code, make_answers(kind, code, 200, seed=4))
    assert np.isfinite(p).all()
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert not recwarn.list


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", ANSWERS)
def test_a_sample_does_not_depend_on_the_others(structure, kind):
    code = make_code(structure, 6, seed=5)
    answers = with_gaps(make_answers(kind, code, 90, seed=6), seed=7, share=0.02)
    together = solve_least_squares(code, answers)
    alone = np.concatenate([solve_least_squares(code, answers[[k]]) for k in range(0, 90, 9)])
    np.testing.assert_allclose(together[::9], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [30, 60])
@pytest.mark.parametrize("structure", ["strict", "ternary", "few rows", "some pairs", "tree"])
def test_many_classes(structure, n_classes):
    code = make_code(structure, n_classes, seed=8)
    answers = with_gaps(make_answers("noisy", code, 6, seed=9), seed=10, share=0.1)
    for r, p in zip(answers, solve_by("active-set", code, answers), strict=True):
        assert_minimum(code, r, p)
        assert_shortest(code, r, p)


def test_a_chain_of_a_thousand_classes():
    n_classes = 1000
    # Split k takes class k from the classes after it.
    matrix = np.triu(np.ones((n_classes - 1, n_classes), dtype=np.int8))
    np.fill_diagonal(matrix, -1)
    p = np.random.default_rng(11).dirichlet(np.ones(n_classes), 3)
    code = CodingMatrix(matrix)
    found = solve_least_squares(code, consistent_answers(code, p))
    np.testing.assert_allclose(found, p, rtol=1e-9, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_low_precision_is_computed_in_double(structure, dtype):
    code = make_code(structure, 6, seed=12)
    answers = make_answers("noisy", code, 20, seed=13).astype(dtype)
    p = solve_least_squares(code, answers)
    assert p.dtype == np.float64
    np.testing.assert_array_equal(p, solve_least_squares(code, answers.astype(np.float64)))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_the_layout_of_the_array_does_not_matter_and_it_is_left_alone():
    code = make_code("ternary", 6, seed=14)
    answers = with_gaps(make_answers("noisy", code, 20, seed=15), seed=16)
    expected = solve_least_squares(code, answers)
    for same in (np.asfortranarray(answers), np.repeat(answers, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(solve_least_squares(code, same), expected)
    frozen = answers.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(solve_least_squares(code, frozen), expected)
    np.testing.assert_array_equal(frozen, answers)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_samples(structure):
    code = make_code(structure, 5, seed=17)
    p = solve_least_squares(code, np.empty((0, code.n_partitions)))
    assert p.shape == (0, 5)


def test_a_single_class_is_certain():
    code = CodingMatrix(np.empty((0, 1)))
    np.testing.assert_array_equal(solve_least_squares(code, np.empty((2, 0))), [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("matrix", "names"),
    [
        ([[-1, 1]], ("product", "isotonic", "projection", "pairwise", "active-set")),
        ([[-1, 1, 1], [0, -1, 1]], ("product", "active-set")),
        ([[-1, 1, 1], [-1, -1, 1], [1, 1, -1]], ("isotonic", "active-set")),
        ([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], ("projection", "active-set")),
        (pair_matrix(4), ("pairwise", "active-set")),
        ([[1, -1, 0], [1, -1, -1], [1, 1, -1]], ("active-set",)),
    ],
)
def test_the_structure_picks_the_algorithm(matrix, names):
    assert algorithms_for(CodingMatrix(matrix)) == names


def sum_of_squares(code, chances, p):
    """½ Σ_s (2 P_s − 2 q_s T)², summed over the partitions."""
    total = 0.0
    for sides, q in zip(code.sides, chances, strict=True):
        masses = side_masses(sides, p)
        total += 0.5 * ((2 * masses - 2 * q * masses.sum()) ** 2).sum()
    return total


@law
@given(st.data())
def test_partitions_of_any_number_of_sides_are_a_direct_minimisation(data):
    code = data.draw(sided())
    chances = data.draw(side_chances(code))
    solved = solve_least_squares(code, chances_to_decisions(code, chances))
    np.testing.assert_allclose(solved.sum(axis=1), 1.0, atol=1e-12)
    for sample, p in enumerate(solved):
        own = [q[sample] for q in chances]
        # The objective is |Mp|², with a row for each side, and homogeneous. So the x ≥ 0 that
        # minimises |Mx|² + (sum(x) − 1)², divided by its sum, is a minimum on the simplex.
        rows = []
        for sides, q in zip(code.sides, own, strict=True):
            is_inside = (sides >= 0).astype(float)
            rows += [np.sqrt(2) * ((sides == s) - q[s] * is_inside) for s in range(len(q))]
        system = np.vstack([*rows, np.ones(code.n_classes)])
        target = np.append(np.zeros(len(rows)), 1.0)
        expected = lsq_linear(system, target, (0, np.inf), method="bvls", tol=1e-15).x
        expected = np.maximum(expected, 0.0) / np.maximum(expected, 0.0).sum()
        assert sum_of_squares(code, own, p) <= sum_of_squares(code, own, expected) + 1e-13
        if min(q.min() for q in own) > 1e-3:  # then the minimum is the only one
            np.testing.assert_allclose(p, expected, atol=1e-8)


@law
@given(st.data())
def test_a_partition_of_two_sides_may_be_one_row_or_two(data):
    code = data.draw(sided())
    chances = data.draw(side_chances(code))
    counts = np.maximum(code.rows_per_partition, 2)
    rows = [
        np.vstack([-code.matrix[start], code.matrix[start]])
        if n_rows == 1
        else code.matrix[start : start + n_rows]
        for start, n_rows in zip(
            np.cumsum(code.rows_per_partition) - code.rows_per_partition,
            code.rows_per_partition,
            strict=True,
        )
    ]
    doubled = CodingMatrix(np.vstack(rows), counts)
    np.testing.assert_allclose(
        solve_least_squares(doubled, chances_to_decisions(doubled, chances)),
        solve_least_squares(code, chances_to_decisions(code, chances)),
        atol=1e-9,
    )


@law
@given(st.data())
def test_the_order_of_sides_does_not_matter(data):
    code = data.draw(sided())
    chances = data.draw(side_chances(code))
    orders = [data.draw(st.permutations(range(n))) for n in code.n_sides.tolist()]
    sides = [
        [-1 if side < 0 else order.index(side) for side in own]
        for own, order in zip(code.sides.tolist(), orders, strict=True)
    ]
    other = CodingMatrix.from_sides(sides)
    moved = [q[:, list(order)] for q, order in zip(chances, orders, strict=True)]
    np.testing.assert_allclose(
        solve_least_squares(other, chances_to_decisions(other, moved)),
        solve_least_squares(code, chances_to_decisions(code, chances)),
        atol=1e-9,
    )


def test_one_partition_of_all_classes_gives_its_own_answers():
    q = np.random.default_rng(0).dirichlet(np.ones(5), 4)
    np.testing.assert_allclose(solve_least_squares(direct(5), 2 * q - 1), q, atol=1e-15)


@law
@given(st.data())
def test_a_partition_without_an_answer_is_left_out(data):
    code = data.draw(sided())
    chances = data.draw(side_chances(code))
    decisions = chances_to_decisions(code, chances)
    left_out = data.draw(st.integers(0, code.n_partitions - 1))
    decisions[:, code.partition_of_row == left_out] = np.nan
    kept = code.partition_of_row != left_out
    try:
        rest = CodingMatrix(code.matrix[kept], np.delete(code.rows_per_partition, left_out))
    except CodeError:  # without the partition, the code does not separate all classes
        return
    np.testing.assert_allclose(
        solve_least_squares(code, decisions),
        solve_least_squares(rest, decisions[:, kept]),
        atol=1e-9,
    )
