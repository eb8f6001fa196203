"""What is measured in a trial, and how tables call it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal, NamedTuple

from polytomy.errors import ArgumentError

__all__ = ["MEASURES", "Measure", "find_measure"]


class Measure(NamedTuple):
    """A number that a trial gives of each pair.

    Attributes
    ----------
    name : in files
    title : of its table
    best : whether the largest or the smallest value is best, or none
    of_scheme : whether it is the same for all methods of a configuration
    """

    name: str
    title: str
    best: Literal["largest", "smallest"] | None = "smallest"
    of_scheme: bool = False


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("uncertainty_coefficient", "Uncertainty coefficient", "largest"),
        Measure("accuracy", "Accuracy", "largest"),
        Measure("brier_score", "Brier score"),
        Measure("winner_brier_score", "Brier score, winning classes only"),
        Measure("log_loss", "Log-loss"),
        Measure("calibration_error", "Calibration error, class by class"),
        Measure("fit_seconds", "Training time, seconds", of_scheme=True),
        Measure("predict_seconds", "Prediction time, seconds"),
        Measure("n_binaries", "Number of binaries", None, of_scheme=True),
        Measure("n_support_vectors", "Number of support vectors", None, of_scheme=True),
    )
}
"""Every measure by its name, in the order of the tables."""


def find_measure(name: str) -> Measure:
    """Return the measure of a name, or an ArgumentError that lists them.

    Examples
    --------
    >>> find_measure("accuracy").best
    'largest'
    """
    if not isinstance(name, str) or name not in MEASURES:
        near = get_close_matches(str(name), MEASURES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(
            f"measure={name!r} is not known; there are {', '.join(MEASURES)}.{hint}"
        )
    return MEASURES[name]
