"""Distributions in bins: laws of the functions, against sampling and scipy.stats."""

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from polytomy.errors import ArgumentError
from polytomy.regression import BinnedDistribution


@st.composite
def distributions(draw):
    """Several distributions, with bins of no width, bins of no mass, and values far from zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_bins, n_samples = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    scale = draw(st.sampled_from([1.0, 1e-30, 1e200]))
    shift = draw(st.sampled_from([0.0, 1e3]))
    edges = scale * (shift + np.sort(rng.integers(0, 9, n_bins + 1)))
    masses = rng.dirichlet(np.full(n_bins, 0.5), n_samples)
    masses = masses * rng.choice([0.0, 1.0], masses.shape)
    masses[:, rng.integers(n_bins)] += 0.1
    return BinnedDistribution(edges, masses / masses.sum(axis=1, keepdims=True))


levels = st.floats(0, 1)


@given(distributions(), levels)
@settings(deadline=None)
def test_the_quantile_is_the_smallest_value_with_that_much_probability(distribution, level):
    quantile = distribution.ppf(level)
    assert (distribution.cdf(quantile) >= level - 1e-9).all()
    assert (distribution.cdf_before(quantile) <= level + 1e-9).all()


@given(distributions(), st.lists(levels, min_size=2, max_size=8))
@settings(deadline=None)
def test_quantiles_never_cross_and_stay_inside_the_edges(distribution, wanted):
    quantiles = distribution.ppf(np.sort(wanted)[np.newaxis])
    assert (np.diff(quantiles, axis=1) >= 0).all()
    low, high = distribution.support()
    assert (quantiles >= low).all()
    assert (quantiles <= high).all()


@given(distributions())
@settings(deadline=None)
def test_the_distribution_function_rises_from_zero_to_one(distribution):
    edges = distribution.edges
    points = np.sort(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1]), [-np.inf, np.inf]]))
    values = distribution.cdf(points[np.newaxis])
    assert (np.diff(values, axis=1) >= 0).all()
    assert (values[:, 0] == 0).all()
    assert (values[:, -1] == 1).all()


@given(distributions())
@settings(deadline=None)
def test_the_distribution_function_has_the_cumulative_masses_at_the_edges(distribution):
    expected = np.cumsum(distribution.masses, axis=1)
    for k, edge in enumerate(distribution.edges[1:]):
        last = np.flatnonzero(distribution.edges[1:] == edge)[-1]  # after atoms at this edge
        np.testing.assert_allclose(distribution.cdf(edge), expected[:, last], atol=1e-12)
        assert last >= k


@given(distributions())
@settings(deadline=None)
def test_mean_and_standard_deviation_are_those_of_the_quantiles(distribution):
    grid = (np.arange(4000) + 0.5) / 4000
    draws = distribution.ppf(grid[np.newaxis])
    width = distribution.edges[-1] - distribution.edges[0]
    np.testing.assert_allclose(
        distribution.mean() / (width or 1), draws.mean(axis=1) / (width or 1), atol=1e-3
    )
    scaled = (draws - draws[:, :1]) / (width or 1)
    np.testing.assert_allclose(distribution.std() / (width or 1), scaled.std(axis=1), atol=2e-3)


def exact_moments(edges, masses):
    """Return the mean, the variance and the sum of m·|x|, in exact arithmetic."""
    edges, masses = [Fraction(x) for x in edges.tolist()], [Fraction(m) for m in masses.tolist()]
    total = sum(masses)
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    mean = sum(m * x for m, x in zip(masses, middles, strict=True)) / total
    size = sum(m * abs(x) for m, x in zip(masses, middles, strict=True)) / total
    variance = sum(
        m * ((x - mean) ** 2 + (b - a) ** 2 / 12)
        for m, x, (a, b) in zip(masses, middles, pairwise(edges), strict=True)
    )
    return mean, variance / total, size


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 5.0, 10.0, 60.0]), st.booleans())
@settings(deadline=None)
def test_the_mean_has_the_relative_precision_of_its_terms(seed, spread, is_positive):
    rng = np.random.default_rng(seed)
    edges = np.exp(spread * rng.normal(size=31))
    edges = np.sort(edges if is_positive else edges * rng.choice([-1.0, 1.0], 31))
    masses = rng.dirichlet(np.full(30, 0.05), 5)  # nearly all of the mass in a few bins
    masses[0] = np.eye(30)[rng.integers(30)]
    distribution = BinnedDistribution(edges, masses / masses.sum(axis=1, keepdims=True))
    means, deviations = distribution.mean(), distribution.std()
    for row, mean, deviation in zip(distribution.masses, means.tolist(), deviations, strict=True):
        expected, variance, size = exact_moments(distribution.edges, row)
        assert abs(Fraction(mean) - expected) <= Fraction(1e-14) * size
        assert edges[0] <= mean <= edges[-1]
        if is_positive and spread >= 5:
            assert deviation == pytest.approx(float(variance) ** 0.5, rel=1e-6)


def test_equals_the_histogram_of_scipy():
    edges, masses = np.array([0.0, 1.0, 1.5, 4.0]), np.array([0.2, 0.5, 0.3])
    ours = BinnedDistribution(edges, masses[np.newaxis])
    theirs = stats.rv_histogram((masses, edges), density=False)
    points = np.array([-1.0, 0.0, 0.3, 1.0, 1.2, 3.9, 4.5])
    np.testing.assert_allclose(ours.cdf(points[np.newaxis])[0], theirs.cdf(points))
    np.testing.assert_allclose(ours.pdf(points[np.newaxis])[0], theirs.pdf(points))
    inner = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(ours.ppf(inner[np.newaxis])[0], theirs.ppf(inner))
    np.testing.assert_allclose(ours.mean()[0], theirs.mean())
    np.testing.assert_allclose(ours.std()[0], theirs.std())
    np.testing.assert_allclose(ours.var()[0], theirs.var())
    np.testing.assert_allclose(ours.median()[0], theirs.median())
    np.testing.assert_allclose(np.ravel(ours.interval(0.8)), theirs.interval(0.8))


def test_an_atom_is_a_jump():
    distribution = BinnedDistribution([0.0, 0.0, 2.0], [[0.25, 0.75], [0.0, 1.0]])
    np.testing.assert_array_equal(distribution.cdf(0.0), [0.25, 0.0])
    np.testing.assert_array_equal(distribution.cdf_before(0.0), [0.0, 0.0])
    np.testing.assert_array_equal(distribution.pdf(0.0), [np.inf, 0.5])
    np.testing.assert_array_equal(distribution.ppf(0.2), [0.0, 0.4])
    np.testing.assert_array_equal(distribution.pdf(2.0), [0.375, 0.5])


def test_arguments_are_a_number_or_one_for_each_sample_or_a_table():
    distribution = BinnedDistribution([0.0, 1.0, 3.0], [[0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(distribution.cdf([0.5, 2.0]), [0.25, 0.5])
    np.testing.assert_allclose(distribution.cdf([[0.5, 2.0]]), [[0.25, 0.75], [0.0, 0.5]])
    np.testing.assert_allclose(distribution.cdf([[0.5], [2.0]]), [[0.25], [0.5]])
    assert distribution.ppf(0.5).shape == (2,)
    assert distribution.ppf(np.full((1, 5), 0.5)).shape == (2, 5)
    with pytest.raises(ArgumentError, match=r"y has shape \(3,\); pass a number, 2 numbers, or"):
        distribution.cdf([1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match=r"level=1\.5 is not a probability"):
        distribution.ppf(1.5)
    with pytest.raises(ArgumentError, match="y has NaN"):
        distribution.pdf(np.nan)
    with pytest.raises(ArgumentError, match=r"y has shape \(1,\); pass 2 values"):
        distribution.crps([1.0])


def test_rows_can_be_taken():
    distribution = BinnedDistribution([0.0, 1.0, 3.0], [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    assert len(distribution) == 3
    assert len(distribution[1]) == 1
    np.testing.assert_array_equal(distribution[[2, 0]].mean(), distribution.mean()[[2, 0]])
    assert repr(distribution) == "<BinnedDistribution of 3 samples: 2 bins from 0 to 3>"


def test_pickling_keeps_everything():
    distribution = BinnedDistribution([0.0, 1.0, 3.0], [[0.5, 0.5]])
    again = pickle.loads(pickle.dumps(distribution))
    np.testing.assert_array_equal(again.cdf(2.0), distribution.cdf(2.0))


@pytest.mark.parametrize(
    ("edges", "masses", "message"),
    [
        ([0.0, 1.0], [[0.5, 0.5]], "one edge more"),
        ([0.0, 1.0], [1.0], "one edge more"),
        ([1.0, 0.0], [[1.0]], "must not decrease"),
        ([0.0, np.nan], [[1.0]], "must be finite"),
        ([0.0, 1.0, 2.0], [[1.5, -0.5]], "must not be negative"),
        ([0.0, 1.0], [[0.9]], "sum to one"),
        ([0.0, 1.0], [[np.nan]], "sum to one"),
    ],
)
def test_a_bad_distribution_cannot_exist(edges, masses, message):
    with pytest.raises(ArgumentError, match=message):
        BinnedDistribution(edges, masses)
