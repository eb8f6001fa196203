"""Walks down a tree: the answers of asking every node, from the nodes on the path alone."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from polytomy.designs import balanced_tree, random_tree
from polytomy.learners.workload import TrainingOptions
from polytomy.model import composition
from polytomy.model.arrangement import is_walk_cheaper, walk_down_tree
from polytomy.model.fitting import TrainedBinaries, fit_binaries, plan_training
from polytomy.scheme import SchemeEnsemble
from polytomy.solvers import decode


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(240, 4, centers=6, cluster_std=3.0, random_state=0)


def trained(estimator, blobs, n_trees=1):
    """Return the composition of one tree, or of an ensemble of several."""
    X, y = blobs
    trees = [balanced_tree(6), *(random_tree(6, random_state=k) for k in range(1, n_trees))]
    scheme = trees[0] if n_trees == 1 else SchemeEnsemble(trees)
    plan = plan_training([scheme], np.arange(6), estimator)
    options = TrainingOptions(random_state=0).of_labels(y)
    binaries = fit_binaries(plan.dichotomies, X, options).binaries
    return plan.compose(TrainedBinaries(binaries), "greedy")


@pytest.mark.parametrize("estimator", [SVC(), LogisticRegression(), DecisionTreeClassifier()])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_walk_gives_the_scores_of_asking_every_node(estimator, n_trees, blobs, monkeypatch):
    X, _ = blobs
    fitted = trained(estimator, blobs, n_trees)
    found = []
    for walks in True, False:
        monkeypatch.setattr(composition, "is_walk_cheaper", lambda *_, walks=walks: walks)
        found.append(fitted.scores(X))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-9)


def test_a_walk_is_the_greedy_solver(blobs):
    X, _ = blobs
    fitted = trained(SVC(), blobs)
    (own,) = fitted.arrangements
    expected = decode(own.scheme, own.decisions(fitted.bank.decisions(X)), "greedy")
    found = walk_down_tree(own.scheme, fitted.bank, own.columns, own.signs, X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_binaries_that_share_vectors_are_asked_at_once_and_others_are_not(blobs):
    X, y = blobs
    hopeless = X, np.random.default_rng(0).permutation(y)  # every sample is a support vector
    for estimator, expected in (SVC(gamma=0.1), False), (DecisionTreeClassifier(), True):
        fitted = trained(estimator, hopeless)
        (own,) = fitted.arrangements
        assert is_walk_cheaper([(own.scheme, own.columns)], fitted.bank) is expected


def test_efforts_count_inner_products(blobs):
    bank = trained(SVC(gamma=0.1), blobs).bank
    vectors = [binary.estimator.support_vectors_ for binary in bank.binaries]
    assert bank.efforts_alone.tolist() == [len(each) for each in vectors]
    assert bank.effort == len(np.unique(np.concatenate(vectors), axis=0))
