"""Scores of distributions of a number, against numerical integration and closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.metrics import mean_pinball_loss

from polytomy import metrics
from polytomy.errors import ArgumentError
from polytomy.metrics.continuous import crps_of_bins
from polytomy.regression import BinnedDistribution


@st.composite
def binned_distributions(draw):
    """A row of edges, some of them repeated, masses, some of them zero, and a true value."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_bins = draw(st.integers(1, 6))
    edges = np.sort(rng.integers(0, 8, n_bins + 1) + rng.choice([0.0, 0.25], n_bins + 1))
    masses = rng.dirichlet(np.full(n_bins, 0.5)) * rng.choice([0.0, 1.0], n_bins)
    masses[rng.integers(n_bins)] += 0.1
    y = draw(st.one_of(st.floats(-3, 12), st.sampled_from(edges.tolist())))
    return edges, masses / masses.sum(), y


def integrate_crps(edges, masses, y):
    """∫ (F(z) − [z ≥ y])² dz, with F summed up bin by bin."""

    def distribution_function(z):
        total = 0.0
        for low, high, mass in zip(edges[:-1], edges[1:], masses, strict=True):
            total += mass * (z >= low if high == low else np.clip((z - low) / (high - low), 0, 1))
        return total

    knots = np.unique([*edges, y])
    return sum(
        integrate.fixed_quad(  # exact for polynomials of degree 3
            np.vectorize(lambda z: (distribution_function(z) - (z >= y)) ** 2), low, high, n=2
        )[0]
        for low, high in pairwise(knots)
    )


class TestCrps:
    @given(binned_distributions())
    @settings(deadline=None)
    def test_equals_the_integral(self, case):
        edges, masses, y = case
        assert metrics.crps([y], edges, masses) == pytest.approx(
            integrate_crps(edges, masses, y), abs=1e-10
        )

    @given(binned_distributions(), st.integers(0, 99))
    @settings(deadline=None, max_examples=50)
    def test_is_the_expected_distance_to_the_truth_minus_half_that_between_draws(self, case, seed):
        edges, masses, y = case
        rng = np.random.default_rng(seed)
        n_draws = 40_000
        bins = rng.choice(len(masses), size=(2, n_draws), p=masses)
        draws = edges[bins] + rng.random((2, n_draws)) * np.diff(edges)[bins]
        expected = np.abs(draws - y).mean() - np.abs(draws[0] - draws[1]).mean() / 2
        error = 6 * np.ptp([*edges, y]) / np.sqrt(n_draws)
        assert metrics.crps([y], edges, masses) == pytest.approx(expected, abs=error + 1e-12)

    def test_fine_bins_score_as_the_normal_distribution(self):
        edges = np.linspace(-9, 9, 2001)
        masses = np.diff(stats.norm.cdf(edges))
        y = np.array([-2.0, 0.0, 0.7])
        # Gneiting and Raftery (2007), equation (20)
        exact = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)
        scores = crps_of_bins(y, edges, masses / masses.sum())
        np.testing.assert_allclose(scores, exact, atol=1e-5)

    def test_a_certain_prediction_scores_its_absolute_error(self):
        assert metrics.crps([3.0, -1.0], [2.0, 2.0], [1.0]) == pytest.approx((1 + 3) / 2)

    def test_each_sample_can_have_edges_of_its_own(self):
        own = metrics.crps([0.5, 4.0], [[0, 1], [2, 4]], [1.0])
        one_by_one = [metrics.crps([0.5], [0, 1], [1.0]), metrics.crps([4.0], [2, 4], [1.0])]
        assert own == pytest.approx(np.mean(one_by_one))

    def test_a_weight_counts_as_copies(self):
        rng = np.random.default_rng(0)
        y, masses = rng.random(5), rng.dirichlet(np.ones(3), 5)
        weight = np.array([1, 0, 2, 3, 1])
        repeated = metrics.crps(y.repeat(weight), [0, 0.2, 0.7, 1], masses.repeat(weight, axis=0))
        weighted = metrics.crps(y, [0, 0.2, 0.7, 1], masses, sample_weight=weight)
        assert weighted == pytest.approx(repeated, rel=1e-12)

    def test_a_distribution_can_be_passed_as_it_is(self):
        distribution = BinnedDistribution([0, 1, 3], [[0.25, 0.75]])
        expected = metrics.crps([2.0], [0, 1, 3], [[0.25, 0.75]])
        assert metrics.crps([2.0], distribution) == expected
        np.testing.assert_allclose(distribution.crps([2.0]), [expected])

    def test_blocks_of_samples_do_not_change_the_scores(self, monkeypatch):
        rng = np.random.default_rng(0)
        y, masses = rng.random(50), rng.dirichlet(np.ones(7), 50)
        edges = np.linspace(0, 1, 8)
        whole = crps_of_bins(y, edges, masses)
        monkeypatch.setattr("polytomy.metrics.continuous._BLOCK_ENTRIES", 20)
        np.testing.assert_array_equal(crps_of_bins(y, edges, masses), whole)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1.0], [0, 1]), "masses is missing"),
            (([1.0, np.nan], [0, 1], [1.0]), r"y\[1\] is nan"),
            (([1.0], [0, 1], [[1.0, 0.0]]), "2 masses need 3 edges; got 2"),
            (([1.0], [1, 0], [1.0]), "must not decrease"),
            (([1.0], [0, np.inf], [1.0]), "must be finite"),
            (([1.0], [0, 1, 2], [1.5, -0.5]), "not negative"),
            (([1.0], [0, 1], [0.5]), "sum to one"),
            (([1.0], [[0, 1], [0, 1]], [1.0]), r"edges has shape \(2, 2\)"),
            (([[1.0]], [0, 1], [1.0]), r"y has shape \(1, 1\)"),
            ((["a"], [0, 1], [1.0]), "y cannot be read as an array of numbers"),
            (([1.0], ["a", "b"], [1.0]), "edges cannot be read as an array of numbers"),
            (([], [0, 1], [1.0]), "y is empty"),
        ],
    )
    def test_bad_arguments_are_refused(self, arguments, message):
        with pytest.raises(ArgumentError, match=message):
            metrics.crps(*arguments)


