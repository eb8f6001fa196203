"""Batches: training a binary further."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from polytomy.errors import ArgumentError
from polytomy.learners.any_estimator import update_binary
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.trained import Output


def batches(seed=0):
    """Data in two batches; the first has only samples of the −1 side."""
    rng = np.random.default_rng(seed)
    side = np.repeat([-1, 1], [12, 8])
    X = rng.normal(size=(20, 2)) + side[:, np.newaxis]
    first = BinaryProblem("p", np.arange(10), side[:10] > 0)
    second = BinaryProblem("p", np.arange(10, 20), side[10:] > 0)
    return X, side, first, second


def test_two_batches_train_like_all_the_data():
    X, side, first, second = batches()
    binary = update_binary(None, GaussianNB(), X, first)
    binary = update_binary(binary, GaussianNB(), X, second)
    whole = GaussianNB().fit(X, side)
    np.testing.assert_allclose(binary.decisions(X), 2 * whole.predict_proba(X)[:, 1] - 1)


@pytest.mark.parametrize("ending", [KeyboardInterrupt, ValueError])
def test_a_batch_that_does_not_end_leaves_the_binary_as_it_was(ending):
    class Stumbling(SGDClassifier):
        """Learns the batch, and does not return if it has samples of both sides."""

        def partial_fit(self, X, y, classes=None):
            super().partial_fit(X, y, classes)
            if len(set(y)) == 2:
                raise ending

    X, _, first, second = batches()
    binary = update_binary(None, Stumbling(), X, first, random_state=0)
    before = binary.scores(X)
    with pytest.raises(ending):
        update_binary(binary, Stumbling(), X, second)
    np.testing.assert_array_equal(binary.scores(X), before)


def test_weights_and_seed_reach_partial_fit():
    X, side, first, _ = batches()
    weight = np.random.default_rng(1).integers(0, 3, size=20)
    binary = update_binary(None, SGDClassifier(), X, first, random_state=4, sample_weight=weight)
    rows = first.rows[weight[first.rows] > 0]
    plain = SGDClassifier(random_state=binary.estimator.random_state)
    plain.partial_fit(X[rows], side[rows], classes=[-1, 1], sample_weight=weight[rows])
    np.testing.assert_allclose(binary.scores(X), plain.decision_function(X))
    assert binary.output is Output.MARGIN


def test_a_batch_without_samples_changes_nothing():
    X, _, first, _ = batches()
    nothing = first.keep(np.zeros(10, dtype=bool))
    undecided = update_binary(None, GaussianNB(), X, nothing)
    np.testing.assert_array_equal(undecided.decisions(X), 0)
    trained = update_binary(undecided, GaussianNB(), X, first)
    assert update_binary(trained, GaussianNB(), X, nothing) is trained


def test_an_estimator_without_partial_fit_is_refused():
    X, _, first, _ = batches()
    with pytest.raises(ArgumentError) as caught:
        update_binary(None, SVC(), X, first)
    assert str(caught.value) == (
        "SVC() has no partial_fit. Use fit, or an estimator such as SGDClassifier()."
    )
