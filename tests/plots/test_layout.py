"""Bins of probabilities, shades and distances at nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binomtest

from polytomy import metrics, parse
from polytomy.plots.layout import (
    distances_at_nodes,
    make_bins,
    shade_confusion,
    shares_of_rows,
)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@given(
    probabilities=hnp.arrays(float, st.integers(1, 40), elements=st.floats(0, 1)),
    n_bins=st.integers(1, 8),
    seed=st.integers(0, 5),
)
def test_bins_have_all_samples_and_keep_the_means(strategy, probabilities, n_bins, seed):
    rng = np.random.default_rng(seed)
    happened = rng.random(len(probabilities)) < 0.5
    weight = rng.integers(1, 4, len(probabilities)).astype(float)
    bins = make_bins(probabilities, happened, weight, n_bins, strategy)
    assert len(bins.weight) <= n_bins
    assert (bins.weight > 0).all()
    assert bins.weight.sum() == weight.sum()
    np.testing.assert_allclose(bins.weight @ bins.predicted, weight @ probabilities, atol=1e-12)
    np.testing.assert_allclose(bins.weight @ bins.observed, weight @ happened, atol=1e-12)
    assert (bins.lower <= bins.observed + 1e-12).all()
    assert (bins.observed <= bins.upper + 1e-12).all()


def test_quantiles_have_the_same_number_of_samples():
    probabilities = np.random.default_rng(0).random(60) ** 3
    bins = make_bins(probabilities, probabilities > 0.5, np.ones(60), 6, "quantile")
    assert bins.weight.tolist() == [10] * 6


def test_intervals_are_those_of_wilson():
    bins = make_bins(np.full(20, 0.4), np.arange(20) < 7, np.ones(20), 5, "uniform")
    expected = binomtest(7, 20).proportion_ci(0.95, "wilson")
    assert (bins.lower[0], bins.upper[0]) == pytest.approx((expected.low, expected.high))


def test_weights_that_are_all_the_same_change_nothing():
    one, many = (
        make_bins(np.full(20, 0.4), np.arange(20) < 7, np.full(20, weight), 5, "uniform")
        for weight in (1.0, 12.5)
    )
    np.testing.assert_allclose(one.lower, many.lower)


def test_the_mean_gap_is_the_calibration_error():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 200)
    y = rng.integers(0, 3, 200)
    bins = make_bins(proba.max(axis=1), proba.argmax(axis=1) == y, np.ones(200), 15, "uniform")
    assert bins.mean_gap == pytest.approx(metrics.confidence_calibration_error(y, proba))


def test_shades_grow_with_the_share_of_the_row_and_errors_are_negative():
    shares = shares_of_rows(np.array([[890, 100, 10], [0, 0, 0], [1, 0, 99999]]))
    np.testing.assert_allclose(shares.sum(axis=1), [1, 0, 1])
    shades = shade_confusion(shares)
    # An error rate of 10 % is two thirds of the scale, 1 % a third; rarer ones stay visible.
    np.testing.assert_allclose(shades[0], [0.89, -2 / 3, -1 / 3])
    assert shades[1].tolist() == [0, 0, 0]
    assert shades[2, 0] == -0.08


def test_distances_at_a_node_are_those_between_its_branches():
    distances = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], dtype=float)
    found = distances_at_nodes(parse("m {a n {b c} d}"), distances)
    assert [sorted(each.tolist()) for each in found] == [[1, 2, 3, 5, 6], [4]]
