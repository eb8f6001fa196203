"""The calibration of ordered bins: laws, and a problem whose answer is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.special import expit, logit

from polytomy.regression.calibration import CumulativeScaling, _Problem, fit_cumulative_scaling


@st.composite
def binned_probabilities(draw):
    """Probabilities of bins, some of them tiny or zero, and bins that are drawn from them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_bins = draw(st.integers(1, 30)), draw(st.integers(2, 8))
    proba = rng.dirichlet(np.full(n_bins, draw(st.sampled_from([0.05, 1.0, 10.0]))), n)
    drawn = (np.cumsum(proba, axis=1) < rng.random((n, 1))).sum(axis=1)
    return proba, np.minimum(drawn, n_bins - 1), rng.integers(1, 4, n)


scalings = st.builds(CumulativeScaling, st.floats(0.1, 5), st.floats(-3, 3))


@given(binned_probabilities(), scalings)
@settings(deadline=None)
def test_probabilities_stay_probabilities_and_follow_the_formula(case, scaling):
    proba, _, _ = case
    scaled = scaling.apply(proba)
    assert (scaled >= 0).all()
    np.testing.assert_allclose(scaled.sum(axis=1), 1.0)
    before = np.clip(np.cumsum(proba, axis=1)[:, :-1], 1e-300, 1 - 1e-16)
    is_plain = (before > 1e-6) & (before < 1 - 1e-6)
    expected = expit(scaling.slope * logit(before) + scaling.shift)
    after = np.cumsum(scaled, axis=1)[:, :-1]
    np.testing.assert_allclose(after[is_plain], expected[is_plain], atol=1e-9)


@given(binned_probabilities())
@settings(deadline=None)
def test_a_slope_of_one_changes_nothing(case):
    proba, _, _ = case
    np.testing.assert_array_equal(CumulativeScaling().apply(proba), proba)
    nearly = CumulativeScaling(1.0, 1e-15).apply(proba)
    np.testing.assert_allclose(nearly, proba, atol=1e-9)


def test_a_larger_slope_is_narrower_and_a_positive_shift_moves_down():
    proba = np.array([[0.1, 0.2, 0.4, 0.2, 0.1]])
    bins = np.arange(5)
    narrow = CumulativeScaling(2.0).apply(proba)
    assert narrow @ bins == pytest.approx(proba @ bins)
    assert narrow @ (bins - 2) ** 2 < proba @ (bins - 2) ** 2
    assert CumulativeScaling(1.0, 0.5).apply(proba) @ bins < proba @ bins


@given(binned_probabilities(), st.floats(0.2, 3), st.floats(-2, 2))
@settings(deadline=None, max_examples=50)
def test_the_gradient_is_that_of_the_loss(case, slope, shift):
    proba, bins, weight = case
    proba = 0.99 * proba + 0.01 / proba.shape[1]
    problem = _Problem.of(proba, bins, weight.astype(float))
    point = np.array([slope, shift])
    error = check_grad(
        lambda p: problem.loss_and_gradient(p)[0], lambda p: problem.loss_and_gradient(p)[1], point
    )
    size = np.abs(problem.loss_and_gradient(point)[1]).max()
    assert error < 1e-5 * (1 + size)


@given(binned_probabilities())
@settings(deadline=None, max_examples=30)
def test_the_fit_is_as_good_as_that_of_an_independent_solver(case):
    proba, bins, weight = case
    proba = 0.9 * proba + 0.1 / proba.shape[1]
    if proba.shape[1] < 3:
        return

    def loss(parameters):
        scaled = CumulativeScaling(*parameters).apply(proba)[np.arange(len(bins)), bins]
        penalty = 0.5 * ((parameters[0] - 1) ** 2 + parameters[1] ** 2)
        return (-weight @ np.log(np.maximum(scaled, 1e-300)) + penalty) / weight.sum()

    fitted = fit_cumulative_scaling(proba, bins, weight.astype(float))
    other = minimize(
        loss, [1.0, 0.1], method="Nelder-Mead", bounds=[(0.05, None), (None, None)], tol=1e-10
    )
    assert loss((fitted.slope, fitted.shift)) <= other.fun + 1e-8


@given(binned_probabilities())
@settings(deadline=None, max_examples=30)
def test_a_weight_counts_as_copies(case):
    proba, bins, weight = case
    one = fit_cumulative_scaling(proba, bins, weight.astype(float))
    copies = fit_cumulative_scaling(
        proba.repeat(weight, axis=0), bins.repeat(weight), np.ones(weight.sum())
    )
    assert (one.slope, one.shift) == pytest.approx((copies.slope, copies.shift), abs=1e-5)


def test_distributions_that_are_too_wide_and_too_high_are_corrected():
    rng = np.random.default_rng(0)
    borders = np.linspace(-4, 4, 9)
    centre = rng.normal(size=(4000, 1))
    below = expit(2.0 * (borders - centre))  # the truth: a logistic distribution
    said = expit((2.0 * (borders - centre) - 0.7) / 1.6)
    drawn = (below < rng.random((4000, 1))).sum(axis=1)
    ends = np.zeros((4000, 1)), np.ones((4000, 1))
    proba = np.diff(np.hstack([ends[0], said, ends[1]]), axis=1)
    fitted = fit_cumulative_scaling(proba, drawn, np.ones(4000))
    assert fitted.slope == pytest.approx(1.6, abs=0.1)
    assert fitted.shift == pytest.approx(0.7, abs=0.1)


def test_two_bins_are_left_to_the_final_calibration():
    proba = np.array([[0.9, 0.1], [0.8, 0.2]])
    assert fit_cumulative_scaling(proba, np.array([1, 1]), np.ones(2)) == CumulativeScaling()


def test_some_of_many_rows_are_enough(monkeypatch):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(5), 3000)
    bins = (np.cumsum(proba, axis=1) < rng.random((3000, 1))).sum(axis=1)
    whole = fit_cumulative_scaling(proba, bins, np.ones(3000))
    monkeypatch.setattr("polytomy.regression.calibration._MOST_ROWS", 1000)
    part = fit_cumulative_scaling(proba, bins, np.ones(3000))
    assert (part.slope, part.shift) == pytest.approx((whole.slope, whole.shift), abs=0.15)
