"""Scores at the nodes and classes of a fitted classifier's scheme, for tree diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.parameters import Parameter
from polytomy.inputs.pipelines import split_pipeline
from polytomy.metrics import node_scores
from polytomy.scheme import Scheme

if TYPE_CHECKING:
    from polytomy.composition import Composition

__all__ = ["SCORES", "TreeScores", "score_tree"]

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


def score_tree(classifier: Any, X: Any, y: Any, score: str) -> TreeScores:
    """Return one of SCORES for the nodes and classes of a fitted classifier's scheme.

    The error rate of a class is the share of its samples that are predicted to be of another class.
    """
    _SCORE.check(score)
    core = split_pipeline(classifier)[1]
    composition: Composition | None = getattr(core, "composition_", None)
    if composition is None or not isinstance(composition.scheme, Scheme):
        raise ArgumentError(
            Argument("scheme"),
            " must be a fitted PolytomyClassifier with one scheme, or a pipeline of one, if ",
            Argument("X"),
            " and ",
            Argument("y"),
            " are given.",
        )
    (arrangement,) = composition.arrangements
    scheme = arrangement.scheme
    # The scheme may write the labels differently, so both take those of the scheme.
    known = [scheme.classes[position] for position in arrangement.positions.tolist()]
    proba = classifier.predict_proba(X)
    indices = _class_indices(y, composition.classes)
    if len(indices) != len(proba):
        raise ArgumentError(
            Argument("y"), f" has {len(indices)} labels for {len(proba)} samples of X."
        )
    truth = arrangement.positions[indices]
    predicted = arrangement.positions[np.argmax(proba, axis=1)]
    labels = [scheme.classes[position] for position in truth.tolist()]
    scores = node_scores(labels, proba, scheme, classes=known)
    of_classes = _score_classes(truth, predicted, len(scheme.classes), score)
    return TreeScores(getattr(scores, score), of_classes, SCORES[score])


def _class_indices(y: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    labels = np.asarray(y)
    indices = {label: index for index, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in indices]
    if unknown:
        raise ArgumentError(
            Argument("y"),
            f" has the label {unknown[0]!r}, which the classifier was not trained with.",
        )
    return np.array([indices[label] for label in labels.tolist()], dtype=np.intp)


def _score_classes(
    truth: NDArray[np.intp], predicted: NDArray[np.intp], n_classes: int, score: str
) -> NDArray[np.float64]:
    n_true = np.bincount(truth, minlength=n_classes).astype(np.float64)
    n_found = np.bincount(predicted, minlength=n_classes).astype(np.float64)
    n_right = np.bincount(truth[truth == predicted], minlength=n_classes).astype(np.float64)
    part, whole = {
        "error_rate": (n_true - n_right, n_true),
        "precision": (n_right, n_found),
        "recall": (n_right, n_true),
        "f_score": (2.0 * n_right, n_true + n_found),
    }[score]
    shares: NDArray[np.float64] = np.full(n_classes, np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares
