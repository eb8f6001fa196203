"""Paired comparisons and ranks, against values computed by hand and by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from polytomy.errors import ArgumentError
from polytomy.trials import compare_pairs, rank_methods

values = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=8)


def signed_rank_p(differences):
    """Return the two-sided p-value of the signed-rank test, over all signs."""
    ranks = stats.rankdata(np.abs(differences))
    observed = ranks[np.array(differences) > 0].sum()
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product([False, True], repeat=len(ranks))
    ]
    lower = np.mean([each <= observed for each in sums])
    upper = np.mean([each >= observed for each in sums])
    return min(1.0, 2 * min(lower, upper))


nonzero = st.integers(1, 50).flatmap(lambda size: st.sampled_from([size, -size]))


@given(
    st.one_of(
        st.lists(nonzero, min_size=1, max_size=8, unique_by=abs),
        st.lists(st.sampled_from([-3, -2, -1, 1, 2, 3]), min_size=1, max_size=8),  # with ties
    )
)
def test_the_p_value_equals_that_of_enumerating_all_signs(differences):
    found = compare_pairs(differences, np.zeros(len(differences)), largest_is_best=True)
    assert found.p_value == pytest.approx(signed_rank_p(differences))


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("n_splits", [7, 13, 14, 30])
def test_the_p_value_equals_that_of_scipy(n_splits, has_ties):
    differences = np.random.default_rng(n_splits).normal(0.5, size=n_splits)
    if has_ties:
        differences = np.trunc(2 * differences) + 0.5
    found = compare_pairs(differences, np.zeros(n_splits), largest_is_best=True)
    # Each way to choose signs is one of 8,192 at most, which SciPy lists.
    assert found.p_value == pytest.approx(stats.wilcoxon(differences).pvalue, rel=1e-12)


def test_ten_of_ten_splits():
    found = compare_pairs(np.arange(1, 11), np.zeros(10), largest_is_best=False)
    # Both ways of all signs alike, of 1024.
    assert found == (10, 0, 0, 10, 5.5, pytest.approx(2 / 1024))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_swapping_the_two_swaps_wins_and_losses(pairs):
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    found = compare_pairs(one, other, largest_is_best=True)
    swapped = compare_pairs(other, one, largest_is_best=True)
    assert found.wins == sum(a > b for a, b in pairs)
    assert (found.wins, found.ties, found.losses) == (swapped.losses, swapped.ties, swapped.wins)
    assert found.p_value == pytest.approx(swapped.p_value)


def test_splits_without_both_values_do_not_count():
    found = compare_pairs([1.0, np.nan, 3.0], [0.0, 0.0, np.nan], largest_is_best=True)
    assert found[:4] == (1, 1, 0, 0)
    nothing = compare_pairs([np.nan], [1.0], largest_is_best=True)
    assert (nothing.n_splits, nothing.p_value) == (0, 1.0)
    assert np.isnan(nothing.mean_difference)


def test_values_of_different_splits_are_an_error():
    with pytest.raises(ArgumentError, match="cannot be compared split by split"):
        compare_pairs([1.0], [1.0, 2.0], largest_is_best=True)


def test_the_critical_difference_of_demsar():
    # Demšar 2006, section 3.2.2: four classifiers on fourteen datasets, q = 2.569.
    table = np.random.default_rng(0).normal(size=(14, 4))
    found = rank_methods(table, largest_is_best=True)
    assert found.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), rel=1e-3)
    chi_square = 12 * 14 / (4 * 5) * (np.sum(found.mean_ranks**2) - 4 * 5**2 / 4)
    assert found.p_value == pytest.approx(stats.chi2.sf(chi_square, 3))


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=2)
    )
)
def test_ranks_sum_to_a_constant_and_reverse_with_the_direction(rows):
    n_methods = len(rows[0])
    found = rank_methods(rows, largest_is_best=True)
    assert found.mean_ranks.sum() == pytest.approx(n_methods * (n_methods + 1) / 2)
    turned = rank_methods(rows, largest_is_best=False)
    np.testing.assert_allclose(found.mean_ranks + turned.mean_ranks, n_methods + 1)


def test_identical_methods_share_ranks_and_have_p_value_one():
    found = rank_methods(np.ones((3, 3)), largest_is_best=True)
    assert found.p_value == 1.0
    assert found.mean_ranks.tolist() == [2, 2, 2]


@pytest.mark.parametrize("table", [np.ones((1, 3)), np.ones((3, 1)), [[1, 2], [np.nan, 1]]])
def test_too_few_values_to_rank_are_an_error(table):
    with pytest.raises(
        ArgumentError, match="Ranking needs finite values for at least two datasets"
    ):
        rank_methods(table, largest_is_best=True)
