import copy
import inspect
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.isotonic import IsotonicRegression
from sklearn.svm import SVC

from polytomy.calibration.calibrators import (
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
    platt_targets,
)
from polytomy.errors import ArgumentError

LEARNERS = [SigmoidCalibrator, TemperatureCalibrator, IsotonicCalibrator]


def noisy_values(seed, n_samples=40):
    """Decision values that tell the sides apart most of the time, and a sample on each side."""
    rng = np.random.default_rng(seed)
    is_positive = rng.permutation(np.r_[True, False, rng.random(n_samples - 2) < 0.4])
    return np.where(is_positive, 1.0, -1.0) + rng.normal(scale=1.5, size=n_samples), is_positive


def log_loss(log_odds, targets, weight):
    return -np.sum(weight * (targets * log_expit(log_odds) + (1 - targets) * log_expit(-log_odds)))


seeds = st.integers(0, 10_000)


class TestSigmoid:
    @given(seeds)
    @settings(deadline=None, max_examples=40)
    def test_no_other_sigmoid_has_a_smaller_loss(self, seed):
        values, is_positive = noisy_values(seed)
        weight = np.random.default_rng(seed).uniform(0.1, 3, size=len(values))
        targets = platt_targets(is_positive, weight)
        found = minimize(
            lambda ab: log_loss(ab[0] * values + ab[1], targets, weight),
            np.zeros(2),
            method="BFGS",
            options={"gtol": 1e-8},
        )
        fitted = SigmoidCalibrator().fit(values, is_positive, weight)
        np.testing.assert_allclose([fitted.slope_, fitted.intercept_], found.x, atol=1e-5)

    @given(seeds)
    @settings(deadline=None, max_examples=40)
    def test_the_gradient_vanishes_at_the_optimum(self, seed):
        values, is_positive = noisy_values(seed)
        fitted = SigmoidCalibrator().fit(values, is_positive)
        error = fitted.predict(values) - platt_targets(is_positive, np.ones(len(values)))
        assert abs(error.sum()) < 1e-8
        assert abs(error @ values) < 1e-8

    @pytest.mark.parametrize("seed", range(200))
    def test_outliers_and_uneven_weights_do_not_stop_it_short(self, seed):
        rng = np.random.default_rng(seed)
        values = rng.standard_cauchy(30) * 10 ** rng.uniform(-3, 3)
        is_positive = values > np.quantile(values, rng.uniform(0.05, 0.95))
        is_positive ^= rng.random(30) < 0.1
        weight = 10 ** rng.uniform(-3, 4, size=30)
        fitted = SigmoidCalibrator().fit(values, is_positive, weight)
        error = weight * (fitted.predict(values) - platt_targets(is_positive, weight))
        standard = (values - values.mean()) / values.std()
        assert abs(error.sum()) < 1e-9 * weight.sum()
        assert abs(error @ standard) < 1e-9 * (weight @ np.abs(standard))

    @pytest.mark.parametrize("seed", range(6))
    def test_it_is_the_sigmoid_of_libsvm(self, seed):
        # Five samples make LIBSVM's five folds the leave-one-out, whatever its random order.
        if "probability" not in inspect.signature(SVC).parameters:
            pytest.skip("this scikit-learn has no probabilities of LIBSVM")
        rng = np.random.default_rng(seed)
        y = np.array([-1, -1, -1, 1, 1])
        X = rng.normal(size=(5, 2)) + y[:, np.newaxis]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = SVC(tol=1e-10, gamma=0.5, probability=True, random_state=0).fit(X, y)
            slope_a, intercept_b = theirs.probA_[0], theirs.probB_[0]
        held_out = np.empty(5)
        for k in range(5):
            rest = np.arange(5) != k
            machine = SVC(tol=1e-10, gamma=0.5).fit(X[rest], y[rest])
            held_out[k] = machine.decision_function(X[[k]])[0]
        ours = SigmoidCalibrator().fit(held_out, y > 0)
        # LIBSVM's sigmoid is that of the first class, with the decision values' sign turned.
        assert ours.slope_ == pytest.approx(-slope_a, abs=1e-4)
        assert ours.intercept_ == pytest.approx(intercept_b, abs=1e-4)

    @given(seeds, st.floats(1e-9, 1e9), st.floats(-1e3, 1e3))
    @settings(deadline=None, max_examples=40)
    def test_scale_and_origin_of_the_values_do_not_matter(self, seed, scale, shift):
        values, is_positive = noisy_values(seed)
        other = scale * (values + shift)
        np.testing.assert_allclose(
            SigmoidCalibrator().fit(other, is_positive).predict(other),
            SigmoidCalibrator().fit(values, is_positive).predict(values),
            atol=1e-7,
        )

    @given(seeds)
    @settings(deadline=None, max_examples=40)
    def test_turning_the_sides_turns_the_probabilities(self, seed):
        values, is_positive = noisy_values(seed)
        np.testing.assert_allclose(
            SigmoidCalibrator().fit(-values, ~is_positive).predict(-values),
            1 - SigmoidCalibrator().fit(values, is_positive).predict(values),
            atol=1e-9,
        )

    def test_equal_values_get_the_mean_target(self):
        fitted = SigmoidCalibrator().fit([0.7] * 4, [True, False, False, False])
        # Targets 2/3 and three times 1/5.
        np.testing.assert_allclose(fitted.predict([0.7, 9.0]), (2 / 3 + 3 / 5) / 4)

    def test_separable_values_stay_finite(self):
        fitted = SigmoidCalibrator().fit([-1e-3, -1.0, 1e-3, 1.0], [False, False, True, True])
        assert math.isfinite(fitted.slope_)
        assert np.all(np.abs(fitted.predict([-1.0, 1.0]) - 0.5) < 0.5)

    def test_a_single_side_is_answered_by_its_target(self):
        fitted = SigmoidCalibrator().fit([0.0, 1.0, 2.0], [True] * 3)
        np.testing.assert_allclose(fitted.predict([0.0, 5.0]), 4 / 5)


