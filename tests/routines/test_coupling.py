"""The compiled routine of the Markov chain agrees with the reference routine."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.routines.compiled import coupling as compiled
from polytomy.routines.reference import coupling as reference
from solver_strategies import answers

TWINS = [reference, compiled]


@given(st.integers(1, 6), st.data())
@settings(max_examples=50, deadline=None)
def test_twins_find_the_same_stationary_distribution(n_classes: int, data: st.DataObject) -> None:
    first, second = np.triu_indices(n_classes, 1)
    r = data.draw(answers(len(first), n_samples=3, hard=True, gaps=True))
    results = [twin.stationary_distribution(first, second, r, n_classes) for twin in TWINS]
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("twin", TWINS)
def test_a_chain_of_two_closed_sets_is_mixed_by_least_norm(twin: ModuleType) -> None:
    # 0 and 1 beat 2 for certain and each other half the time; 3 is compared with none.
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    p = twin.stationary_distribution(first, second, np.array([[0.0, 1.0, 1.0]]), 4)
    # Squared norms 1/2 and 1: the masses are as 2 to 1.
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 0, 1 / 3]], atol=1e-15)


@pytest.mark.parametrize("twin", TWINS)
def test_the_distribution_is_stationary(twin: ModuleType) -> None:
    first, second = np.triu_indices(5, 1)
    r = np.random.default_rng(0).uniform(-1, 1, (20, len(first)))
    for p, answered in zip(twin.stationary_distribution(first, second, r, 5), r, strict=True):
        rates = np.zeros((5, 5))  # from a row's class to a column's
        rates[second, first] = (1 + answered) / 2
        rates[first, second] = (1 - answered) / 2
        np.testing.assert_allclose(p @ rates, p * rates.sum(axis=1), rtol=0, atol=1e-14)
        assert p.sum() == pytest.approx(1)


@pytest.mark.parametrize("twin", TWINS)
def test_no_samples_give_no_rows(twin: ModuleType) -> None:
    first, second = np.triu_indices(3, 1)
    assert twin.stationary_distribution(first, second, np.empty((0, 3)), 3).shape == (0, 3)
