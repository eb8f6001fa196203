"""Bins of targets: laws for any values, and the cases that repeat values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.regression.distribution import BinnedDistribution, choose_n_bins, make_bins


@st.composite
def targets(draw):
    """Values that are continuous, discrete, zero-inflated, heavy-tailed, few or far from zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 200))
    kind = draw(st.sampled_from(["normal", "counts", "zeros", "cauchy", "large", "close"]))
    y = {
        "normal": rng.normal(size=n),
        "counts": rng.poisson(draw(st.sampled_from([0.3, 3, 30])), n).astype(float),
        "zeros": np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n)),
        "cauchy": rng.standard_cauchy(n),
        "large": 1e150 * rng.normal(size=n),
        "close": np.array([1.0, np.nextafter(1.0, 2), 2.0])[rng.integers(3, size=n)],
    }[kind]
    return y, rng.integers(0, 3, n) + np.eye(n, dtype=int)[0]


bin_counts = st.one_of(st.none(), st.integers(2, 30))


@given(targets(), bin_counts)
@settings(deadline=None)
def test_no_bin_is_empty_and_there_are_no_more_than_wanted(case, n_bins):
    y, weight = case
    bins = make_bins(y, weight.astype(float), n_bins)
    counts = np.bincount(bins.assign(y[weight > 0]), minlength=bins.n_bins)
    assert counts.min() > 0
    assert bins.n_bins == len(counts)
    assert bins.n_bins <= (n_bins or choose_n_bins(max(weight.sum(), len(np.unique(y)))))


@given(targets(), bin_counts)
@settings(deadline=None)
def test_every_value_lies_in_a_piece_of_its_bin(case, n_bins):
    y, weight = case
    y = y[weight > 0]
    bins = make_bins(y, np.ones(len(y)), n_bins)
    for value, own in zip(y, bins.assign(y), strict=True):
        pieces = np.flatnonzero((bins.bin_of == own) & (bins.shares > 0))
        assert bins.edges[pieces[0]] <= value <= bins.edges[pieces[-1] + 1]
    assert bins.edges[0] == y.min()
    assert bins.edges[-1] == y.max()
    assert (np.diff(bins.edges) >= 0).all()
    assert (np.diff(bins.bin_of) >= 0).all()


@given(targets(), bin_counts)
@settings(deadline=None)
def test_shares_sum_to_one_in_each_bin_and_spread_probabilities(case, n_bins):
    y, weight = case
    bins = make_bins(y, weight.astype(float), n_bins)
    np.testing.assert_allclose(np.bincount(bins.bin_of, bins.shares), 1.0, atol=1e-9)
    proba = np.random.default_rng(0).dirichlet(np.ones(bins.n_bins), 3)
    masses = bins.spread(proba)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0)
    for each in range(bins.n_bins):
        own = masses[:, bins.bin_of == each].sum(axis=1)
        np.testing.assert_allclose(own, proba[:, each], atol=1e-12)


@given(targets(), bin_counts)
@settings(deadline=None)
def test_a_weight_counts_as_copies(case, n_bins):
    y, weight = case
    weighted = make_bins(y, weight.astype(float), n_bins)
    repeated = y.repeat(weight)
    same = make_bins(repeated, np.ones(len(repeated)), n_bins)
    np.testing.assert_array_equal(weighted.last_values, same.last_values)
    np.testing.assert_array_equal(weighted.edges, same.edges)
    np.testing.assert_allclose(weighted.shares, same.shares, atol=1e-12)


def test_bins_of_continuous_values_have_equal_numbers():
    y = np.random.default_rng(0).normal(size=1000)
    bins = make_bins(y, np.ones(1000), 10)
    np.testing.assert_array_equal(np.bincount(bins.assign(y)), np.full(10, 100))


