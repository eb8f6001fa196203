"""Scores at the nodes and classes of a scheme, for tree diagrams."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.inputs.arguments import Parameter
from polytomy.metrics import node_scores
from polytomy.metrics.judged_samples import check_judged_samples
from polytomy.plots.fitted import ask_probabilities, find_class_indices, find_fitted, scheme_of
from polytomy.scheme import Scheme

__all__ = ["SCORES", "TreeScores", "score_classifier", "score_predictions"]

SCORES = {
    "error_rate": "error rate",
    "precision": "precision",
    "recall": "recall",
    "f_score": "F score",
}
"""What can be shown at the nodes of a tree, and its title."""

_SCORE = Parameter("score", choices=tuple(SCORES))


class TreeScores(NamedTuple):
    """One score of each node and of each class of a scheme; NaN where there are no samples."""

    of_nodes: NDArray[np.float64]
    of_classes: NDArray[np.float64]
    title: str


def score_classifier(
    estimator: Any, X: Any, y: ArrayLike, score: str, sample_weight: ArrayLike | None = None
) -> TreeScores:
    """Return one of SCORES for the nodes and classes of a fitted classifier's scheme."""
    _SCORE.check(score)
    scheme_of(estimator)  # raises an error for ensembles
    composition = find_fitted(estimator).composition
    (arrangement,) = composition.arrangements
    proba = ask_probabilities(estimator, X)
    # The scheme may spell the labels differently, so its labels are used for all.
    known = [arrangement.scheme.classes[place] for place in arrangement.positions.tolist()]
    indices = find_class_indices(y, composition.classes, len(proba))
    labels = [known[index] for index in indices.tolist()]
    return score_predictions(
        labels, proba, arrangement.scheme, score, classes=known, sample_weight=sample_weight
    )


def score_predictions(
    y: Any,
    proba: ArrayLike,
    scheme: Scheme,
    score: str,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> TreeScores:
    """Return one of SCORES for the nodes and classes of a scheme, from probabilities.

    The error rate of a class is the share of its samples that are predicted as another class.
    """
    _SCORE.check(score)
    scores = node_scores(y, proba, scheme, classes=classes, sample_weight=sample_weight)
    judged = check_judged_samples(y, proba, classes, sample_weight)
    places = np.array([scheme.classes.index(label) for label in judged.classes])
    predicted = places[np.argmax(judged.proba, axis=1)]
    of_classes = _score_classes(
        places[judged.truth], predicted, judged.weight, len(scheme.classes), score
    )
    return TreeScores(getattr(scores, score), of_classes, SCORES[score])


def _score_classes(
    truth: NDArray[np.intp],
    predicted: NDArray[np.intp],
    weight: NDArray[np.float64],
    n_classes: int,
    score: str,
) -> NDArray[np.float64]:
    is_right = truth == predicted
    n_true = np.bincount(truth, weight, n_classes)
    n_found = np.bincount(predicted, weight, n_classes)
    n_right = np.bincount(truth[is_right], weight[is_right], n_classes)
    part, whole = {
        "error_rate": (n_true - n_right, n_true),
        "precision": (n_right, n_found),
        "recall": (n_right, n_true),
        "f_score": (2.0 * n_right, n_true + n_found),
    }[score]
    shares: NDArray[np.float64] = np.full(n_classes, np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares
