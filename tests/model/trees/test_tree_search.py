"""The likeliest classes of a tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.calibration.final import BiasMap, clip_decisions
from polytomy.designs import random_tree
from polytomy.model.trees import TreeSearch, sort_best
from polytomy.solvers import solve

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 30), st.integers(1, 5))
def test_the_best_scores_are_those_of_a_stable_sort(seed: int, n_scores: int, k: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 6, size=(20, n_scores)) / 6.0
    k = min(k, n_scores)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(sort_best(scores, k), expected)


def ask_tree(seed: int, n_classes: int, final: BiasMap | None = None) -> tuple:
    rng = np.random.default_rng(seed)
    scheme = random_tree(n_classes, random_state=seed)
    odds = rng.normal(scale=3.0, size=(15, scheme.n_partitions))
    class_at = np.array(scheme.classes, dtype=np.intp)
    decisions = np.tanh(odds / 2)
    answers = decisions if final is None else clip_decisions(decisions)
    by_position = solve(scheme, answers)
    probabilities = np.empty_like(by_position)
    probabilities[:, class_at] = by_position
    if final is not None:
        probabilities = final.apply(probabilities, answers)
    search = TreeSearch(scheme, class_at, final)
    return search, lambda samples, nodes: odds[samples, nodes], probabilities


@given(seeds, st.integers(2, 40), st.integers(1, 6))
def test_the_search_without_a_beam_is_exact(seed: int, n_classes: int, k: int) -> None:
    search, log_odds, probabilities = ask_tree(seed, n_classes)
    k = min(k, n_classes)
    classes, found = search.best(log_odds, 15, k)
    expected = np.sort(probabilities, axis=1)[:, ::-1][:, :k]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(probabilities, classes, 1), found, rtol=1e-9)


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.4])
@given(seed=seeds, n_classes=st.integers(2, 30))
def test_a_beam_as_wide_as_the_tree_is_exact_with_a_final_calibration(
    scale: float, seed: int, n_classes: int
) -> None:
    bias = np.random.default_rng(seed).normal(size=n_classes)
    search, log_odds, probabilities = ask_tree(seed, n_classes, BiasMap(scale, 0.01, bias))
    k = min(3, n_classes)
    classes, found = search.beam(log_odds, 15, k, n_classes)
    expected = np.sort(probabilities, axis=1)[:, ::-1][:, :k]
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_allclose(np.take_along_axis(probabilities, classes, 1), found, rtol=1e-7)


@given(seeds, st.integers(5, 40))
def test_a_narrow_beam_finds_classes_with_their_own_probabilities(
    seed: int, n_classes: int
) -> None:
    search, log_odds, probabilities = ask_tree(seed, n_classes)
    classes, found = search.beam(log_odds, 15, 3, 1)
    np.testing.assert_allclose(np.take_along_axis(probabilities, classes, 1), found, rtol=1e-9)
    assert (np.diff(found, axis=1) <= 0).all()
    assert all(len(set(row)) == 3 for row in classes.tolist())


@given(seeds, st.integers(5, 40))
def test_a_beam_guesses_probabilities_that_are_not_above_one(seed: int, n_classes: int) -> None:
    bias = np.random.default_rng(seed).normal(size=n_classes)
    search, log_odds, _ = ask_tree(seed, n_classes, BiasMap(0.8, 0.02, bias))
    _, found = search.beam(log_odds, 15, 3, 3)
    assert (found >= 0).all()
    assert (found.sum(axis=1) <= 1 + 1e-12).all()