class TestTemperature:
    @given(seeds)
    @settings(deadline=None, max_examples=40)
    def test_no_other_temperature_has_a_smaller_loss(self, seed):
        values, is_positive = noisy_values(seed)
        targets = platt_targets(is_positive, np.ones(len(values)))
        fitted = TemperatureCalibrator().fit(values, is_positive)
        losses = [
            log_loss(factor * values, targets, np.ones(len(values)))
            for factor in (fitted.slope_, 0.999 * fitted.slope_, 1.001 * fitted.slope_ + 1e-6)
        ]
        assert losses[0] == min(losses)
        assert fitted.intercept_ == 0
        assert fitted.predict([0.0]) == [0.5]

    def test_values_that_favour_the_wrong_side_are_not_followed(self):
        fitted = TemperatureCalibrator().fit([-1, -1, 1, 1], [True, True, False, False])
        np.testing.assert_array_equal(fitted.predict([-3, 0, 3]), 0.5)
        assert fitted.temperature_ == math.inf

    def test_values_of_zero_give_one_half(self):
        fitted = TemperatureCalibrator().fit([0.0, 0.0], [True, False])
        np.testing.assert_array_equal(fitted.predict([-3, 0, 3]), 0.5)


class TestIsotonic:
    @given(seeds)
    @settings(deadline=None, max_examples=40)
    def test_it_is_isotonic_regression_drawn_in_from_zero_and_one(self, seed):
        values, is_positive = noisy_values(seed)
        low, high = 1 / (np.sum(~is_positive) + 2), 1 - 1 / (np.sum(is_positive) + 2)
        plain = IsotonicRegression(out_of_bounds="clip").fit(values, is_positive)
        anywhere = np.linspace(-8, 8, 50)
        np.testing.assert_allclose(
            IsotonicCalibrator().fit(values, is_positive).predict(anywhere),
            low + (high - low) * plain.predict(anywhere),
            atol=1e-12,
        )

    def test_equal_values_get_one_half_if_the_sides_are_balanced(self):
        fitted = IsotonicCalibrator().fit([2.0, 2.0], [True, False])
        np.testing.assert_allclose(fitted.predict([-1, 2, 3]), 0.5)


def test_uncalibrated_values_are_log_odds():
    assert UncalibratedMap().fit([0.0], [True]).predict([0.3]) == pytest.approx(expit(0.3))


@pytest.mark.parametrize("learner", LEARNERS)
@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_maps_of_informative_values_rise_and_never_claim_certainty(learner, seed):
    rng = np.random.default_rng(seed)
    is_positive = np.r_[True, False, rng.random(30) < 0.5]
    values = np.where(is_positive, 2.0, -2.0) + rng.uniform(-1, 1, size=32)
    probabilities = learner().fit(values, is_positive).predict(np.sort(values))
    assert np.all(np.diff(probabilities) >= -1e-12)
    assert np.all((probabilities > 0) & (probabilities < 1))


@pytest.mark.parametrize("learner", LEARNERS)
@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_a_weight_counts_as_that_many_copies(learner, seed):
    values, is_positive = noisy_values(seed)
    rng = np.random.default_rng(seed + 1)
    weight = rng.integers(0, 4, size=len(values)) + np.eye(len(values), dtype=int)[0]
    copies = learner().fit(np.repeat(values, weight), np.repeat(is_positive, weight))
    weighted = learner().fit(values, is_positive, weight)
    np.testing.assert_allclose(weighted.predict(values), copies.predict(values), atol=1e-8)


@pytest.mark.parametrize("learner", LEARNERS)
def test_nan_stays_nan(learner):
    values, is_positive = noisy_values(0)
    answers = learner().fit(values, is_positive).predict([np.nan, 0.0])
    assert np.isnan(answers).tolist() == [True, False]


@pytest.mark.parametrize("learner", [*LEARNERS, UncalibratedMap])
def test_copies_and_pickles_answer_the_same(learner):
    values, is_positive = noisy_values(0)
    fitted = learner().fit(values, is_positive)
    for again in copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)):
        np.testing.assert_array_equal(again.predict(values), fitted.predict(values))
    assert repr(fitted) == f"{learner.__name__}()"


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ([0.0, np.inf, np.nan], [True, False, True]),
            "2 of 3 decision values are not finite, so they cannot be calibrated. "
            "Use calibration=None or another estimator.",
        ),
        (
            ([0.0, 1.0], [True, False, True]),
            "decision_values has shape (2,), but target has shape (3,). "
            "Give one value and one side for each sample.",
        ),
        (
            ([0.0, 1.0], [True, False], [1.0, -1.0]),
            "sample_weight[1] is -1; weights must be finite and not negative.",
        ),
    ],
)
def test_invalid_input_is_refused(learner, arguments, words):
    with pytest.raises(ArgumentError) as caught:
        learner().fit(*arguments)
    assert str(caught.value) == words
