"""The compiled routines of least squares agree with the reference routines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from least_squares_cases import (
    assert_minimum,
    assert_shortest,
    make_answers,
    make_code,
    problems,
    residuals,
    with_gaps,
)
from polytomy.errors import CodeError
from polytomy.routines.compiled import least_squares as compiled
from polytomy.routines.reference import least_squares as reference
from polytomy.scheme import CodingMatrix
from polytomy.scheme.structure import pair_of_each_row

law = settings(max_examples=40, deadline=None)

TWINS = [reference, compiled]

seeds = st.integers(0, 2**32 - 1)


def assert_agree(expected: np.ndarray, found: np.ndarray) -> None:
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


def row_lists(code: CodingMatrix) -> tuple[np.ndarray | int, ...]:
    rows, classes = np.nonzero(code.matrix)
    starts = np.searchsorted(rows, np.arange(code.n_partitions + 1))
    return starts, classes, code.matrix[rows, classes].astype(float), code.n_classes


@law
@given(st.integers(1, 40), st.sampled_from([1e-3, 1.0, 1e3]), seeds)
def test_projections_agree(n_classes, spread, seed):
    rng = np.random.default_rng(seed)
    answers = rng.uniform(-1, 1, (20, 8))
    answers[10:] = np.round(answers[10:])  # ties
    directions = spread * rng.integers(-1, 2, (8, n_classes))
    assert_agree(*(twin.project_answers(answers, directions) for twin in TWINS))


def test_projections_of_many_samples_agree():
    rng = np.random.default_rng(1)
    answers, directions = rng.uniform(-1, 1, (3000, 40)), rng.normal(size=(40, 30))
    assert_agree(*(twin.project_answers(answers, directions) for twin in TWINS))


@pytest.mark.parametrize("twin", TWINS)
def test_no_point_of_the_simplex_is_nearer_than_the_projection(twin):
    rng = np.random.default_rng(0)
    points = rng.normal(0, 1, (50, 6))
    projected = twin.project_answers(points, np.eye(6))
    others = rng.dirichlet(np.full(6, 0.5), 200)
    # The angle at the nearest point of a convex set is obtuse towards all of the set.
    slopes = np.einsum("sc,oc->so", points - projected, others)
    slopes -= ((points - projected) * projected).sum(axis=1, keepdims=True)
    assert slopes.max() <= 1e-12


@pytest.mark.parametrize("twin", TWINS)
def test_a_point_far_away_loses_no_more_digits_than_it_must(twin):
    near = np.array([[0.2, 0.5, -0.1]])
    far = twin.project_answers(near + 2.0**30, np.eye(3))
    np.testing.assert_allclose(far, twin.project_answers(near, np.eye(3)), rtol=0, atol=1e-6)
    assert abs(far.sum() - 1) < 1e-15


@law
@given(problems(structures=("adjacent",), max_classes=20), st.booleans())
def test_isotonic_regressions_agree(problem, has_gaps):
    code, answers = problem
    answers = with_gaps(answers, seed=1) if has_gaps else answers
    assert_agree(*(twin.regress_isotonic(answers, *code.adjacent) for twin in TWINS))


@pytest.mark.parametrize("twin", TWINS)
def test_isotonic_regression_minimises_over_rising_levels(twin):
    rng = np.random.default_rng(2)
    targets, cuts = rng.uniform(0, 1, 7), np.array([0, 1, 2, 3, 1, 3, 3])
    answers, line, signs = 1 - 2 * targets[np.newaxis], np.arange(5), np.ones(7, dtype=np.int8)
    levels = twin.regress_isotonic(answers, line, cuts, signs)[0].cumsum()[:-1]
    found = minimize(
        lambda level: ((level[cuts] - targets) ** 2).sum(),
        np.linspace(0.1, 0.9, 4),
        constraints={"type": "ineq", "fun": lambda level: np.diff(level, prepend=0, append=1)},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(levels, found.x, rtol=0, atol=1e-6)


@law
@given(problems(structures=("tree",), max_classes=20), st.booleans())
def test_products_agree(problem, has_gaps):
    code, answers = problem
    answers = with_gaps(answers, seed=3) if has_gaps else answers
    assert_agree(*(twin.multiply_down_tree(answers, *code.tree) for twin in TWINS))


@law
@given(problems(structures=("one-vs-one",), max_classes=9))
def test_couplings_agree(problem):
    code, answers = problem
    pairs = pair_of_each_row(code.matrix)
    assert_agree(*(twin.couple_pairs(answers, *pairs, code.n_classes) for twin in TWINS))


@law
@given(problems(max_classes=9), st.booleans())
def test_active_sets_agree(problem, has_gaps):
    code, answers = problem
    answers = with_gaps(answers, seed=4) if has_gaps else answers
    lists = row_lists(code)
    assert_agree(*(twin.minimise_on_simplex(answers, *lists) for twin in TWINS))


def give_up(units, target, maxiter):
    raise RuntimeError("Maximum number of iterations reached.")


WRONG_NNLS = {
    "it does not end": give_up,
    "nothing": lambda units, target, maxiter: (np.zeros(units.shape[1]), 0.0),
    "one class": lambda units, target, maxiter: (np.eye(units.shape[1])[0], 0.0),
    "too much": lambda units, target, maxiter: (1.001 * nnls(units, target)[0], 0.0),
    "some classes": lambda units, target, maxiter: (np.ones(units.shape[1]), 0.0),
}


@pytest.mark.parametrize("wrong", WRONG_NNLS.values(), ids=WRONG_NNLS)
@pytest.mark.parametrize("kind", ["noisy", "consistent", "grid", "certain", "zero"])
@pytest.mark.parametrize("structure", ["strict", "few rows", "ternary", "sparse", "some pairs"])
def test_the_minimum_does_not_need_scipy_to_be_right(structure, kind, wrong, monkeypatch):
    code = make_code(structure, 7, seed=11)
    answers = with_gaps(make_answers(kind, code, 8, seed=12), seed=13, share=0.1)
    expected = reference.minimise_on_simplex(answers, *row_lists(code))
    monkeypatch.setattr(reference, "nnls", wrong)
    found = reference.minimise_on_simplex(answers, *row_lists(code))
    for r, p in zip(answers, found, strict=True):
        assert_minimum(code, r, p)
        assert_shortest(code, r, p)
    assert_agree(expected, found)


@pytest.mark.parametrize("structure", ["strict", "few rows", "ternary"])
@pytest.mark.parametrize("n_classes", [30, 55])
def test_active_sets_agree_on_many_classes(n_classes, structure):
    code = make_code(structure, n_classes, seed=5)
    answers = with_gaps(make_answers("noisy", code, 5, seed=6), seed=7, share=0.05)
    lists = row_lists(code)
    assert_agree(*(twin.minimise_on_simplex(answers, *lists) for twin in TWINS))


def confident_answers(code: CodingMatrix, kind: str, n_samples: int, seed: int) -> np.ndarray:
    """Return answers that agree with one class for each sample, more or less."""
    rng = np.random.default_rng(seed)
    agreeing = code.matrix[:, rng.integers(0, code.n_classes, n_samples)].T.astype(float)
    match kind:
        case "certain":
            return agreeing
        case "almost certain":
            return agreeing * (1 - 10.0 ** rng.uniform(-16, -2, agreeing.shape))
        case "partly certain":
            return np.where(rng.random(agreeing.shape) < 0.9, agreeing, 0.9 * agreeing)
        case "sure":
            return np.clip(0.95 * agreeing + 0.05 * rng.normal(size=agreeing.shape), -1, 1)
        case "with mistakes":
            return np.where(rng.random(agreeing.shape) < 0.1, -0.9, 0.9) * agreeing
        case _:
            return np.tanh(2 * agreeing + rng.normal(size=agreeing.shape))


CONFIDENT = ("certain", "almost certain", "partly certain", "sure", "with mistakes", "unsure")


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([(-1, 1), (-1, 0, 1)]),
    st.integers(40, 64),
    st.integers(12, 40),
    st.sampled_from(CONFIDENT),
    st.booleans(),
    seeds,
)
def test_many_classes_and_few_rows_agree(signs, n_classes, n_rows, kind, has_gaps, seed):
    rng = np.random.default_rng(seed)
    try:
        code = CodingMatrix(rng.choice(signs, (n_rows, n_classes)))
    except CodeError:
        reject()
    answers = confident_answers(code, kind, 3, seed)
    answers = with_gaps(answers, seed, share=0.1)[1:] if has_gaps else answers
    found = compiled.minimise_on_simplex(answers, *row_lists(code))
    for r, p in zip(answers, found, strict=True):
        assert_minimum(code, r, p)
    assert_agree(reference.minimise_on_simplex(answers, *row_lists(code)), found)


@pytest.mark.parametrize("kind", CONFIDENT)
@pytest.mark.parametrize("signs", [(-1, 1), (-1, 0, 1)])
def test_a_thousand_classes_have_the_minimum_of_another_solver(signs, kind):
    code = CodingMatrix(np.random.default_rng(20).choice(signs, (80, 1000)))
    answers = confident_answers(code, kind, 4, seed=21)
    found = compiled.minimise_on_simplex(answers, *row_lists(code))
    for r, p in zip(answers, found, strict=True):
        assert_minimum(code, r, p)
        q = residuals(code, r)
        # The sum of the probabilities as a further row, as in
        # `routines/reference/least_squares.py`.
        x, _ = nnls(np.vstack((q, np.ones(1000))), np.append(np.zeros(len(q)), 1.0))
        np.testing.assert_allclose(q @ p, q @ (x / x.sum()), rtol=0, atol=1e-9)


def test_the_class_that_agrees_with_certain_answers_is_certain():
    code = CodingMatrix(np.random.default_rng(22).choice((-1, 1), (60, 500)))
    answers = code.matrix[:, :5].T.astype(float)
    found = compiled.minimise_on_simplex(answers, *row_lists(code))
    np.testing.assert_allclose(found, np.eye(500)[:5], rtol=0, atol=1e-13)


@pytest.mark.parametrize("twin", TWINS)
def test_a_small_pivot_does_not_hide_that_another_class_depends(twin):
    # Three rows leave a line of minima, all of residual zero. The columns of the classes 0, 1 and 2
    # almost depend on each other, which makes the rounding of the last pivot look like a pivot.
    code = CodingMatrix([[0, -1, 1, 1, -1], [1, 1, 0, 0, -1], [-1, 1, 0, 1, 1]])
    r = np.array([-0.5126091039983338, 0.8730639944371179, 0.7317186181891797])
    p = twin.minimise_on_simplex(r[np.newaxis], *row_lists(code))[0]
    q = code.matrix - r[:, np.newaxis] * np.abs(code.matrix)
    # No bound is in the way, so the shortest solves the system without bounds.
    expected = np.linalg.pinv(np.vstack((q, np.ones(5)))) @ [0, 0, 0, 1]
    assert expected.min() > 0
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("twin", TWINS)
def test_rounding_does_not_mix_in_a_class(twin):
    # A tree without answers at its root and another node: the least norm, from the leaves up, gives
    # the masses of the pairs (1, 2) and (4, 5) and what is left of them at each node.
    code = CodingMatrix(
        [
            [-1, -1, -1, -1, 1, 1],
            [-1, -1, -1, 1, 0, 0],
            [-1, 1, 1, 0, 0, 0],
            [0, -1, 1, 0, 0, 0],
            [0, 0, 0, 0, -1, 1],
        ]
    )
    answers = np.array([[np.nan, 0.5, np.nan, 0.5, 1e-4 - 1]])
    expected = reference.multiply_down_tree(answers, *code.tree)
    found = twin.minimise_on_simplex(answers, *row_lists(code))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_couplings_of_many_classes_agree():
    code = make_code("one-vs-one", 55, seed=8)
    answers = make_answers("noisy", code, 3, seed=9)
    pairs = pair_of_each_row(code.matrix)
    assert_agree(*(twin.couple_pairs(answers, *pairs, 55) for twin in TWINS))


@pytest.mark.parametrize("twin", TWINS)
def test_certainty_to_the_last_digit_still_tells_classes_apart(twin):
    # Both winners beat the class in the middle; how surely decides between them. All of this
    # happens in the last digits before one, in columns of Q that are almost zero.
    code = CodingMatrix([[1, -1, 0], [0, -1, 1]])
    tiny = np.array([[3e-9, 1e-9]])
    p = twin.minimise_on_simplex(1 - tiny, *row_lists(code))
    # p₁ = p₀·tiny₀/2 = p₂·tiny₁/2, but for the rounding of 1 − tiny.
    np.testing.assert_allclose(p[0], [0.25, 0.375e-9, 0.75], rtol=0, atol=1e-7)


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("tiny", 10.0 ** np.arange(-7, 0))
@pytest.mark.parametrize("twin", TWINS)
def test_odds_next_to_certainty_have_all_digits(twin, tiny, share):
    # The residuals are zero for the odds of the two pairs, so these alone decide.
    code = CodingMatrix([[-1, 1, 0], [-1, 0, 1]])
    r = 1 - np.array([tiny, tiny * share])
    odds = np.append(1.0, (1 + r) / (1 - r))
    p = twin.minimise_on_simplex(r[np.newaxis], *row_lists(code))[0]
    np.testing.assert_allclose(p, odds / odds.sum(), rtol=0, atol=1e-9)


def test_a_coupling_of_hundreds_of_classes_solves_the_linear_system():
    n_classes = 530
    first, second = np.triu_indices(n_classes, 1)
    r = np.random.default_rng(12).uniform(-1, 1, (1, len(first)))
    found = compiled.couple_pairs(r, first, second, n_classes)
    # QᵀQ + 11ᵀ, written out: (1 + r)² and (1 - r)² on the diagonal, -(1 - r²) beside it.
    system = np.ones((n_classes, n_classes))
    system[first, second] -= 1 - r[0] ** 2
    system[second, first] -= 1 - r[0] ** 2
    squares = np.bincount(first, (1 + r[0]) ** 2, n_classes)
    squares += np.bincount(second, (1 - r[0]) ** 2, n_classes)
    x = np.linalg.solve(system + np.diag(squares), np.ones(n_classes))
    assert_agree(x[np.newaxis] / x.sum(), found)


@law
@given(st.integers(2, 12), st.integers(1, 70), seeds)
def test_answers_of_a_few_samples_are_those_among_others_bit_for_bit(n_classes, n_few, seed):
    rng = np.random.default_rng(seed)
    negative, positive = np.triu_indices(n_classes, 1)
    answers = np.tanh(5 * rng.normal(size=(80, len(negative))))
    matrix = np.zeros((len(negative), n_classes), dtype=int)
    matrix[np.arange(len(negative)), negative] = -1
    matrix[np.arange(len(negative)), positive] = 1
    for solve in (
        lambda rows: compiled.couple_pairs(rows, negative, positive, n_classes),
        lambda rows: compiled.minimise_on_simplex(rows, *row_lists(CodingMatrix(matrix))),
    ):
        np.testing.assert_array_equal(solve(answers[:n_few].copy()), solve(answers)[:n_few])
