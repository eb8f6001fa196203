"""Walks down a tree: whom they ask, and that they find what asking everywhere finds."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from polytomy.banks import build_bank
from polytomy.composition import arrange, arrangement, fit_binaries
from polytomy.composition.tree_walk import follow_winners, is_walk_cheaper
from polytomy.designs import balanced_tree, random_tree
from polytomy.solvers import decode


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(240, 4, centers=6, cluster_std=3.0, random_state=0)


def trained(estimator, blobs, n_trees=1):
    X, y = blobs
    trees = [balanced_tree(6), *(random_tree(6, random_state=k) for k in range(1, n_trees))]
    wanted, arrangements = arrange(trees, np.arange(6), estimator)
    binaries = fit_binaries(wanted, X, y, 6, random_state=0)
    return build_bank(binaries), arrangements


@pytest.mark.parametrize("estimator", [SVC(), LogisticRegression(), DecisionTreeClassifier()])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_walk_finds_what_asking_everywhere_finds(estimator, n_trees, blobs, monkeypatch):
    X, _ = blobs
    bank, arrangements = trained(estimator, blobs, n_trees)
    found = []
    for walks in True, False:
        monkeypatch.setattr(arrangement, "is_walk_cheaper", lambda *_, walks=walks: walks)
        found.append(arrangement.mean_scores(arrangements, bank, X, "greedy"))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-9)


def test_a_walk_is_the_solver_on_all_answers(blobs):
    X, _ = blobs
    bank, (own,) = trained(SVC(), blobs)
    expected = decode(own.scheme, own.decisions(bank.decisions(X)), "greedy")
    found = follow_winners(own.scheme, bank, own.columns, own.signs, X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_what_shares_its_vectors_is_asked_at_once_and_what_shares_nothing_is_not(blobs):
    X, y = blobs
    hopeless = X, np.random.default_rng(0).permutation(y)  # every sample is a support vector
    for estimator, expected in (SVC(gamma=0.1), False), (DecisionTreeClassifier(), True):
        bank, (own,) = trained(estimator, hopeless)
        assert is_walk_cheaper([(own.scheme, own.columns)], bank) is expected


def test_efforts_count_inner_products(blobs):
    bank, _ = trained(SVC(gamma=0.1), blobs)
    vectors = [binary.estimator.support_vectors_ for binary in bank.binaries]
    assert bank.efforts_alone.tolist() == [len(each) for each in vectors]
    assert bank.effort == len(np.unique(np.concatenate(vectors), axis=0))