class TestCrpsOfSamples:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 8))
    @settings(deadline=None)
    def test_is_the_distance_to_the_truth_minus_half_that_between_samples(self, seed, n_draws):
        rng = np.random.default_rng(seed)
        y, draws = rng.normal(size=4), rng.normal(size=(4, n_draws)).round(1)
        pairs = np.abs(draws[:, :, np.newaxis] - draws[:, np.newaxis])
        expected = np.abs(draws - y[:, np.newaxis]).mean() - pairs.mean(axis=(1, 2)).mean() / 2
        assert metrics.crps_of_samples(y, draws) == pytest.approx(expected, abs=1e-12)

    def test_the_wrong_number_of_rows_is_refused(self):
        with pytest.raises(ArgumentError, match="2 samples need one row each"):
            metrics.crps_of_samples([1.0, 2.0], [[1.0, 2.0]])


class TestQuantileLoss:
    @given(st.integers(0, 2**32 - 1))
    @settings(deadline=None)
    def test_is_the_mean_of_pinball_losses_of_scikit_learn(self, seed):
        rng = np.random.default_rng(seed)
        y, quantiles, levels = rng.normal(size=6), rng.normal(size=(6, 3)), rng.random(3)
        weight = rng.random(6)
        expected = np.mean(
            [
                mean_pinball_loss(y, quantiles[:, k], alpha=levels[k], sample_weight=weight)
                for k in range(3)
            ]
        )
        found = metrics.quantile_loss(y, quantiles, levels, sample_weight=weight)
        assert found == pytest.approx(expected, rel=1e-9)

    def test_the_mean_over_all_levels_is_half_the_crps(self):
        distribution = BinnedDistribution([0.0, 1.0, 1.0, 4.0], [[0.2, 0.3, 0.5]])
        levels = (np.arange(20_000) + 0.5) / 20_000
        loss = metrics.quantile_loss([1.7], distribution.ppf(levels[np.newaxis]), levels)
        assert 2 * loss == pytest.approx(metrics.crps([1.7], distribution), rel=1e-6)

    def test_a_level_without_a_column_is_refused(self):
        with pytest.raises(ArgumentError, match="1 columns, but levels has 2 levels"):
            metrics.quantile_loss([1.0], [[1.0]], [0.1, 0.9])


class TestIntervalCoverage:
    def test_counts_weights_of_values_inside_or_at_an_end(self):
        intervals = [[0, 1], [0, 1], [-np.inf, np.inf], [2, 3]]
        weight = [1, 1, 1, 5]
        assert metrics.interval_coverage([1, 1.5, 9, 0], intervals) == 0.5
        assert metrics.interval_coverage([1, 1.5, 9, 0], intervals, sample_weight=weight) == 0.25

    def test_other_than_two_ends_are_refused(self):
        with pytest.raises(ArgumentError, match="has 3 columns; pass two"):
            metrics.interval_coverage([1.0], [[0, 1, 2]])
