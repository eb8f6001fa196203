"""Calibrators: maps from decision values to probabilities.

A calibrator learns the probability of the +1 side from decision values and their true sides. A
weight of 2 counts as two samples.

All fits use Platt's targets instead of 0 and 1: (N₊+1)/(N₊+2) on the +1 side and 1/(N₋+2) on the
−1 side, the posterior means under a uniform prior (Platt 1999). So no finite decision value gets a
probability of 0 or 1, which no finite number of samples can justify, and the log-loss is finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from polytomy.calibration.platt import fit_log_odds, platt_targets
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.weights import check_weights
from polytomy.routines.runtime.dispatch import routine

__all__ = [
    "Calibrator",
    "IsotonicCalibrator",
    "LogisticMap",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "UncalibratedMap",
    "fit_sigmoids",
    "fitting_data",
]


class Calibrator(Protocol):
    """The interface of a calibrator."""

    def fit(
        self,
        decision_values: NDArray[np.float64],
        target: NDArray[np.bool_],
        sample_weight: NDArray[np.float64] | None = None,
    ) -> Self:
        """Learn from decision values; `target` is True on the +1 side."""
        ...

    def predict(self, decision_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of the +1 side for each decision value."""
        ...


class LogisticMap:
    """P(+1) = 1 / (1 + exp(−slope_·value − intercept_)), the form of three calibrators."""

    slope_: float
    intercept_: float

    def predict(self, decision_values: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of the +1 side for each decision value."""
        values = np.asarray(decision_values, dtype=np.float64)
        return np.asarray(expit(self.slope_ * values + self.intercept_))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class UncalibratedMap(LogisticMap):
    """The plain logistic function, which learns nothing.

    It treats decision values as log-odds. For logistic regression and boosting, that is correct;
    for margins, it keeps their order and gives 0.73 at the margin of a support vector machine. It
    is used for ``calibration=None`` and when there are too few samples to calibrate.

    Examples
    --------
    >>> UncalibratedMap().predict([0.0, np.log(3)])
    array([0.5 , 0.75])
    """

    slope_ = 1.0
    intercept_ = 0.0

    def fit(
        self, decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Return self; there is nothing to learn."""
        return self


class SigmoidCalibrator(LogisticMap):
    """Platt's sigmoid, fitted by Newton's method (Platt 1999; Lin, Lin and Weng 2007).

    LIBSVM uses the same map; its parameters are A = −slope_ and B = −intercept_.

    Attributes
    ----------
    slope_, intercept_ : float

    Examples
    --------
    Two distinct values with two samples each: the map meets their targets, 1/4 and 3/4.

    >>> calibrator = SigmoidCalibrator().fit([-1, -1, 1, 1], [False, False, True, True])
    >>> calibrator.predict([-1, 0, 1])
    array([0.25, 0.5 , 0.75])
    """

    def fit(
        self, decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Minimise the log-loss against Platt's targets."""
        values, is_positive, weight = fitting_data(decision_values, target, sample_weight)
        fit_sigmoids([self], values, is_positive, weight, np.array([0, len(values)]))
        return self


class TemperatureCalibrator(LogisticMap):
    """One positive factor for all decision values, without intercept (after Guo et al. 2017).

    The sign of a decision value, and so the side that it favours, does not change. If the values
    favour the wrong side overall, the factor is zero and all probabilities are one half.

    Attributes
    ----------
    slope_ : float
        The factor, 1 / temperature.
    intercept_ : float
        Zero.

    Examples
    --------
    >>> calibrator = TemperatureCalibrator().fit([-1, -1, 1, 1], [False, False, True, True])
    >>> calibrator.predict([-1, 0, 1])
    array([0.25, 0.5 , 0.75])
    >>> round(calibrator.temperature_, 6)  # 1 / log 3
    0.910239
    """

    intercept_ = 0.0

    @property
    def temperature_(self) -> float:
        """Divisor of the decision values."""
        return 1.0 / self.slope_ if self.slope_ else float("inf")

    def fit(
        self, decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Minimise the log-loss against Platt's targets."""
        values, is_positive, weight = fitting_data(decision_values, target, sample_weight)
        targets = platt_targets(is_positive, weight)
        scale = float(np.max(np.abs(values)))
        if scale == 0.0:
            self.slope_ = 0.0
            return self
        slope = fit_log_odds(values[:, np.newaxis] / scale, targets, weight)[0]
        self.slope_ = max(0.0, float(slope / scale))
        return self


class IsotonicCalibrator:
    """The best non-decreasing map (Zadrozny and Elkan 2002), fitted to Platt's targets.

    It is linear between its knots and constant beyond them. Because it is fitted to Platt's
    targets, it stays between 1/(N₋+2) and (N₊+1)/(N₊+2).

    Attributes
    ----------
    knots_ : array, decision values, ascending
    probabilities_ : array, the probability at each knot

    Examples
    --------
    >>> calibrator = IsotonicCalibrator().fit([-1, 0, 1, 2], [False, True, False, True])
    >>> calibrator.predict([-5, 0, 1, 5])
    array([0.25, 0.5 , 0.5 , 0.75])
    """

    knots_: NDArray[np.float64]
    probabilities_: NDArray[np.float64]

    def fit(
        self, decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Minimise the weighted sum of squared differences from Platt's targets."""
        from sklearn.isotonic import IsotonicRegression

        values, is_positive, weight = fitting_data(decision_values, target, sample_weight)
        targets = platt_targets(is_positive, weight)
        regression = IsotonicRegression(out_of_bounds="clip").fit(values, targets, weight)
        self.knots_ = np.asarray(regression.X_thresholds_, dtype=np.float64)
        self.probabilities_ = np.asarray(regression.y_thresholds_, dtype=np.float64)
        return self

    def predict(self, decision_values: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of the +1 side for each decision value."""
        values = np.asarray(decision_values, dtype=np.float64)
        return np.interp(values, self.knots_, self.probabilities_)

    def __repr__(self) -> str:
        return "IsotonicCalibrator()"


def fit_sigmoids(
    calibrators: Sequence[SigmoidCalibrator],
    values: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    weight: NDArray[np.float64],
    starts: NDArray[np.intp],
) -> None:
    """Fit many sigmoids at once.

    Parameters
    ----------
    calibrators : calibrators to fit
    values, is_positive, weight : the results of `fitting_data`, one calibrator after another
    starts : where the samples of each calibrator start, and where those of the last one end
    """
    fitted = routine("fit_sigmoids", "calibration")(values, is_positive, weight, starts)
    for calibrator, slope, intercept in zip(
        calibrators, *map(np.ndarray.tolist, fitted), strict=True
    ):
        calibrator.slope_, calibrator.intercept_ = slope, intercept


def fitting_data(
    decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Return the checked decision values, sides and weights of the samples of positive weight."""
    values = np.asarray(decision_values, dtype=np.float64)
    is_positive = np.asarray(target, dtype=np.bool_)
    if values.ndim != 1 or values.shape != is_positive.shape:
        raise ArgumentError(
            Argument("decision_values"),
            f" has shape {values.shape}, but ",
            Argument("target"),
            f" has shape {is_positive.shape}. Give one value and one side for each sample.",
        )
    if not np.isfinite(values).all():
        raise ArgumentError(
            f"{np.count_nonzero(~np.isfinite(values))} of {len(values)} decision values are not "
            "finite, so they cannot be calibrated. Use ",
            Argument("calibration", None),
            " or another estimator.",
        )
    weight = check_weights(sample_weight, len(values))
    if sample_weight is not None:
        counts = weight > 0
        values, is_positive, weight = values[counts], is_positive[counts], weight[counts]
    return values, is_positive, weight
