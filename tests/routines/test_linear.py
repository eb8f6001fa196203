"""Linear models by Newton's method: both twins, and SciPy's minimiser."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given

from linear_cases import LinearCase, evaluate, linear_cases, minimise_by_scipy
from polytomy.routines.compiled import linear as compiled
from polytomy.routines.reference import linear as reference
from polytomy.routines.reference.linear import LinearForm, LinearProblems, LinearSamples

TWINS = [reference, compiled]


@given(linear_cases())
def test_twins_find_the_same_models(case: LinearCase) -> None:
    one, other = (twin.fit_linear_models(*case.arguments) for twin in TWINS)
    scale = 1.0 + np.abs(one.coefficients[:, 0])
    difference = np.abs(one.coefficients[:, 0] - other.coefficients[:, 0])
    assert (difference / scale).max() < 1e-5


@pytest.mark.parametrize("twin", TWINS)
@given(case=linear_cases())
def test_scipy_finds_no_smaller_objective(twin: ModuleType, case: LinearCase) -> None:
    fits = twin.fit_linear_models(*case.arguments)
    assert fits.is_converged.all()
    for problem in range(len(case.starts) - 1):
        value, _ = evaluate(case, problem, fits.coefficients[problem, 0])
        assert value <= minimise_by_scipy(case, problem) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("twin", TWINS)
@given(case=linear_cases())
def test_models_of_small_folds_have_the_least_objective(twin: ModuleType, case: LinearCase) -> None:
    fits = twin.fit_linear_models(*case.arguments)
    for problem, fold in zip(*np.nonzero(case.is_trained), strict=True):
        part = 1 + fold
        value, _ = evaluate(case, problem, fits.coefficients[problem, part], part)
        assert value <= minimise_by_scipy(case, problem, part) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("twin", TWINS)
@given(case=linear_cases())
def test_values_are_those_of_the_model_of_each_samples_fold(
    twin: ModuleType, case: LinearCase
) -> None:
    fits = twin.fit_linear_models(*case.arguments)
    for problem in range(len(case.starts) - 1):
        own = slice(case.starts[problem], case.starts[problem + 1])
        models = fits.coefficients[problem, 1 + case.fold_of[own]]
        x = np.hstack([case.x[case.rows[own]], np.full((len(models), 1), case.form.bias)])
        expected = np.einsum("ij,ij->i", x, models)
        np.testing.assert_allclose(fits.values[own], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("twin", TWINS)
def test_a_solver_without_steps_has_not_converged(twin: ModuleType) -> None:
    nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
    samples = LinearSamples(np.eye(2), *nothing, np.ones(2), 2)
    problem = np.arange(2), np.array([0, 2]), np.array([-1.0, 1.0]), np.ones((1, 2))
    no_folds = np.full(2, -1), np.empty((1, 0), dtype=np.bool_)
    form = LinearForm(True, 1.0, 0.0, 0)
    problems = LinearProblems(*problem, *no_folds, np.zeros(1), np.zeros(1))
    fits = twin.fit_linear_models(samples, problems, form)
    assert not fits.is_converged.any()
    assert (fits.coefficients == 0).all()
