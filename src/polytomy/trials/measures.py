"""What a trial measures, and the title of each measure in tables."""

from __future__ import annotations

from typing import Literal, NamedTuple

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean

__all__ = ["MEASURES", "Measure", "find_measure"]


class Measure(NamedTuple):
    """A number that each trial records for each pair.

    Attributes
    ----------
    name : key in files
    title : heading of its table
    best : which value is best, "largest" or "smallest"; None if neither is
    of_scheme : whether all methods of a configuration share the value
    counts_calibration : whether a final calibration adds to the value, so that methods with one
        do not share it
    """

    name: str
    title: str
    best: Literal["largest", "smallest"] | None = "smallest"
    of_scheme: bool = False
    counts_calibration: bool = False


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("uncertainty_coefficient", "Uncertainty coefficient", "largest"),
        Measure("accuracy", "Accuracy", "largest"),
        Measure("brier_score", "Brier score"),
        Measure("winner_brier_score", "Brier score of the winning class"),
        Measure("log_loss", "Log-loss"),
        Measure("out_of_fold_log_loss", "Out-of-fold log-loss, expected from training", None),
        Measure("calibration_error", "Classwise calibration error"),
        Measure("fit_seconds", "Training time (seconds)", of_scheme=True, counts_calibration=True),
        Measure("predict_seconds", "Prediction time (seconds)"),
        Measure("n_binaries", "Number of binaries", None, of_scheme=True),
        Measure("n_support_vectors", "Number of support vectors", None, of_scheme=True),
    )
}
"""All measures by name, in the order of the tables."""


def find_measure(name: str) -> Measure:
    """Return the measure with this name.

    Examples
    --------
    >>> find_measure("accuracy").best
    'largest'
    """
    if not isinstance(name, str) or name not in MEASURES:
        raise ArgumentError(
            Argument("measure", name),
            f" is unknown.{did_you_mean(name, MEASURES)} Use one of {', '.join(MEASURES)}.",
        )
    return MEASURES[name]
