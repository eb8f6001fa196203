"""The divergence of one-vs-rest codes: both twins, the general routine, SciPy and exact numbers."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from polytomy.routines.compiled import divergence as compiled
from polytomy.routines.reference import divergence as general
from polytomy.routines.reference import divergence as reference

TWINS = [reference, compiled]

# Down to the smallest distance from zero and from one that answers of binaries have.
small = st.floats(-16, -1).map(lambda exponent: float(10.0**exponent))
chances = st.one_of(
    st.floats(0.01, 0.99), small, small.map(lambda x: min(1.0 - x, float(np.nextafter(1.0, 0.0))))
)


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n_classes = draw(st.integers(3, 7))
    answers = draw(hnp.arrays(np.float64, (draw(st.integers(1, 4)), n_classes), elements=chances))
    weights = draw(hnp.arrays(np.float64, n_classes, elements=st.floats(0.01, 1.0)))
    return answers, draw(st.sampled_from([weights, np.ones(n_classes)]))


def exact_minimum(answers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The minimum for one sample: the multiplier by bisection, in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        q = [Decimal(float(each)) for each in answers]
        w = [Decimal(float(each)) for each in weights]

        def probabilities(multiplier: Decimal) -> list[Decimal]:
            found = []
            for chance, weight in zip(q, w, strict=True):
                nu = multiplier / weight
                root = ((1 + nu) ** 2 - 4 * nu * chance).sqrt()
                found.append(2 * chance / (1 + nu + root))
            return found

        low, high = Decimal(-1), Decimal(1)
        while sum(probabilities(low)) < 1:
            low *= 2
        while sum(probabilities(high)) > 1:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(probabilities(middle)) > 1 else (low, middle)
        return np.array([float(each) for each in probabilities(low)])


@pytest.mark.parametrize("twin", TWINS)
@given(problem=problems())
def test_the_minimum_is_that_of_exact_arithmetic(
    twin: ModuleType, problem: tuple[np.ndarray, np.ndarray]
) -> None:
    answers, weights = problem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = twin.minimise_one_vs_rest(answers, weights)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-14)
    assert (found > 0).all()
    for own, row in zip(found, answers, strict=True):
        np.testing.assert_allclose(own, exact_minimum(row, weights), rtol=0, atol=1e-12)


@given(problems())
def test_twins_find_the_same_probabilities(problem: tuple[np.ndarray, np.ndarray]) -> None:
    one, other = (twin.minimise_one_vs_rest(*problem) for twin in TWINS)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@pytest.mark.parametrize("twin", TWINS)
@given(
    answers=hnp.arrays(np.float64, (3, 5), elements=st.floats(0.001, 0.999)),
    weights=hnp.arrays(np.float64, 5, elements=st.floats(0.1, 1.0)),
)
def test_the_general_routine_finds_the_same_minimum(
    twin: ModuleType, answers: np.ndarray, weights: np.ndarray
) -> None:
    code = 2 * np.eye(5, dtype=np.int8) - 1
    of_sides = np.column_stack([weights, weights])
    expected = general.minimise_divergence(code, 2 * answers - 1, of_sides, True)
    np.testing.assert_allclose(
        twin.minimise_one_vs_rest(answers, weights), expected, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("seed", range(5))
def test_scipy_finds_no_lower_divergence(twin: ModuleType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers, weights = rng.uniform(0.01, 0.99, 4), rng.uniform(0.1, 1, 4)

    def divergence(p: np.ndarray) -> float:
        return float(-weights @ (answers * np.log(p) + (1 - answers) * np.log1p(-p)))

    best = minimize(
        divergence,
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(1e-9, 1 - 1e-9)] * 4,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14},
    )
    (found,) = twin.minimise_one_vs_rest(answers[np.newaxis], weights)
    assert divergence(found) <= best.fun + 1e-12
    np.testing.assert_allclose(found, best.x, atol=1e-5)


@pytest.mark.parametrize("twin", TWINS)
def test_answers_that_sum_to_one_are_returned(twin: ModuleType) -> None:
    answers = np.random.default_rng(0).dirichlet(np.ones(6), 50)
    found = twin.minimise_one_vs_rest(answers, np.linspace(0.1, 1, 6))
    np.testing.assert_allclose(found, answers, rtol=0, atol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
def test_no_samples_give_no_rows(twin: ModuleType) -> None:
    assert twin.minimise_one_vs_rest(np.empty((0, 3)), np.ones(3)).shape == (0, 3)


@pytest.mark.parametrize("twin", TWINS)
def test_the_arguments_are_not_changed_and_may_be_read_only(twin: ModuleType) -> None:
    rng = np.random.default_rng(0)
    answers, weights = rng.uniform(0, 1, (3, 4)), rng.uniform(0.1, 1, 4)
    before = answers.copy(), weights.copy()
    answers.flags.writeable = weights.flags.writeable = False
    twin.minimise_one_vs_rest(answers, weights)
    np.testing.assert_array_equal(answers, before[0])
    np.testing.assert_array_equal(weights, before[1])
