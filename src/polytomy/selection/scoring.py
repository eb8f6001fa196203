"""Scores by which candidates are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy import metrics
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean

__all__ = ["SCORES", "Judged", "Score", "find_score"]

Floats = NDArray[np.float64]


class Judged(NamedTuple):
    """Held-out samples and what was predicted for them.

    Attributes
    ----------
    y : array of true labels
    scores : array of shape (n_samples, n_classes), probabilities or other scores
    winners : array of int, the index of each predicted class
    classes : array of labels
    weight : array of sample weights, optional
    """

    y: NDArray[Any]
    scores: Floats
    winners: NDArray[np.intp]
    classes: NDArray[Any]
    weight: Floats | None

    @property
    def predicted(self) -> NDArray[Any]:
        """The predicted labels."""
        labels: NDArray[Any] = self.classes[self.winners]
        return labels


class Score(NamedTuple):
    """A score for candidates.

    Attributes
    ----------
    name : str
    measure : from held-out samples to a number
    greater_is_better : bool
    needs_probabilities : whether it cannot be used for votes and other scores
    losses : from held-out samples to one loss each, whose mean ranks candidates as the score
        does; None if the score is not such a mean
    """

    name: str
    measure: Callable[[Judged], float]
    greater_is_better: bool = False
    needs_probabilities: bool = True
    losses: Callable[[Judged], Floats] | None = None


def _of_probabilities(metric: Callable[..., float]) -> Callable[[Judged], float]:
    def measure(judged: Judged) -> float:
        return metric(judged.y, judged.scores, judged.classes, sample_weight=judged.weight)

    return measure


def _accuracy(judged: Judged) -> float:
    return float(np.average(judged.predicted == judged.y, weights=judged.weight))


def _uncertainty_coefficient(judged: Judged) -> float:
    return metrics.uncertainty_coefficient(judged.y, judged.predicted, sample_weight=judged.weight)


def _surprises(judged: Judged) -> Floats:
    of_truth = judged.scores[_is_truth(judged)]
    return np.asarray(-np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)))


def _surprises_at_prediction(judged: Judged) -> Floats:
    """Return −log P(truth | prediction), with the frequencies among these samples.

    Its mean is the entropy of the true class given the predicted one: the entropy of the true
    class, which all candidates share, times one minus the uncertainty coefficient.
    """
    truth = np.argmax(_is_truth(judged), axis=1)
    predicted = judged.winners
    n_classes = len(judged.classes)
    joint = np.zeros((n_classes, n_classes))
    np.add.at(joint, (truth, predicted), 1.0 if judged.weight is None else judged.weight)
    among = joint[truth, predicted] / joint.sum(axis=0)[predicted]
    # A prediction may occur only in samples of weight zero.
    return np.asarray(-np.log(np.where(np.isnan(among) | (among <= 0), 1.0, among)))


def _joint_surprises(judged: Judged) -> Floats:
    return _surprises(judged) + _surprises_at_prediction(judged)


def _joint_log_loss(judged: Judged) -> float:
    return float(np.average(_joint_surprises(judged), weights=judged.weight))


def _squared_errors(judged: Judged) -> Floats:
    return np.asarray(np.sum((judged.scores - _is_truth(judged)) ** 2, axis=1))


def _errors(judged: Judged) -> Floats:
    return np.asarray(judged.predicted != judged.y, dtype=np.float64)


def _is_truth(judged: Judged) -> NDArray[np.bool_]:
    return np.asarray(judged.y[:, np.newaxis] == judged.classes)


SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score("log_loss", _of_probabilities(metrics.log_loss), losses=_surprises),
        Score("brier_score", _of_probabilities(metrics.brier_score), losses=_squared_errors),
        Score("winner_brier_score", _of_probabilities(metrics.winner_brier_score)),
        Score(
            "classwise_calibration_error", _of_probabilities(metrics.classwise_calibration_error)
        ),
        Score(
            "uncertainty_coefficient",
            _uncertainty_coefficient,
            greater_is_better=True,
            needs_probabilities=False,
            losses=_surprises_at_prediction,
        ),
        # Uncertainty about the class given the probabilities, plus that given the prediction.
        Score("joint_log_loss", _joint_log_loss, losses=_joint_surprises),
        Score(
            "accuracy",
            _accuracy,
            greater_is_better=True,
            needs_probabilities=False,
            losses=_errors,
        ),
    )
}


def find_score(name: str) -> Score:
    """Return the score with this name; an ArgumentError lists the names.

    Examples
    --------
    >>> find_score("accuracy").losses(Judged(
    ...     np.array(["a", "b"]), np.eye(2)[[0, 0]], np.array([0, 0]), np.array(["a", "b"]), None
    ... ))
    array([0., 1.])
    """
    if not isinstance(name, str) or name not in SCORES:
        raise ArgumentError(
            Argument("scoring"),
            f" must be one of {', '.join(SCORES)}; got {name!r}.{did_you_mean(name, SCORES)}",
        )
    return SCORES[name]
