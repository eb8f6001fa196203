"""The conformal correction: its levels, against counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.regression import BinnedDistribution, IntervalCorrection
from polytomy.regression.calibration import distance_to_median


@st.composite
def predictions(draw):
    """Distributions with and without atoms, and true values, some of them at atoms."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 60))
    edges = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 5.0])
    masses = rng.dirichlet(np.full(5, draw(st.sampled_from([0.2, 2.0]))), n)
    y = np.where(rng.random(n) < 0.4, rng.integers(0, 2, n), rng.uniform(0, 5, n))
    return BinnedDistribution(edges, masses), y


def learn(predicted, y, weight):
    return IntervalCorrection.learn(distance_to_median(predicted, y), weight)


def covered(predicted, y, half):
    low, high = predicted.ppf(max(0.5 - half, 0.0)), predicted.ppf(min(0.5 + half, 1.0))
    return (low <= y + 1e-7) & (y - 1e-7 <= high)


@given(predictions(), st.floats(0.05, 0.99))
@settings(deadline=None)
def test_the_interval_covers_the_share_of_the_samples_it_was_learnt_from(case, level):
    predicted, y = case
    half = learn(predicted, y, np.ones(len(y))).half_width(level)
    needed = min(len(y), int(np.ceil(level * (len(y) + 2) - 1e-9)))
    assert covered(predicted, y, half).sum() >= needed


@given(predictions(), st.floats(0.05, 0.95))
@settings(deadline=None)
def test_a_narrower_interval_would_cover_fewer(case, level):
    predicted, y = case
    half = learn(predicted, y, np.ones(len(y))).half_width(level)
    needed = int(np.ceil(level * (len(y) + 2) - 1e-9))
    if 1e-6 < half < 0.5:
        distances = np.maximum(0.5 - predicted.cdf(y), predicted.cdf_before(y) - 0.5)
        assert np.count_nonzero(distances <= half - 1e-6) < needed


@given(predictions())
@settings(deadline=None, max_examples=50)
def test_a_higher_confidence_is_never_narrower(case):
    predicted, y = case
    correction = learn(predicted, y, np.ones(len(y)))
    halves = [correction.half_width(level) for level in np.linspace(0.01, 0.99, 30)]
    assert (np.diff(halves) >= 0).all()


def test_the_level_covers_new_samples_on_average():
    """The 27th of 28 uniform distances, on average 27/29, is at least the level."""
    rng = np.random.default_rng(0)
    predicted = BinnedDistribution([0.0, 1.0], np.ones((28, 1)))
    widths = [
        2 * learn(predicted, rng.random(28), np.ones(28)).half_width(0.9) for _ in range(4000)
    ]
    assert np.mean(widths) == pytest.approx(27 / 29, abs=0.005)


def test_too_few_samples_give_the_whole_range():
    predicted = BinnedDistribution([0.0, 1.0], np.ones((5, 1)))
    correction = learn(predicted, np.linspace(0.3, 0.6, 5), np.ones(5))
    assert correction.half_width(0.9) == 0.5
    assert correction.half_width(0.7) < 0.5


def test_the_scale_of_the_weights_does_not_matter():
    predicted = BinnedDistribution([0.0, 1.0], np.ones((50, 1)))
    rng = np.random.default_rng(0)
    y, weight = rng.random(50), rng.random(50)
    halves = [learn(predicted, y, scale * weight).half_width(0.8) for scale in (1.0, 1e-9, 1e9)]
    assert halves[0] == pytest.approx(halves[1]) == pytest.approx(halves[2])


def test_many_samples_are_thinned_to_no_narrower_intervals(monkeypatch):
    rng = np.random.default_rng(0)
    predicted = BinnedDistribution([0.0, 1.0], np.ones((1001, 1)))
    y = rng.random(1001)
    whole = learn(predicted, y, np.ones(1001))
    monkeypatch.setattr("polytomy.regression.calibration._MOST_DISTANCES", 200)
    thin = learn(predicted, y, np.ones(1001))
    assert len(thin.distances) <= 200
    for level in (0.5, 0.8, 0.9, 0.99):
        difference = thin.half_width(level) - whole.half_width(level)
        assert 0 <= difference < 0.01