def test_the_frequencies_of_the_bins_give_back_the_distribution_of_the_training_values():
    y = np.sort(np.random.default_rng(0).lognormal(size=2000))
    bins = make_bins(y, np.ones(2000), 30)
    shares = np.bincount(bins.assign(y)) / 2000
    distribution = BinnedDistribution(bins.edges, bins.spread(shares[np.newaxis]))
    empirical = (np.arange(2000) + 0.5) / 2000
    np.testing.assert_allclose(distribution.cdf(y[np.newaxis])[0], empirical, atol=0.01)
    assert distribution.mean()[0] == pytest.approx(y.mean(), rel=0.01)


def test_few_different_values_are_atoms():
    y = np.array([1.0, 2.0, 4.0]).repeat([10, 20, 30])
    bins = make_bins(y, np.ones(60), 5)
    assert bins.n_bins == 3
    distribution = BinnedDistribution(bins.edges, bins.spread(np.array([[0.5, 0.3, 0.2]])))
    np.testing.assert_allclose(
        distribution.cdf([[0.9, 1.0, 1.5, 2.0, 3.9, 4.0]]), [[0, 0.5, 0.5, 0.8, 0.8, 1]]
    )
    assert set(distribution.ppf(np.linspace(0, 1, 50)[np.newaxis])[0]) == {1.0, 2.0, 4.0}
    assert distribution.mean() == pytest.approx([0.5 + 0.6 + 0.8])


def test_many_zeros_are_one_atom():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(500) < 0.7, 0.0, rng.exponential(size=500))
    bins = make_bins(y, np.ones(500), 10)
    zero = bins.assign(np.array([0.0]))[0]
    proba = np.full((1, bins.n_bins), 0.3 / (bins.n_bins - 1))
    proba[0, zero] = 0.7
    distribution = BinnedDistribution(bins.edges, bins.spread(proba))
    assert distribution.cdf(0.0) == pytest.approx(0.7)
    assert distribution.cdf_before(0.0) == pytest.approx(0.0)
    assert bins.n_bins >= 4


def test_a_rare_value_before_many_zeros_does_not_hide_that_they_are_an_atom():
    y = np.concatenate([[-5.0], np.zeros(60), np.linspace(0.1, 3, 39)])
    bins = make_bins(y, np.ones(100), 10)
    shares = np.bincount(bins.assign(y)) / 100
    distribution = BinnedDistribution(bins.edges, bins.spread(shares[np.newaxis]))
    jump = distribution.cdf(0.0) - distribution.cdf_before(0.0)
    assert jump == pytest.approx(0.6)
    assert np.bincount(bins.assign(y)).min() > 1


def test_an_outlier_hardly_moves_the_mean_of_its_bin():
    y = np.append(np.linspace(0, 1, 999), 1e6)
    bins = make_bins(y, np.ones(1000), 10)
    last = np.eye(bins.n_bins)[[-1]]
    distribution = BinnedDistribution(bins.edges, bins.spread(last))
    assert distribution.median()[0] < 1.0
    assert distribution.mean()[0] == pytest.approx(y[900:].mean(), rel=0.5)


@given(targets(), bin_counts)
@settings(deadline=None)
def test_a_bin_has_more_than_one_sample_if_there_are_more(case, n_bins):
    y, weight = case
    y = y.repeat(weight)
    bins = make_bins(y, np.ones(len(y)), n_bins)
    assert np.bincount(bins.assign(y)).min() >= min(2, len(y))


def test_one_value_is_one_atom():
    bins = make_bins(np.full(5, 3.0), np.ones(5), None)
    assert bins.n_bins == 1
    np.testing.assert_array_equal(bins.edges, [3.0, 3.0])


def test_weights_that_sum_to_one_still_give_many_bins():
    y = np.random.default_rng(0).normal(size=1000)
    plain = make_bins(y, np.ones(1000), None)
    assert make_bins(y, np.full(1000, 1e-3), None).n_bins == plain.n_bins > 5


def test_more_samples_have_more_bins():
    chosen = [choose_n_bins(n) for n in range(1, 5000)]
    assert chosen[0] == 2
    assert (np.diff(chosen) >= 0).all()
    assert choose_n_bins(1e9) == choose_n_bins(1e8)
