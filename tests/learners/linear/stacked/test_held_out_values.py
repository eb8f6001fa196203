"""Scores of held-out samples are those of models that have never seen them."""

from __future__ import annotations

import numpy as np
import pytest

from polytomy.learners.linear.stacked import SharedRows, fit_stacked_models
from polytomy.routines.compiled import linear as compiled
from polytomy.routines.reference.linear import LinearFits, LinearForm, LinearProblems, LinearSamples

N_SAMPLES, N_FEATURES, N_RARE, N_FOLDS = 2010, 120, 15, 5


@pytest.fixture(scope="module")
def separable() -> tuple[np.ndarray, np.ndarray]:
    """A few samples against many, with features of different scales: separable, with effort."""
    rng = np.random.default_rng(0)
    x = rng.poisson(2.0, size=(N_SAMPLES, N_FEATURES)) * rng.uniform(0, 10, N_FEATURES)
    x[:N_RARE, :10] += 4
    return x, np.arange(N_SAMPLES) < N_RARE


def fit_alone(x: np.ndarray, is_positive: np.ndarray, form: LinearForm, *, is_exact: bool, folds):
    rows = np.arange(len(x))
    nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
    samples = LinearSamples(x, *nothing, np.linalg.norm(x, axis=1), x.shape[1])
    problem = rows, np.array([0, len(x)]), np.where(is_positive, 1.0, -1.0)
    costs = costs_of(folds, len(x))
    is_trained = np.ones((1, len(costs) - 1), np.bool_)
    fold_of = np.full(len(x), -1) if folds is None else folds
    problems = LinearProblems(*problem, costs, fold_of, is_trained, *tolerances(form, is_exact))
    return compiled.fit_linear_models(samples, problems, form)


def fit_in_a_stack(x: np.ndarray, is_positive: np.ndarray, form: LinearForm, folds) -> LinearFits:
    costs = costs_of(folds, len(x))[:, np.newaxis]
    is_trained = np.ones((1, N_FOLDS), np.bool_)
    return fit_stacked_models(
        SharedRows(x, form.bias), is_positive[np.newaxis], costs, folds, is_trained, form,
        *tolerances(form, is_exact=False),
    )  # fmt: skip


def costs_of(folds, n_samples: int) -> np.ndarray:
    every = np.ones((1, n_samples))
    if folds is None:
        return every
    return np.concatenate([every, (folds != np.arange(N_FOLDS)[:, np.newaxis]).astype(float)])


def tolerances(form: LinearForm, is_exact: bool) -> tuple[np.ndarray, np.ndarray]:
    """Those of scikit-learn's estimators with tol=1e-4, as far as they are met here; or less."""
    if is_exact:
        return np.array([1e-7]), np.zeros(1)
    if form.is_logistic:
        return np.array([1e-5 * N_SAMPLES]), np.zeros(1)
    return np.zeros(1), np.array([1e-5 * N_RARE / N_SAMPLES])


@pytest.mark.parametrize("solver", ["hinge", "logistic", "stacked logistic"])
def test_no_solution_of_all_samples_is_left_in_them(separable, solver):
    x, is_positive = separable
    folds = np.arange(N_SAMPLES) % N_FOLDS
    form = LinearForm(solver != "hinge", 1.0, float(solver == "hinge"), 1000)
    if solver == "stacked logistic":
        fits = fit_in_a_stack(x, is_positive, form, folds)
    else:
        fits = fit_alone(x, is_positive, form, is_exact=False, folds=folds)
    all_rows = np.column_stack([x, np.ones(N_SAMPLES)])
    of_all = all_rows @ fits.coefficients[0, 0]
    for fold in range(N_FOLDS):
        own = folds == fold
        alone = fit_alone(x[~own], is_positive[~own], form, is_exact=True, folds=None)
        rare = own & is_positive
        unseen = all_rows[rare] @ alone.coefficients[0, 0]
        error = np.abs(fits.values[rare] - unseen).mean()
        assert error < 0.02 * np.abs(of_all[rare] - unseen).mean()
