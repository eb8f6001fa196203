"""Calibrators: maps from decision values to probabilities, and the parameter ``calibration``.

A calibrator learns the probability of the +1 side from decision values and their true sides. A
weight of 2 counts as two samples. All of them but a user's are fitted to Platt's targets instead of
0 and 1, see `platt_targets`: no finite decision value gets a probability of 0 or 1, which no finite
number of samples can justify, and the log-loss is finite.

A calibrator tells everything about itself here: how it is fitted and applied, alone and many at
once, how it is saved, and its ONNX graph. `CALIBRATORS` has them by name; `register_calibrator`
adds others. Vector scaling takes their place if a partition has more than two sides.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.seeds import seed_all
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.routines.reference.calibration import SAME, platt_targets, softmax, softmax_losses
from polytomy.states import LARGEST, State, register_kind, stored_as

Floats = NDArray[np.float64]


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


class Calibrator(Protocol):
    """The interface of a calibrator.

    It may also have ``state()`` and ``from_state(state)``, to be saved (see `polytomy.states`), a
    static method ``to_onnx(graph, values, calibrators)`` (see `export_calibration`), a static
    method ``fit_many(calibrators, held_out)`` if fitting many at once is faster, and a static
    method ``fit_sides(values, sides, weight)``, which returns a `VectorScaling` for partitions with
    more than two sides.
    """

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
        return np.asarray(scipy.special.expit(self.slope_ * values + self.intercept_))

    @staticmethod
    def to_onnx(graph: Graph, values: Value, calibrators: Sequence[Any]) -> Value:
        """Return P(+1) − P(−1) of many logistic maps as a graph; see `export_calibration`.

        With t = slope·value + intercept, 2/(1 + e⁻ᵗ) − 1 = tanh(t/2).
        """
        slopes = np.array([0.5 * each.slope_ for each in calibrators])
        intercepts = np.array([0.5 * each.intercept_ for each in calibrators])
        return graph.add("Tanh", values * slopes + intercepts)

    @classmethod
    def of(cls, slope: float, intercept: float) -> Self:
        """Return a fitted calibrator with a slope and an intercept."""
        calibrator = cls()
        calibrator.slope_, calibrator.intercept_ = slope, intercept
        return calibrator

    def state(self) -> dict[str, Any]:
        """Return the slope and the intercept; nothing before the fit."""
        if not hasattr(self, "slope_"):
            return {}
        return {"slope": float(self.slope_), "intercept": float(self.intercept_)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the calibrator of a state."""
        if "slope" not in state:
            return cls()
        return cls.of(state.number("slope"), state.number("intercept"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@stored_as("calibrator/none")
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


@stored_as("calibrator/sigmoid")
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

    has_intercept = True

    def fit(
        self, decision_values: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Minimise the log-loss against Platt's targets."""
        self.fit_many([self], [HeldOut(*fitting_data(decision_values, target, sample_weight))])
        return self

    @classmethod
    def fit_many(cls, calibrators: Sequence[LogisticMap], held_out: Sequence[HeldOut]) -> None:
        """Fit many maps at once, each to its own samples."""
        values = np.concatenate([each.values for each in held_out])
        weight = np.ones(len(values))
        if any(each.weight is not None for each in held_out) or not np.isfinite(values).all():
            held_out = [HeldOut(*fitting_data(*each)) for each in held_out]
            values = np.concatenate([each.values for each in held_out])
            weight = np.concatenate([each.weight for each in held_out if each.weight is not None])
        is_positive = np.concatenate([each.target for each in held_out])
        starts = np.cumsum([0, *(len(each.values) for each in held_out)])
        fit = routine("fit_sigmoids", "calibration")
        fitted = fit(values, is_positive, weight, starts, cls.has_intercept)
        lines = zip(*map(np.ndarray.tolist, fitted), strict=True)
        for calibrator, line in zip(calibrators, lines, strict=True):
            calibrator.slope_, calibrator.intercept_ = line

    @classmethod
    def fit_sides(
        cls,
        values: NDArray[np.float64],
        sides: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
    ) -> VectorScaling:
        """Return a map for each of several sides; without intercepts, they have one slope."""
        return fit_vector_scaling(values, sides, weight, common_slope=not cls.has_intercept)


@stored_as("calibrator/temperature")
class TemperatureCalibrator(SigmoidCalibrator):
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

    has_intercept = False

    @property
    def temperature_(self) -> float:
        """Divisor of the decision values."""
        return 1.0 / self.slope_ if self.slope_ else float("inf")


@stored_as("calibrator/isotonic")
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

    @staticmethod
    def to_onnx(graph: Graph, values: Value, calibrators: Sequence[Any]) -> Value:
        """Return P(+1) − P(−1) of many isotonic maps as a graph; see `export_calibration`.

        Each interval adds its rise times the fraction of it that lies below the value. Maps with
        fewer intervals than others are padded with intervals that do not rise.
        """
        n_maps = len(calibrators)
        n_intervals = max(1, *(len(each.knots_) - 1 for each in calibrators))
        starts, lengths = np.zeros((n_maps, n_intervals)), np.ones((n_maps, n_intervals))
        rises = np.zeros((n_maps, n_intervals))
        for row, each in enumerate(calibrators):
            own = slice(0, len(each.knots_) - 1)
            starts[row, own], lengths[row, own] = each.knots_[:-1], np.diff(each.knots_)
            rises[row, own] = 2.0 * np.diff(each.probabilities_)
        lowest = np.array([2.0 * each.probabilities_[0] - 1.0 for each in calibrators])
        parts = graph.add("Clip", (values.with_axis(2) - starts) / lengths, 0.0, 1.0)
        total = (parts * rises).sum(axis=2)
        return graph.add("Squeeze", total, np.array([2])) + lowest

    def state(self) -> dict[str, Any]:
        """Return the knots and their probabilities; nothing before the fit."""
        if not hasattr(self, "knots_"):
            return {}
        return {"knots": self.knots_, "probabilities": self.probabilities_}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the calibrator of a state."""
        calibrator = cls()
        if "knots" in state:
            calibrator.knots_ = state.floats("knots", (None,))
            n_knots = len(calibrator.knots_)
            calibrator.probabilities_ = state.floats("probabilities", (n_knots,), 0.0, 1.0)
            if not n_knots or np.any(np.diff(calibrator.knots_) < 0):
                raise state.fault("knots", "an array of ascending values")
        return calibrator

    def __repr__(self) -> str:
        return "IsotonicCalibrator()"


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


# -- several sides ---------------------------------------------------------------------------------


@stored_as("vector scaling")
@dataclass(frozen=True, slots=True, eq=False)
class VectorScaling:
    """Probabilities softmax(a·v + b), with a slope and an intercept for each side.

    Attributes
    ----------
    slopes : array of shape (n_sides,), a > 0
    intercepts : array of shape (n_sides,), b

    Examples
    --------
    >>> VectorScaling(np.ones(2), np.zeros(2)).apply(np.array([[0.0, np.log(3)]]))
    array([[0.25, 0.75]])
    """

    slopes: Floats
    intercepts: Floats

    def apply(self, values: Floats) -> Floats:
        """Return the probabilities; −inf in a column means that the side is not known."""
        return softmax(values * self.slopes + self.intercepts)

    @classmethod
    def from_state(cls, state: State) -> VectorScaling:
        """Return the scaling of a state."""
        slopes = state.floats("slopes", (None,), least=1 / LARGEST)
        return cls(slopes, state.floats("intercepts", slopes.shape))


def fit_vector_scaling(
    values: Floats,
    sides: NDArray[np.intp],
    weight: Floats | None = None,
    *,
    common_slope: bool = False,
) -> VectorScaling:
    """Return the vector scaling of maximum likelihood, with a weak prior.

    The logarithms of the slopes, in units of the spread of the values, and the intercepts have unit
    Gaussian priors. So the slopes stay finite even if all samples are on their own side.

    Parameters
    ----------
    values : array of shape (n_samples, n_sides), decision values of held-out samples
    sides : array of shape (n_samples,), the side of each sample
    weight : array of shape (n_samples,), optional
    common_slope : bool, default=False
        Whether all sides have the same slope and no intercepts: temperature scaling.
    """
    n_samples, n_sides = values.shape
    weight = np.ones(n_samples) if weight is None else weight
    spread = float(values.std())
    if spread <= SAME * float(np.abs(values).max()):
        spread = 1.0  # the values are all the same, and their spread is a rounding error
    scaled = values / spread
    is_own = sides[:, np.newaxis] == np.arange(n_sides)

    def loss_and_slope(parameters: Floats) -> tuple[float, Floats]:
        log_slopes, intercepts = _spread_parameters(parameters, n_sides, common_slope)
        slopes = np.exp(log_slopes)
        proba, losses = softmax_losses(scaled * slopes + intercepts, sides)
        error = weight[:, np.newaxis] * (proba - is_own)
        of_slopes, of_intercepts = (error * scaled).sum(axis=0) * slopes, error.sum(axis=0)
        if common_slope:
            gradient = np.array([of_slopes.sum()])
        else:
            gradient = np.concatenate([of_slopes, of_intercepts])
        loss = weight @ losses + 0.5 * parameters @ parameters
        return float(loss), gradient + parameters

    start = np.zeros(1 if common_slope else 2 * n_sides)
    found = scipy.optimize.minimize(loss_and_slope, start, jac=True, method="L-BFGS-B").x
    log_slopes, intercepts = _spread_parameters(found, n_sides, common_slope)
    return VectorScaling(np.exp(log_slopes) / spread, intercepts)


def _spread_parameters(
    parameters: Floats, n_sides: int, common_slope: bool
) -> tuple[Floats, Floats]:
    if common_slope:
        return np.full(n_sides, parameters[0]), np.zeros(n_sides)
    return parameters[:n_sides], parameters[n_sides:]


# -- the parameter ---------------------------------------------------------------------------------


#: A value of the parameter: a name, None, or an object like a Calibrator.
Calibration = Any


@stored_as("calibrator/provided")
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

    def state(self) -> dict[str, Any]:
        """Return the user's calibrator."""
        return {"calibrator": self.calibrator}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the calibrator of a state."""
        provided = state.value("calibrator")
        if not (hasattr(provided, "predict") or hasattr(provided, "predict_proba")):
            raise state.fault("calibrator", "an object with predict or predict_proba")
        return cls(provided)

    def _shape_values(self, decision_values: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(decision_values, dtype=np.float64)
        return values[:, np.newaxis] if hasattr(self.calibrator, "predict_proba") else values

    def __repr__(self) -> str:
        return f"ProvidedCalibrator({self.calibrator!r})"


CALIBRATORS: dict[str, type[Calibrator]] = {
    "sigmoid": SigmoidCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureCalibrator,
}
"""The calibrators by name."""


def register_calibrator(name: str, calibrator: type[Calibrator]) -> None:
    """Add a calibrator, so that its name is accepted wherever a calibration is chosen.

    Parameters
    ----------
    name : str
    calibrator : class with the methods of `Calibrator`, made without arguments
        If it has ``state`` and ``from_state``, models with it can be saved.
    """
    if name in {"auto", "none", *CALIBRATORS}:
        raise ArgumentError(
            f"There is already a calibration called {name!r}. Give this one another name."
        )
    CALIBRATORS[name] = calibrator
    if hasattr(calibrator, "from_state"):
        register_kind(f"calibrator/{name}", calibrator)


def find_calibrator(calibration: Calibration) -> type[Calibrator] | None:
    """Return the class of a calibrator's name; None for a value that is not a name."""
    if not isinstance(calibration, str):
        return None
    return CALIBRATORS.get("sigmoid" if calibration == "auto" else calibration)


def _is_calibrator(value: Any) -> bool:
    can_predict = hasattr(value, "predict") or hasattr(value, "predict_proba")
    return not isinstance(value, type) and hasattr(value, "fit") and can_predict


_CALIBRATION = Parameter(
    "calibration",
    "an object (not a class) with fit(decision_values, target) and predict or predict_proba",
    _is_calibrator,
    allows_none=True,
)


def make_calibrator(calibration: Calibration, seed: int | None = None) -> Calibrator:
    """Return a new, unfitted calibrator for a value of ``calibration``.

    Parameters
    ----------
    calibration : "auto", a name in CALIBRATORS, None or a calibrator
        "auto" is the sigmoid; a calibrator is copied.
    seed : int, optional
        Sets every random_state of a user's calibrator.

    Examples
    --------
    >>> make_calibrator("isotonic")
    IsotonicCalibrator()
    """
    kind = find_calibrator(calibration)
    if kind is not None:
        return kind()
    _CALIBRATION._replace(choices=("auto", *CALIBRATORS)).check(calibration)
    if calibration is None:
        return UncalibratedMap()
    if isinstance(calibration, (UncalibratedMap, *CALIBRATORS.values())):
        return cast(Calibrator, copy.deepcopy(calibration))
    provided = ProvidedCalibrator(calibration)
    if hasattr(provided.calibrator, "get_params"):
        seed_all(provided.calibrator, seed)
    return provided


def fit_calibrators(
    calibration: Calibration, held_out: Sequence[HeldOut | None], seeds: Sequence[int | None]
) -> list[Calibrator | None]:
    """Return a fitted calibrator for each of many binaries, or None if there is nothing to learn.

    Calibrators with ``fit_many`` are fitted at once.

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
    together: dict[Any, list[tuple[Any, HeldOut]]] = {}
    for calibrator, each in zip(calibrators, held_out, strict=True):
        if calibrator is None or each is None:
            continue
        fit_many = getattr(calibrator, "fit_many", None)
        if fit_many is None:
            calibrator.fit(*each)
        else:
            together.setdefault(fit_many, []).append((calibrator, each))
    for fit_many, pairs in together.items():
        fit_many(*map(list, zip(*pairs, strict=True)))
    return calibrators


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
    probabilities = np.asarray(scipy.special.expit(decision_values * slopes + intercepts))
    for column, calibrator in enumerate(calibrators):
        if not isinstance(calibrator, LogisticMap):
            probabilities[:, column] = calibrator.predict(decision_values[:, column])
    return probabilities


def export_calibration(
    graph: Graph, values: Value, calibrators: Sequence[Calibrator], names: Sequence[str]
) -> Value:
    """Return P(+1) − P(−1) of many binaries as a graph: `calibrate` for ONNX.

    Parameters
    ----------
    graph : Graph to add nodes to
    values : decision values, of shape (n_samples, n_partitions)
    calibrators : fitted calibrators
        Their classes have a static method ``to_onnx(graph, values, calibrators)``, which gets all
        columns with such calibrators at once.
    names : names of the binaries, for messages
    """
    columns_of: dict[Any, list[int]] = {}
    for column, calibrator in enumerate(calibrators):
        export = _find_export(type(calibrator))
        if export is None:
            first, *others = [name for name, each in CALIBRATORS.items() if _find_export(each)]
            raise ArgumentError(
                f'binary "{names[column]}" is calibrated by {calibrator!r}, which cannot be '
                "exported. Fit with ",
                Argument("calibration", first),
                *[f', "{name}"' for name in others[:-1]],
                f' or "{others[-1]}".',
            )
        columns_of.setdefault(export, []).append(column)
    answers = [
        export(
            graph,
            graph.pick(values, np.array(columns), len(calibrators)),
            [calibrators[column] for column in columns],
        )
        for export, columns in columns_of.items()
    ]
    order = np.argsort(np.concatenate(list(columns_of.values())))
    return graph.pick(graph.join(answers), order, len(calibrators))


def _find_export(kind: type) -> Callable[[Graph, Value, Sequence[Any]], Value] | None:
    """Return the `to_onnx` of a class; None if it has none, or a subclass has its own `predict`."""
    for each in kind.__mro__:
        if "to_onnx" in vars(each):
            return cast("Callable[[Graph, Value, Sequence[Any]], Value]", each.to_onnx)  # type: ignore[attr-defined]
        if "predict" in vars(each):
            return None
    return None
