"""The parameters of a regressor, declared once with their allowed values."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter, check_parameters, is_boolean
from polytomy.model.parameters import CLASSIFIER_CHECKS
from polytomy.model.scheme_argument import gives_probabilities

__all__ = ["CLASSIFIER_PARAMETERS", "STATISTIC", "check_regressor"]

CLASSIFIER_PARAMETERS = (
    "estimator",
    "scheme",
    "solver",
    "calibration",
    "final_calibration",
    "cv",
    "models",
    "n_jobs",
    "random_state",
    "verbose",
    "memory_budget",
    "prediction_dtype",
    "shared_preprocessing",
)
"""Parameters that a regressor passes on to its classifier."""

STATISTIC = Parameter("statistic", choices=("mean", "median"))
"""What `predict` returns."""


def check_regressor(regressor: Any) -> None:
    """Raise an ArgumentError unless all parameters of a regressor are valid."""
    check_parameters(regressor, _CHECKS)


def _is_bin_count(value: Any) -> bool:
    is_integer = isinstance(value, int | np.integer) and not is_boolean(value)
    return is_integer and bool(value >= 2)


def _check_solver(solver: Any) -> None:
    CLASSIFIER_CHECKS["solver"](solver)
    if not gives_probabilities(solver):
        raise ArgumentError(
            Argument("solver", solver),
            " gives scores, not probabilities, which a regressor needs. Use ",
            Argument("solver", "least-squares"),
            ".",
        )


_CHECKS = {
    **{name: check for name, check in CLASSIFIER_CHECKS.items() if name in CLASSIFIER_PARAMETERS},
    "solver": _check_solver,
    "n_bins": Parameter("n_bins", "an integer of at least 2", _is_bin_count, ("auto",)).check,
    "statistic": STATISTIC.check,
}
