"""The parameter ``calibration``: from its value to a calibrator; many calibrators at once."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from polytomy.calibration.calibrators import (
    Calibrator,
    IsotonicCalibrator,
    LogisticMap,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
    fit_sigmoids,
    fitting_data,
)
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.choices import CALIBRATIONS
from polytomy.inputs.seeds import seed_all
from polytomy.inputs.suggestions import did_you_mean

__all__ = [
    "Calibration",
    "HeldOut",
    "ProvidedCalibrator",
    "calibrate",
    "fit_calibrators",
    "make_calibrator",
]

#: A value of the parameter: a name, None, or an object like a Calibrator.
Calibration = Any


class ProvidedCalibrator:
    """A user's calibrator, such as a scikit-learn classifier or regressor.

    It needs ``fit(values, target)`` and ``predict_proba`` or ``predict``. If there are weights,
    ``fit`` also gets ``sample_weight``. The target is 1 on the +1 side and 0 on the other. An
    object with ``predict_proba`` is called like a scikit-learn classifier: values have shape
    (n, 1), and the last column of its answer is the probability. Any other object gets values of
    shape (n,), and ``predict`` returns the probability.

    Parameters
    ----------
    calibrator : object
        It is copied, and never fitted itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> calibrator = ProvidedCalibrator(LogisticRegression())
    >>> calibrator.fit([-1, -1, 1, 1], [False, False, True, True]).predict([0.0])
    array([0.5])
    """

    def __init__(self, calibrator: Any) -> None:
        self.calibrator = copy.deepcopy(calibrator)

    def fit(
        self, decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the user's calibrator."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        values = self._shape_values(decision_values)
        self.calibrator.fit(values, np.asarray(target, dtype=np.int64), **weights)
        return self

    def predict(self, decision_values: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrator's probability of the +1 side, after checking it."""
        values = self._shape_values(decision_values)
        if hasattr(self.calibrator, "predict_proba"):
            answer = np.asarray(self.calibrator.predict_proba(values), dtype=np.float64)
            answer = answer[:, -1] if answer.ndim == 2 else answer
        else:
            answer = np.asarray(self.calibrator.predict(values), dtype=np.float64)
        if answer.shape != (len(values),):
            raise ArgumentError(
                Argument("calibration", self.calibrator),
                f" returned probabilities of shape {answer.shape} for {len(values)} decision "
                "values. It must return one for each.",
            )
        if np.isnan(answer).any():
            raise ArgumentError(
                Argument("calibration", self.calibrator),
                " returned NaN for the decision value "
                f"{values.ravel()[np.argmax(np.isnan(answer))]:g}. It must return a number for "
                'every value; IsotonicRegression does if out_of_bounds="clip".',
            )
        return np.clip(answer, 0.0, 1.0)

    def _shape_values(self, decision_values: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(decision_values, dtype=np.float64)
        return values[:, np.newaxis] if hasattr(self.calibrator, "predict_proba") else values

    def __repr__(self) -> str:
        return f"ProvidedCalibrator({self.calibrator!r})"


_CALIBRATORS: dict[str | None, type[Calibrator]] = {
    "auto": SigmoidCalibrator,
    "sigmoid": SigmoidCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureCalibrator,
    None: UncalibratedMap,
}


def make_calibrator(calibration: Calibration, seed: int | None = None) -> Calibrator:
    """Return a new, unfitted calibrator for a value of ``calibration``.

    Parameters
    ----------
    calibration : "auto", "sigmoid", "isotonic", "temperature", None or a calibrator
        "auto" is the sigmoid; a calibrator is copied.
    seed : int, optional
        Sets every random_state of a user's calibrator.

    Examples
    --------
    >>> make_calibrator("isotonic")
    IsotonicCalibrator()
    """
    if calibration is None or isinstance(calibration, str):
        if calibration not in _CALIBRATORS:
            names = ", ".join(f'"{name}"' for name in CALIBRATIONS)
            raise ArgumentError(
                Argument("calibration", calibration),
                f" is not known.{did_you_mean(calibration, CALIBRATIONS)} Use {names}, None, or "
                "an object with fit and predict.",
            )
        return _CALIBRATORS[calibration]()
    if isinstance(calibration, tuple(_CALIBRATORS.values())):
        return cast(Calibrator, copy.deepcopy(calibration))
    can_predict = hasattr(calibration, "predict") or hasattr(calibration, "predict_proba")
    if isinstance(calibration, type) or not (hasattr(calibration, "fit") and can_predict):
        raise ArgumentError(
            Argument("calibration", calibration),
            " must be a name, None, or an object (not a class) with fit(decision_values, target) "
            "and predict(decision_values) or predict_proba.",
        )
    provided = ProvidedCalibrator(calibration)
    if hasattr(provided.calibrator, "get_params"):
        seed_all(provided.calibrator, seed)
    return provided


class HeldOut(NamedTuple):
    """The data that a calibrator learns from.

    Attributes
    ----------
    values : array of shape (n_samples,), decision values
    target : bool array of shape (n_samples,), True on the +1 side
    weight : array of shape (n_samples,), optional
    """

    values: NDArray[np.float64]
    target: NDArray[np.bool_]
    weight: NDArray[np.float64] | None = None

    def part(self, samples: slice) -> HeldOut | None:
        """Return some consecutive samples; None if there are none."""
        values = self.values[samples]
        if not len(values):
            return None
        weight = None if self.weight is None else self.weight[samples]
        return HeldOut(values, self.target[samples], weight)


def fit_calibrators(
    calibration: Calibration, held_out: Sequence[HeldOut | None], seeds: Sequence[int | None]
) -> list[Calibrator | None]:
    """Return a fitted calibrator for each of many binaries, or None if there is nothing to learn.

    All sigmoids are fitted at once.

    Parameters
    ----------
    calibration : value of the option ``calibration``
    held_out : what each calibrator learns from, or None
    seeds : seeds of the calibrators
    """
    calibrators = [
        None if each is None else make_calibrator(calibration, seed)
        for each, seed in zip(held_out, seeds, strict=True)
    ]
    sigmoids: list[SigmoidCalibrator] = []
    samples: list[HeldOut] = []
    for calibrator, each in zip(calibrators, held_out, strict=True):
        if calibrator is None or each is None:
            continue
        if isinstance(calibrator, SigmoidCalibrator):
            sigmoids.append(calibrator)
            samples.append(each)
        else:
            calibrator.fit(*each)
    if sigmoids:
        _fit_sigmoids(sigmoids, samples)
    return calibrators


def _fit_sigmoids(sigmoids: Sequence[SigmoidCalibrator], samples: Sequence[HeldOut]) -> None:
    """Fit sigmoids with the samples of each."""
    values = np.concatenate([each.values for each in samples])
    weight = np.ones(len(values))
    if any(each.weight is not None for each in samples) or not np.isfinite(values).all():
        samples = [HeldOut(*fitting_data(*each)) for each in samples]
        values = np.concatenate([each.values for each in samples])
        weight = np.concatenate([each.weight for each in samples if each.weight is not None])
    is_positive = np.concatenate([each.target for each in samples])
    starts = np.cumsum([0, *(len(each.values) for each in samples)])
    fit_sigmoids(sigmoids, values, is_positive, weight, starts)


def calibrate(
    calibrators: Sequence[Calibrator], decision_values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probabilities of many binaries, each column from its own fitted calibrator.

    All logistic maps are evaluated together; other calibrators are evaluated column by column.

    Parameters
    ----------
    calibrators : sequence of n_partitions fitted calibrators
    decision_values : array of shape (n_samples, n_partitions)

    Returns
    -------
    array of shape (n_samples, n_partitions)

    Examples
    --------
    >>> steep = SigmoidCalibrator().fit([-1, -1, 1, 1], [False, False, True, True])
    >>> calibrate([steep, UncalibratedMap()], np.array([[1.0, 0.0]]))
    array([[0.75, 0.5 ]])
    """
    lines = [
        (each.slope_, each.intercept_) if isinstance(each, LogisticMap) else (0.0, 0.0)
        for each in calibrators
    ]
    slopes, intercepts = np.array(lines, dtype=np.float64).reshape(-1, 2).T
    probabilities = np.asarray(expit(decision_values * slopes + intercepts))
    for column, calibrator in enumerate(calibrators):
        if not isinstance(calibrator, LogisticMap):
            probabilities[:, column] = calibrator.predict(decision_values[:, column])
    return probabilities
