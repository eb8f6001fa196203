"""The parameters of a classifier, declared once with their allowed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polytomy.calibration import check_folds, make_calibrator
from polytomy.calibration.final import check_final_calibration
from polytomy.composition.solver_option import AUTO
from polytomy.inputs.choices import PRECISIONS
from polytomy.inputs.parameters import (
    Parameter,
    is_count,
    is_job_count,
    is_random_state,
)
from polytomy.inputs.weights import CLASS_WEIGHT
from polytomy.solvers.methods import METHODS
from polytomy.svm.memory import MEMORY_BUDGET

__all__ = ["CLASSIFIER_CHECKS", "CLASS_ORDER", "PARALLEL_CHECKS"]


def _is_precision(value: Any) -> bool:
    is_type = isinstance(value, type | np.dtype)
    return is_type and any(value in (np.dtype(name), np.dtype(name).type) for name in PRECISIONS)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _declare(*parameters: Parameter) -> dict[str, Callable[[Any], object]]:
    return {parameter.name: parameter.check for parameter in parameters}


def _is_sequence(value: Any) -> bool:
    is_array = getattr(value, "ndim", None) == 1
    return is_array or isinstance(value, list | tuple)


CLASS_ORDER = Parameter(
    "class_order", "a list of all labels, from first to last,", _is_sequence, allows_none=True
)
"""The parameter `class_order`, of every estimator that makes schemes."""

PARALLEL_CHECKS = _declare(
    Parameter("n_jobs", "an integer other than 0", is_job_count, allows_none=True),
    Parameter(
        "random_state",
        "an integer from 0 to 4294967295, a numpy.random.RandomState",
        is_random_state,
        allows_none=True,
    ),
    Parameter("verbose", "a non-negative integer", is_count),
)
"""Checks of the parameters that every estimator here has."""

CLASSIFIER_CHECKS: dict[str, Callable[[Any], object]] = {
    **_declare(
        Parameter("solver", "a function of (scheme, decisions)", callable, (AUTO, *METHODS)),
        Parameter("models", "a dict of names and estimators", _is_mapping, allows_none=True),
        CLASS_WEIGHT,
        MEMORY_BUDGET,
        Parameter("keep_out_of_fold", "True or False", _is_bool),
        Parameter("shared_preprocessing", "True or False", _is_bool),
        Parameter("reservoir_size", "a number of rows, 0 or more", is_count),
        Parameter("prediction_dtype", "", _is_precision, PRECISIONS),
        CLASS_ORDER,
    ),
    "calibration": make_calibrator,
    "final_calibration": check_final_calibration,
    "cv": check_folds,
    **PARALLEL_CHECKS,
}
"""The check of each parameter of `PolytomyClassifier`, except `estimator` and `scheme`."""
