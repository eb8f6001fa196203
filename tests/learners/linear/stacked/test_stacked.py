"""Problems with the same rows, solved together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from linear_cases import LinearCase, evaluate, linear_cases, minimise_by_scipy
from polytomy.learners.linear import stacked
from polytomy.learners.linear.stacked import SharedRows, fit_stacked_models
from polytomy.routines.reference import linear as reference
from polytomy.routines.reference.linear import LinearFits, LinearForm


def fit_together(case: LinearCase) -> LinearFits:
    is_positive = case.signs.reshape(len(case.starts) - 1, -1) > 0
    costs = case.costs.reshape(len(case.costs), *is_positive.shape)
    if (costs == costs[:, :1]).all():
        costs = costs[:, :1]
    return fit_stacked_models(
        SharedRows(csr_array(case.x) if case.is_sparse else case.x, case.form.bias),
        is_positive,
        costs,
        case.fold_of[: len(case.x)],
        case.is_trained,
        case.form,
        case.largest,
        case.relative,
    )


@given(linear_cases(is_stack=True))
def test_models_are_those_of_the_problems_one_by_one(case: LinearCase) -> None:
    found, expected = fit_together(case), reference.fit_linear_models(*case.arguments)
    scale = 1.0 + np.abs(expected.coefficients[:, 0])
    difference = np.abs(found.coefficients[:, 0] - expected.coefficients[:, 0])
    assert (difference / scale).max() < 1e-5


@given(linear_cases(is_stack=True))
def test_scipy_finds_no_smaller_objective(case: LinearCase) -> None:
    fits = fit_together(case)
    assert fits.is_converged.all()
    for problem in range(len(case.starts) - 1):
        value, _ = evaluate(case, problem, fits.coefficients[problem, 0])
        assert value <= minimise_by_scipy(case, problem) * (1 + 1e-9) + 1e-12


@given(linear_cases(is_stack=True))
def test_models_of_small_folds_have_the_least_objective(case: LinearCase) -> None:
    fits = fit_together(case)
    for problem, fold in zip(*np.nonzero(case.is_trained), strict=True):
        part = 1 + fold
        value, _ = evaluate(case, problem, fits.coefficients[problem, part], part)
        assert value <= minimise_by_scipy(case, problem, part) * (1 + 1e-9) + 1e-12


@given(linear_cases(is_stack=True))
def test_values_are_those_of_the_model_of_each_samples_fold(case: LinearCase) -> None:
    fits = fit_together(case)
    values = fits.values.reshape(len(case.starts) - 1, -1)
    folds = case.fold_of.reshape(values.shape)
    x = np.hstack([case.x, np.full((len(case.x), 1), case.form.bias)])
    for problem, own in enumerate(values):
        rows = case.rows[case.starts[problem] : case.starts[problem + 1]]
        models = fits.coefficients[problem, 1 + folds[problem]]
        expected = np.einsum("ij,ij->i", x[rows], models)
        np.testing.assert_allclose(own, expected, rtol=1e-7, atol=1e-7)


def test_a_problem_that_is_solved_leaves_the_others_to_go_on() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    is_positive = rng.random((2, 60)) < 0.5
    costs = np.stack([np.full(60, 1e-6), np.full(60, 100.0)])[np.newaxis]
    form = reference.LinearForm(True, 1.0, 0.0, 100)
    nothing = np.full(60, -1), np.empty((2, 0), dtype=np.bool_)
    exact = np.full(2, 1e-8), np.zeros(2)
    fits = fit_stacked_models(SharedRows(x, 1.0), is_positive, costs, *nothing, form, *exact)
    assert fits.is_converged.all()
    assert fits.n_steps[0] < fits.n_steps[1]


def test_rows_in_single_precision_have_the_models_of_double_precision(monkeypatch) -> None:
    monkeypatch.setattr(stacked, "_BLOCK_PRODUCTS", 5 * 3 * 7)  # seven rows at a time
    monkeypatch.setattr(stacked, "_FEWEST_ROWS", 1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5)).astype(np.float32)
    is_positive = x[:, :3].T + rng.normal(size=(3, 200)) > 0
    folds = np.arange(200) % 2
    costs = np.stack([np.ones(200), folds != 0, folds != 1])[:, np.newaxis].astype(np.float64)
    form = reference.LinearForm(True, 1.0, 0.0, 100)
    rest = is_positive, costs, folds, np.ones((3, 2), np.bool_), form, np.full(3, 1e-6), np.zeros(3)
    found = fit_stacked_models(SharedRows(x, 1.0), *rest)
    expected = fit_stacked_models(SharedRows(x.astype(np.float64), 1.0), *rest)
    assert found.is_converged.all()
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-5)


def test_directions_in_single_precision_lead_to_the_models_of_double_precision(monkeypatch) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 6)) * [1.0, 10.0, 0.1, 1.0, 1.0, 0.0]
    is_positive = (x @ rng.normal(size=(6, 5)) + rng.normal(size=(300, 5)) > 0).T
    form = LinearForm(True, 1.0, 0.0, 100)
    nothing = np.full(300, -1), np.empty((5, 0), dtype=bool)
    tolerances = np.full(5, 1e-9), np.zeros(5)
    found = []
    for fewest, dtype in ((10**9, np.float64), (0, np.float32)):
        monkeypatch.setattr(stacked, "_FEWEST_SINGLE", fewest)
        shared = SharedRows(x, 1.0)
        assert shared.product_dtype == dtype
        costs = np.ones((1, 1, 300))
        found.append(fit_stacked_models(shared, is_positive, costs, *nothing, form, *tolerances))
    assert found[1].is_converged.all()
    np.testing.assert_allclose(*(each.coefficients for each in found), rtol=0, atol=1e-8)


@pytest.mark.parametrize("column", [np.arange(300) + 1e6, np.full(300, 1e20), np.ones(300)])
def test_columns_that_lose_in_single_precision_keep_double_precision(column, monkeypatch) -> None:
    monkeypatch.setattr(stacked, "_FEWEST_SINGLE", 0)
    x = np.random.default_rng(5).normal(size=(300, 2))
    assert SharedRows(x, 1.0).product_dtype == np.float32
    assert SharedRows(np.column_stack([x, column]), 1.0).product_dtype == np.float64
