"""The option --final-calibration, and the out-of-fold score in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from polytomy.cli.completing import complete_names
from polytomy.cli.data_options import check_choice, join_choices
from polytomy.metrics import METRICS

__all__ = ["FinalCalibration", "find_score", "parse_final_calibration", "score_to_text"]

# In Python it may also be an object.
_CHOICES = ("auto", "bias", "decoder", "none")

FinalCalibration = Annotated[
    str,
    typer.Option(
        "--final-calibration",
        metavar="NAME",
        help=f"Calibration of the class probabilities: {join_choices(_CHOICES)}.",
        autocompletion=complete_names(_CHOICES),
    ),
]


def parse_final_calibration(text: str) -> str | None:
    """Return the value of the parameter `final_calibration` that the option names.

    Examples
    --------
    >>> parse_final_calibration("bias"), parse_final_calibration("none")
    ('bias', None)
    """
    check_choice("--final-calibration", text, _CHOICES)
    return None if text == "none" else text


def find_score(model: Any) -> dict[str, float] | None:
    """Return the out-of-fold score of a classifier, or of the last step of a pipeline.

    None if it has no final calibration.
    """
    from polytomy.learners.preparation import split_pipeline

    score: dict[str, float] | None = getattr(split_pipeline(model)[1], "out_of_fold_score_", None)
    return score


def score_to_text(score: Mapping[str, float]) -> str:
    """Return a score on one line.

    Examples
    --------
    >>> score_to_text({"log_loss": 0.25, "accuracy": 0.875})
    'log-loss 0.2500, accuracy 0.8750'
    >>> score_to_text({"rmse": 12345.678})  # in the unit of the target
    'RMSE 12346'
    """
    return ", ".join(
        f"{METRICS[name].title} {value:.4f}"
        if name in METRICS
        # Those of a regressor are in the unit of the target, whose scale is arbitrary.
        else f"{name.upper()} {value:.5g}"
        for name, value in score.items()
    )
