"""Scores at the nodes of trees, counted by hand."""

import numpy as np
import pytest

from polytomy import PolytomyClassifier, SchemeEnsemble, parse
from polytomy.errors import ArgumentError
from polytomy.plots.trees import score_classifier, score_predictions

# Two features decide: which node, and which class below it.
SCHEME = parse("land {field {corn rye} forest {oak pine elm}}")
CLASSES = ["corn", "elm", "oak", "pine", "rye"]


class Known:
    """A classifier with given probabilities, in the order of the sorted classes."""

    def __init__(self, proba):
        X = np.arange(10.0)[:, np.newaxis]
        fitted = PolytomyClassifier("gaussian-nb", SCHEME, final_calibration=None)
        self.composition_ = fitted.fit(X, CLASSES * 2).composition_
        self.proba = np.array(proba)

    def predict_proba(self, X):
        return self.proba


PROBA = [
    [0.6, 0.1, 0.1, 0.1, 0.1],  # corn, as corn
    [0.2, 0.0, 0.5, 0.0, 0.3],  # corn, as oak: the node is right, the class below it is not
    [0.0, 0.3, 0.2, 0.1, 0.4],  # oak, as rye; the forest is likelier, and in it the elm
    [0.0, 0.1, 0.7, 0.1, 0.1],  # oak, as oak
]
Y = np.array(["corn", "corn", "oak", "oak"])


@pytest.mark.parametrize(
    ("score", "of_nodes", "of_classes"),
    [
        # land: row 1 has 0.5 against 0.5, and the tie goes to the field.
        ("error_rate", [0, 1 / 2, 1 / 2], [1 / 2, np.nan, 1 / 2, np.nan, np.nan]),
        ("recall", [1, 1 / 2, 1 / 2], [1 / 2, np.nan, 1 / 2, np.nan, np.nan]),
        ("precision", [1, 1 / 2, 1 / 2], [1, 0, 1 / 2, np.nan, np.nan]),
        ("f_score", [1, 1 / 2, 1 / 2], [2 / 3, 0, 1 / 2, np.nan, np.nan]),
    ],
)
def test_scores_are_shares_of_the_samples(score, of_nodes, of_classes):
    found = score_classifier(Known(PROBA), np.zeros((4, 1)), Y, score)
    np.testing.assert_allclose(found[0], of_nodes)
    # In the order of the scheme: corn rye oak pine elm.
    np.testing.assert_allclose(found[1], of_classes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (SCHEME, [[0.0]], ["corn"], "recall"),
            "estimator must be a fitted PolytomyClassifier, or",
        ),
        ((Known(PROBA), [[0.0]], Y, "recal"), 'Did you mean "recall"'),
        ((Known(PROBA), [[0.0]], ["corn", "fir"], "recall"), "y has the label 'fir', which the cl"),
        ((Known(PROBA), [[0.0]], ["corn"], "recall"), "y has 1 label for 4 samples of X"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        score_classifier(*arguments)


def test_a_weight_counts_as_so_many_copies():
    weighted = score_predictions(
        Y, PROBA, SCHEME, "error_rate", classes=CLASSES, sample_weight=[1, 3, 2, 1]
    )
    rows = np.repeat(np.arange(4), [1, 3, 2, 1])
    copied = score_predictions(
        Y[rows], np.array(PROBA)[rows], SCHEME, "error_rate", classes=CLASSES
    )
    np.testing.assert_allclose(weighted[0], copied[0])
    np.testing.assert_allclose(weighted[1], copied[1])


def test_an_ensemble_has_no_single_tree():
    members = SchemeEnsemble([parse("m {a n {b c}}"), parse("m {n {a b} c}")])
    X = np.arange(12.0)[:, np.newaxis]
    classifier = PolytomyClassifier("gaussian-nb", members, final_calibration=None)
    classifier.fit(X, ["a", "b", "c"] * 4)
    with pytest.raises(ArgumentError, match=r"estimator has an ensemble of 2 schemes\. Draw one"):
        score_classifier(classifier, X, ["a", "b", "c"] * 4, "recall")
