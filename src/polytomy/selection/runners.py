"""What runs in a race: candidates, what all of them have in common, and their results so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import take_columns, take_rows
from polytomy.learners.preparation import takes_pairwise_values
from polytomy.learners.workload import TrainingOptions
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import Candidate

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]
"""The rows to train on, and the held-out rows."""

# A candidate is dropped when it loses to the best by this many standard errors of the difference,
# which happens by chance once in seven hundred times.
_CLEAR_LOSS = 3.0
# With fewer samples than this, no candidate is dropped.
_LEAST_SAMPLES = 30


@dataclass(frozen=True, slots=True, eq=False)
class RaceSetup:
    """What all candidates of a race have in common: the data, and how binaries are trained.

    Attributes
    ----------
    X, y : the data, checked
    estimator : the two-class estimator
    training : TrainingOptions, for all rows
    models, class_order : as in the classifier; there is no warning if a candidate needs an order
    """

    X: Any
    y: NDArray[Any]
    estimator: Any
    training: TrainingOptions
    models: Mapping[str, Any] | None = None
    class_order: Sequence[Any] | None = None

    @property
    def sample_weight(self) -> Floats:
        """The weight of each sample; ones if there are none."""
        return check_weights(self.training.arguments.given_weight, len(self.y))

    def samples(self, rows: Rows, training_rows: Rows) -> Any:
        """Return some samples; for a kernel matrix, with the columns of the training samples."""
        X = take_rows(self.X, rows)
        return take_columns(X, training_rows) if takes_pairwise_values(self.estimator) else X


class FoldResult(NamedTuple):
    """What a candidate did on one fold.

    Attributes
    ----------
    scores : the value of each metric by name; NaN where it does not apply
    losses : the losses to compare with other candidates: one per sample, or one for the fold
    weight : the weight of each loss
    fit_seconds, predict_seconds : float, as if this had been the only candidate
    n_binaries, n_training_samples : int, of its scheme
    rows : array of shape (n_judged,), the held-out rows that it was judged on
    probabilities : array of shape (n_judged, n_classes), if they are kept for a pool
    """

    scores: Mapping[str, float]
    losses: Floats
    weight: Floats
    fit_seconds: float
    predict_seconds: float
    n_binaries: int
    n_training_samples: int
    rows: Any = None
    probabilities: Any = None


@dataclass(eq=False)
class Runner:
    """A candidate and its results so far.

    Attributes
    ----------
    candidate : Candidate
    folds : what it did on each fold
    reason : why it was dropped; empty if it was not
    error : the error of its training or prediction, if it failed
    """

    candidate: Candidate
    folds: list[FoldResult] = field(default_factory=list)
    reason: str = ""
    error: Exception | None = None

    @property
    def n_folds(self) -> int:
        """Number of folds it was measured on."""
        return len(self.folds)

    @property
    def is_measured(self) -> bool:
        """Whether it has a loss that can be compared with others."""
        return bool(self.folds) and all(np.isfinite(each.losses).all() for each in self.folds)


Entry = tuple[Runner, Scheme | SchemeEnsemble]


def mean_and_error(gaps: Floats, weight: Floats) -> tuple[float, float]:
    """Return the mean of the differences between losses, and its standard error."""
    mean = float(np.average(gaps, weights=weight))
    spread = np.sqrt(np.sum((weight * (gaps - mean)) ** 2))
    return mean, float(spread / weight.sum())


def is_clear_loss(gap: float, error: float, n_values: int) -> bool:
    """Return whether a candidate is dropped for its loss minus that of the best."""
    return n_values >= _LEAST_SAMPLES and gap > _CLEAR_LOSS * error
