"""The final calibration: from the solver's probabilities to calibrated class probabilities.

Solvers assume that the binaries are right. They are not, and their errors add up: least squares
gives some classes exactly zero, Platt's targets make one-vs-one under-confident, and a tree
multiplies the errors on its paths. A final calibration learns from out-of-fold answers how far to
trust the solver:

- `BiasMap`: logits s·log(p + ε) + b, with a temperature, a floor and a bias for each class. Biases
  that cost accuracy are left out; the other parameters do not change the winner.
- `DecoderMap`: logits s·log(p + ε) + b + z·W, where z are the log-odds of the binaries. It can also
  learn which binaries to trust.
- `ProvidedMap`: a user's calibrator.

A final calibration tells everything about itself here: how it is fitted and applied, how it is
saved, and its ONNX graph. `FINAL_CALIBRATIONS` has them by name; `register_final_calibration` adds
others.

Two models are fitted by maximum likelihood to the classes of n samples, given features with a
column for each class:

- `fit_each_weighting`: logits s·L + b, with s ≥ 0. It has few parameters, so Newton's method needs
  few steps.
- `fit_weights`: logits s·L + b + Z·W, with a penalty on W. L-BFGS minimises the loss in coordinates
  in which the problem is well conditioned.

Both have unit Gaussian priors on s − 1 and b. Without one, s would grow without limit if all
samples are classified correctly.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import isclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter
from polytomy.inputs.seeds import seed_all
from polytomy.onnx_conversion import ConversionError, export_estimator
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.routines.reference import calibration as reference
from polytomy.routines.reference.calibration import SoftmaxData, softmax
from polytomy.states import LARGEST, State, field_values, register_kind, stored_as

Floats = NDArray[np.float64]

# Newton's method stops when a step would save less than this fraction of the loss.
_TOLERANCE = 1e-8

# For fewer values, the overhead of NumPy calls exceeds their work, so the loops of the compiled
# routine are faster. For more values, they are slower.
_FEW_VALUES = 2**14

# With more features, a block of the Hessian for each class would take longer than it saves.
_MOST_FEATURES_OF_BLOCK = 64


class ScaleAndBias(NamedTuple):
    """Logits s·L + b.

    Attributes
    ----------
    scale : float, s
    bias : array of shape (n_classes,), b
    loss : float, the weighted sum of −log p(class), plus (s − 1)²/2 + |b|²/2
    """

    scale: float
    bias: Floats
    loss: float


def fit_each_weighting(
    features: Floats,
    class_indices: NDArray[np.intp],
    weights: Floats,
    start: ScaleAndBias | None = None,
    *,
    has_bias: bool,
) -> list[ScaleAndBias]:
    """Minimise Σᵢ wᵢ·(−log softmax(s·Lᵢ + b)[yᵢ]) + (s − 1)²/2 + |b|²/2 over s ≥ 0 and b.

    The problem is convex. Uses Newton's method with backtracking, for each of several vectors of
    weights.

    Parameters
    ----------
    features : array of shape (n_samples, n_classes), L
    class_indices : array of shape (n_samples,), y
    weights : array of shape (n_problems, n_samples), w
        A weight of zero leaves a sample out.
    start : starting point, if a solution of a similar problem is known
    has_bias : bool
        Without a bias, only s is fitted.

    Examples
    --------
    The features favour the right class by 1 in three samples of four, which corresponds to
    s = log 3. The prior pulls s towards one. Without the fourth sample, s is larger.

    >>> features = np.array([[1.0, 0.0]] * 4)
    >>> weights = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]])
    >>> fits = fit_each_weighting(features, np.array([0, 0, 0, 1]), weights, has_bias=False)
    >>> [round(fit.scale, 3) for fit in fits]
    [1.043, 1.533]
    """
    starts = np.zeros((len(weights), 1 + features.shape[1]))
    starts[:, 0] = 1.0
    if start is not None:
        starts[:, 0], starts[:, 1:] = start.scale, start.bias
    has_few = features.shape[1] <= reference.MOST_CLASSES_OF_HESSIAN and features.size < _FEW_VALUES
    fit = routine("fit_scale_and_bias", "calibration") if has_few else reference.fit_scale_and_bias
    parameters, losses = fit(features, class_indices, weights, starts, has_bias, _TOLERANCE)
    return [
        ScaleAndBias(float(each[0]), each[1:], float(loss))
        for each, loss in zip(parameters, losses, strict=True)
    ]


class Weighted(NamedTuple):
    """Logits s·L + b + Z·W.

    Attributes
    ----------
    scale : float, s
    bias : array of shape (n_classes,), b
    weights : array of shape (n_features, n_classes), W
    """

    scale: float
    bias: Floats
    weights: Floats


class Curvature(NamedTuple):
    """Blocks of the Hessian of the mean loss, without penalties.

    Attributes
    ----------
    scale : float
    bias : array of shape (n_classes,)
    weights : array of shape (n_classes, n_features, n_features)
        Of shape (1, n_features, n_features), the mean over the classes, if there are many features.
    """

    scale: float
    bias: Floats
    weights: Floats


def find_curvature(features: Floats, further: Floats, weight: Floats, at: Weighted) -> Curvature:
    """Return how the mean loss of `fit_weights` is curved at a point.

    Parameters
    ----------
    features, further : as in `fit_weights`
    weight : array of shape (n_samples,)
    at : Weighted
    """
    proba = softmax(at.scale * features + at.bias + further @ at.weights)
    shares = weight / weight.sum()
    variances = proba * (1.0 - proba) * shares[:, np.newaxis]
    mean = np.einsum("ij,ij->i", proba, features)
    of_scale = shares @ (np.einsum("ij,ij,ij->i", proba, features, features) - mean**2)
    bias = variances.sum(axis=0)
    if further.shape[1] > _MOST_FEATURES_OF_BLOCK:
        variances = variances.mean(axis=1, keepdims=True)
    blocks = [(further * own[:, np.newaxis]).T @ further for own in variances.T]
    return Curvature(float(of_scale), bias, np.stack(blocks))


def fit_weights(
    features: Floats,
    further: Floats,
    class_indices: NDArray[np.intp],
    weights: Floats,
    penalty: float,
    starts: Sequence[Weighted],
    curvature: Curvature,
    *,
    tolerance: float,
) -> list[Weighted]:
    """Minimise the mean of −log softmax(s·L + b + Z·W)[y], plus penalties, over s ≥ 0, b and W.

    The penalties are ((s − 1)² + |b|²)/(2n) + λ|W|²/2. There is a problem for each vector of
    weights.

    Parameters
    ----------
    features : array of shape (n_samples, n_classes), L
    further : array of shape (n_samples, n_features), Z
    class_indices : array of shape (n_samples,), y
    weights : array of shape (n_problems, n_samples)
        The mean is weighted, n is the sum of the weights. A weight of zero leaves a sample out.
    penalty : λ > 0
    starts : starting point of each problem
    curvature : `find_curvature` near the solutions
    tolerance : relative change of the sum of the losses at which to stop, divided equally
    """
    n_classes, n_further = features.shape[1], further.shape[1]
    # In the coordinates T⁻¹W, the blocks of the Hessian are close to the identity.
    roots = np.linalg.cholesky(curvature.weights + penalty * np.eye(n_further))
    roots = roots.swapaxes(1, 2)
    stretch = np.ascontiguousarray(np.linalg.inv(roots))
    curvatures = np.append(curvature.scale, curvature.bias)
    size = 1 + n_classes
    solutions = []
    for weight, start in zip(weights, starts, strict=True):
        used, total = weight != 0.0, float(weight.sum())
        units = np.sqrt(curvatures + 1.0 / total)
        x = np.concatenate(
            [
                np.append(start.scale, start.bias) * units,
                (roots @ start.weights.T[..., np.newaxis]).ravel(),
            ]
        )
        data = SoftmaxData(
            # Samples are last: sums over a few classes take longer than sums over many samples.
            np.ascontiguousarray(features[used].T),
            np.ascontiguousarray(further[used].T),
            class_indices[used],
            weight[used] / total,
            total,
        )
        x = routine("fit_softmax", "calibration")(
            data, penalty, units, stretch, x, tolerance / len(weights)
        )
        plain = x[:size] / units
        own = (stretch @ x[size:].reshape(n_classes, n_further, 1))[..., 0]
        solutions.append(Weighted(float(plain[0]), plain[1:], own.T))
    return solutions


LARGEST_LOG_ODDS = 15.0
"""Larger log-odds are not credible, so the decoder clips them."""

# The limit for the solver is larger: among very sure binaries, it must know which is the surest.
# A decision is the hyperbolic tangent of half the log-odds.
_LARGEST_DECISION = float(np.tanh(30.0 / 2))

# Values of ε·n, smallest first. The search stops when the loss no longer falls.
_FLOORS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_LARGEST_FLOOR = 0.2

# With fewer samples for each class on average, only the scale and the floor are learnt: they cannot
# change the winner, and biases learnt from a handful of samples would.
FEW_OF_CLASS = 10

# With fewer samples in all, the penalty of a decoder cannot be chosen: on nine datasets, the
# log-loss was 1 to 2 % larger with 100 samples and 2 % smaller with 150.
_ENOUGH_FOR_DECODER = 150

# A scale of zero would make all classes equal: the first would win.
_LEAST_SCALE = 1e-3

# Values of λ, strongest first. Without weights the decoder is a BiasMap.
_PENALTIES = (0.1, 0.02, 0.004, 0.0008)

# With 1e-3, another λ was chosen in one fit of ten on 13 datasets; 1e-8 took a tenth longer.
_TOLERANCE_OF_DECODER = 1e-5

# With more binaries for each class, or more weights for each sample, a decoder is not tried.
_MANY_BINARIES_OF_CLASS = 7
_MANY_WEIGHTS_OF_SAMPLE = 10

_N_PARTS = 3


def clip_decisions(decisions: Floats) -> Floats:
    """Return decisions whose log-odds are between −30 and 30."""
    return np.asarray(np.clip(decisions, -_LARGEST_DECISION, _LARGEST_DECISION))


def export_clipping(graph: Graph, decisions: Value) -> Value:
    """Return `clip_decisions` as a graph."""
    return graph.add("Clip", decisions, -_LARGEST_DECISION, _LARGEST_DECISION)


def _log_odds(decisions: Floats) -> Floats:
    log_odds = 2.0 * np.arctanh(clip_decisions(decisions))
    return np.asarray(np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


def _logarithms(probabilities: Floats, floor: float) -> Floats:
    """Return log(p + ε). A user's solver may return values below zero because of rounding."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(probabilities, 0.0) + floor))


class FinalMap(Protocol):
    """A fitted final calibration.

    It may also have ``scale`` and ``floor``, if its logits begin with scale·log(p + floor), and
    ``terms(decisions)``, what each binary adds to the logits of each class; explanations use them.
    With ``keep(classes, binaries)``, classes can be removed without out-of-fold scores.
    """

    def apply(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return the calibrated probabilities.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_classes), the solver's
        decisions : array of shape (n_samples, n_binaries), the solver's input
        """
        ...


@stored_as("final calibration/bias")
@dataclass(frozen=True, slots=True, eq=False)
class BiasMap:
    """Logits s·log(p + ε) + b.

    Attributes
    ----------
    scale : float, s; above one if the solver is under-confident
    floor : float, ε; how much probability a class can have that the solver excludes
    bias : array of shape (n_classes,), b

    Examples
    --------
    >>> map = BiasMap(scale=2.0, floor=0.0, bias=np.zeros(2))
    >>> map.apply(np.array([[0.25, 0.75]]), np.empty((1, 0)))
    array([[0.1, 0.9]])
    """

    scale: float
    floor: float
    bias: Floats

    def apply(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return the calibrated probabilities."""
        return softmax(self.logits(probabilities, decisions))

    def logits(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return s·log(p + ε) + b."""
        logits = _logarithms(probabilities, self.floor)
        logits *= self.scale
        logits += self.bias
        return logits

    def keep(self, classes: NDArray[np.intp], binaries: NDArray[np.intp]) -> BiasMap:
        """Return the map of some classes and binaries; weights of other binaries are lost."""
        return replace(self, bias=self.bias[classes])

    def to_onnx(self, graph: Graph, probabilities: Value, decisions: Value) -> Value:
        """Return `apply` as a graph; decisions are clipped."""
        return graph.add("Softmax", self.export_logits(graph, probabilities, decisions), axis=1)

    def export_logits(self, graph: Graph, probabilities: Value, decisions: Value) -> Value:
        """Return `logits` as a graph."""
        logarithms = graph.add("Log", probabilities + float(self.floor))
        return logarithms * float(self.scale) + self.bias

    @classmethod
    def from_state(cls, state: State) -> BiasMap:
        """Return the map of a state."""
        scale, floor = state.number("scale", least=0.0), state.number("floor", least=0.0)
        if not floor and not scale:
            # The logarithm of zero, which is infinite, would be multiplied by zero.
            raise state.fault("floor", "a positive number")
        return cls(scale, floor, state.floats("bias", (None,)))


@stored_as("final calibration/decoder")
@dataclass(frozen=True, slots=True, eq=False)
class DecoderMap(BiasMap):
    """Logits s·log(p + ε) + b + z·W, with z the log-odds of the binaries.

    Attributes
    ----------
    scale, floor, bias : s, ε and b, as in a BiasMap
    weights : array of shape (n_binaries, n_classes), W
    """

    weights: Floats

    def terms(self, decisions: Floats) -> Floats:
        """Return z·W, of shape (n_samples, n_binaries, n_classes), before its sum over binaries."""
        return np.asarray(_log_odds(decisions)[:, :, np.newaxis] * self.weights)

    def logits(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return s·log(p + ε) + b + z·W."""
        logits = BiasMap.logits(self, probabilities, decisions)
        logits += _log_odds(decisions) @ self.weights
        return logits

    def keep(self, classes: NDArray[np.intp], binaries: NDArray[np.intp]) -> DecoderMap:
        """Return the map of some classes and binaries; weights of other binaries are lost."""
        return replace(
            self, bias=self.bias[classes], weights=self.weights[np.ix_(binaries, classes)]
        )

    def export_logits(self, graph: Graph, probabilities: Value, decisions: Value) -> Value:
        """Return `logits` as a graph."""
        # The log-odds, 2 artanh(r). ONNX runtimes have no Atanh in double precision.
        log_odds = graph.add("Log", (decisions + 1.0) / (1.0 - decisions))
        log_odds = graph.add("Clip", log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        base = BiasMap.export_logits(self, graph, probabilities, decisions)
        return base + log_odds @ self.weights

    @classmethod
    def from_state(cls, state: State) -> DecoderMap:
        """Return the map of a state."""
        base = BiasMap.from_state(state)
        return cls(**field_values(base), weights=state.floats("weights", (None, len(base.bias))))


@stored_as("final calibration/provided")
@dataclass(frozen=True, slots=True, eq=False)
class ProvidedMap:
    """A user's calibrator, fitted to the logarithms of probabilities.

    Attributes
    ----------
    calibrator : object with ``predict_proba``
    floor : float, added to probabilities before the logarithm
    n_classes : int
    """

    calibrator: Any
    floor: float
    n_classes: int

    def apply(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return the calibrated probabilities, after checking them."""
        answer = np.asarray(
            self.calibrator.predict_proba(_logarithms(probabilities, self.floor)), dtype=np.float64
        )
        expected = (len(probabilities), self.n_classes)
        if answer.shape != expected:
            raise ArgumentError(
                Argument("final_calibration", self.calibrator),
                f" returned probabilities of shape {answer.shape}; {expected[0]} samples and "
                f"{expected[1]} classes need {expected}.",
            )
        totals = answer.sum(axis=1, keepdims=True)
        if not (np.isfinite(answer).all() and (answer >= 0).all() and (totals > 0).all()):
            raise ArgumentError(
                Argument("final_calibration", self.calibrator),
                " returned values that are not probabilities. They must be finite and not "
                "negative, with a positive sum in each row.",
            )
        return np.asarray(answer / totals)

    def to_onnx(self, graph: Graph, probabilities: Value, decisions: Value) -> Value:
        """Return `apply` as a graph, without its checks."""
        logarithms = graph.add("Log", graph.add("Relu", probabilities) + float(self.floor))
        try:
            answer = export_estimator(graph, logarithms, self.calibrator, "predict_proba")
        except ConversionError as error:
            raise ArgumentError(
                Argument("final_calibration", self.calibrator),
                f" cannot be exported: {error}. Fit with ",
                Argument("final_calibration", "bias"),
                ', "decoder" or None.',
            ) from error
        return answer / answer.sum(axis=1)

    @classmethod
    def from_state(cls, state: State) -> ProvidedMap:
        """Return the map of a state."""
        calibrator = state.value("calibrator")
        if not hasattr(calibrator, "predict_proba"):
            raise state.fault("calibrator", "an object with predict_proba")
        floor = state.number("floor", least=np.finfo(np.float64).tiny, most=LARGEST)
        return cls(calibrator, floor, state.integer("n_classes", least=1))


class OutOfFoldAnswers(NamedTuple):
    """The data that a final calibration learns from.

    Attributes
    ----------
    probabilities : array of shape (n_samples, n_classes), the solver's
    decisions : array of shape (n_samples, n_binaries), out of fold
    class_indices : array of shape (n_samples,), the true classes
    weight : array of shape (n_samples,); a weight of two counts as two samples
    fold_of : array of shape (n_samples,), the fold that held out each sample
    """

    probabilities: Floats
    decisions: Floats
    class_indices: NDArray[np.intp]
    weight: Floats
    fold_of: NDArray[np.intp]

    def take(self, chosen: NDArray[np.bool_]) -> OutOfFoldAnswers:
        """Return some of the samples."""
        return OutOfFoldAnswers._make(each[chosen] for each in self)

    def average(self, values: Floats) -> float:
        """Return the weighted mean of values of the samples."""
        return float((values * self.weight).sum() / self.weight.sum())

    def mean_and_error(self, values: Floats) -> tuple[float, float]:
        """Return the weighted mean of values of the samples, and its standard error."""
        mean = self.average(values)
        return mean, float(np.sqrt(self.average((values - mean) ** 2) / self.weight.sum()))


class FinalFit(NamedTuple):
    """A fitted final calibration and its out-of-fold probabilities.

    Attributes
    ----------
    map : FinalMap
    probabilities : array of shape (n_samples, n_classes)
        The probabilities of each sample from a map that was fitted without the sample's fold.
    """

    map: FinalMap
    probabilities: Floats


CrossFit: TypeAlias = "Callable[[OutOfFoldAnswers, NDArray[np.intp]], FinalFit]"
"""A function of answers and of the parts to leave out in turn, which returns a FinalFit."""

FINAL_CALIBRATIONS: dict[str, CrossFit] = {}
"""The final calibrations by name."""


def register_final_calibration(
    name: str, fit: Callable[[OutOfFoldAnswers], FinalMap], *, kind: type[FinalMap] | None = None
) -> None:
    """Add a final calibration, so that its name is accepted wherever one is chosen.

    Parameters
    ----------
    name : str
    fit : function of `OutOfFoldAnswers` that returns a `FinalMap`
        It is called for all samples, and without each part of them in turn.
    kind : class of the maps, optional
        With ``state`` and ``from_state``, models with it can be saved (see `polytomy.states`); with
        ``to_onnx``, they can be exported.
    """
    if name in {"auto", "none", *FINAL_CALIBRATIONS}:
        raise ArgumentError(
            f"There is already a final calibration called {name!r}. Give this one another name."
        )
    FINAL_CALIBRATIONS[name] = partial(_cross_fit, fit)
    if kind is not None:
        register_kind(f"final calibration/{name}", kind)


def _choose_automatic(answers: OutOfFoldAnswers) -> str:
    """Return the name that "auto" stands for.

    With many binaries for each class, as in one-vs-one of more than 15 classes, the solver already
    averages over so many answers that a decoder only costs time. So it does with hundreds of
    classes of a few samples: no penalty on so many weights is better than having none.
    """
    n_classes, n_binaries = answers.probabilities.shape[1], answers.decisions.shape[1]
    has_many = n_binaries > _MANY_BINARIES_OF_CLASS * n_classes
    n_samples = answers.weight.sum()
    has_many |= n_binaries * n_classes > _MANY_WEIGHTS_OF_SAMPLE * n_samples
    is_small = has_few(answers) or n_samples < _ENOUGH_FOR_DECODER
    return "bias" if has_many or is_small else "decoder"


def check_final_calibration(value: Any) -> None:
    """Raise an ArgumentError unless the value is a name, None or a calibrator."""
    Parameter(
        "final_calibration",
        "an object (not a class) with fit(log_probabilities, y) and predict_proba",
        lambda own: hasattr(own, "fit") and hasattr(own, "predict_proba") and not isclass(own),
        ("auto", *FINAL_CALIBRATIONS),
        allows_none=True,
    ).check(value)


def check_export(final: FinalMap) -> None:
    """Raise an ArgumentError unless a final calibration can be written as an ONNX graph."""
    if not hasattr(final, "to_onnx"):
        raise ArgumentError(
            Argument("final_calibration", getattr(final, "calibrator", final)),
            " cannot be exported. Fit with ",
            Argument("final_calibration", "bias"),
            ', "decoder" or None.',
        )


def fit_final(option: Any, answers: OutOfFoldAnswers, seed: int | None = None) -> FinalFit:
    """Return the final calibration of an option, fitted to out-of-fold answers.

    Parameters
    ----------
    option : a name in FINAL_CALIBRATIONS, "auto", or an object with
        ``fit(log_probabilities, y)`` and ``predict_proba``; the object is copied
    answers : OutOfFoldAnswers
    seed : int, optional
        Sets every random_state of the object.
    """
    parts = inner_parts(answers.fold_of)
    if isinstance(option, str):
        name = _choose_automatic(answers) if option == "auto" else option
        return FINAL_CALIBRATIONS[name](answers, parts)
    return _cross_fit(lambda some: _fit_provided(option, some, seed), answers, parts)


def _cross_fit(
    fit: Callable[[OutOfFoldAnswers], FinalMap],
    answers: OutOfFoldAnswers,
    parts: NDArray[np.intp],
) -> FinalFit:
    """Fit a map to all samples, and to all but each part for the probabilities of the part."""
    whole = fit(answers)
    held_out = np.empty_like(answers.probabilities)
    n_classes = len(np.unique(answers.class_indices))
    for part in np.unique(parts):
        is_held_out = parts == part
        # A part that has all samples of a class cannot be left out: the map would not know it.
        is_complete = len(np.unique(answers.class_indices[~is_held_out])) == n_classes
        own = fit(answers.take(~is_held_out)) if is_complete else whole
        chosen = answers.take(is_held_out)
        held_out[is_held_out] = own.apply(chosen.probabilities, chosen.decisions)
    return FinalFit(whole, held_out)


def inner_parts(fold_of: NDArray[np.intp], n_parts: int = _N_PARTS) -> NDArray[np.intp]:
    """Return parts of the samples for cross-validation: whole folds, if there are enough."""
    folds = np.unique(fold_of)
    if len(folds) < _N_PARTS:
        return np.arange(len(fold_of)) % _N_PARTS
    return np.searchsorted(folds, fold_of) % min(len(folds), n_parts)


def _fit_bias(answers: OutOfFoldAnswers, parts: NDArray[np.intp]) -> FinalFit:
    solution, floor = _fit_floor(answers)
    logarithms = _logarithms(answers.probabilities, floor)
    classes, weight = answers.class_indices, answers.weight
    # For each part, the weights of the other parts.
    others = np.where(parts == np.arange(parts.max() + 1)[:, np.newaxis], 0.0, weight)
    has_bias = not has_few(answers)
    if has_bias:
        solutions = fit_each_weighting(logarithms, classes, others, solution, has_bias=True)
        held_out = _apply_to_parts(solutions, logarithms, parts)
        has_bias = not _costs_accuracy(held_out, answers)
    if not has_bias:
        weights = np.vstack([weight, others])
        solution, *solutions = fit_each_weighting(logarithms, classes, weights, has_bias=False)
        held_out = _apply_to_parts(solutions, logarithms, parts)
    return FinalFit(BiasMap(max(solution.scale, _LEAST_SCALE), floor, solution.bias), held_out)


def has_few(answers: OutOfFoldAnswers) -> bool:
    """Return whether there are too few samples to learn anything about a class."""
    return bool(answers.weight.sum() < FEW_OF_CLASS * answers.probabilities.shape[1])


def _apply_to_parts(
    solutions: Sequence[ScaleAndBias], logarithms: Floats, parts: NDArray[np.intp]
) -> Floats:
    """Return the probabilities of each sample, from the solution of its part."""
    scales = np.array([max(each.scale, _LEAST_SCALE) for each in solutions])
    biases = np.array([each.bias for each in solutions])
    return softmax(scales[parts, np.newaxis] * logarithms + biases[parts])


def _costs_accuracy(probabilities: Floats, answers: OutOfFoldAnswers) -> bool:
    """Return whether the solver's own winners are right more often, by a standard error or more."""
    classes = answers.class_indices
    was_right = answers.probabilities.argmax(axis=1) == classes
    lost = was_right.astype(np.float64) - (probabilities.argmax(axis=1) == classes)
    mean, error = answers.mean_and_error(lost)
    return bool(mean > 0.0 and mean >= error)


def _fit_floor(answers: OutOfFoldAnswers) -> tuple[ScaleAndBias, float]:
    """Return the likeliest scale and bias, and the floor ε that goes with them."""
    n_samples = float(answers.weight.sum())
    best: ScaleAndBias | None = None
    best_floor, start = 0.0, None
    for multiple in _FLOORS:
        floor = min(multiple / n_samples, _LARGEST_FLOOR)
        if floor == best_floor:
            break
        logarithms, weights = _logarithms(answers.probabilities, floor), answers.weight[np.newaxis]
        (start,) = fit_each_weighting(
            logarithms, answers.class_indices, weights, start, has_bias=True
        )
        if best is not None and start.loss >= best.loss:
            break
        best, best_floor = start, floor
    assert best is not None
    return best, best_floor


def _fit_decoder(answers: OutOfFoldAnswers, parts: NDArray[np.intp]) -> FinalFit:
    """Choose λ by cross-validation over the parts, then fit to all samples."""
    plain = _fit_bias(answers, parts)
    assert isinstance(plain.map, BiasMap)
    base = plain.map
    log_odds = _log_odds(answers.decisions)
    # A binary whose answer never changes would be a second bias.
    log_odds[:, np.ptp(log_odds, axis=0) == 0.0] = 0.0
    logarithms = _logarithms(answers.probabilities, base.floor)
    n_features, n_classes = log_odds.shape[1], logarithms.shape[1]
    nothing = Weighted(base.scale, base.bias, np.zeros((n_features, n_classes)))
    curvature = find_curvature(logarithms, log_odds, answers.weight, nothing)

    def fit(weights: Floats, penalty: float, starts: Sequence[Weighted]) -> list[Weighted]:
        data = logarithms, log_odds, answers.class_indices, weights
        return fit_weights(*data, penalty, starts, curvature, tolerance=_TOLERANCE_OF_DECODER)

    masks = [parts != part for part in np.unique(parts)]
    states = [nothing] * len(masks)
    tried, starts = [plain.probabilities], [nothing]
    losses = [_losses(plain.probabilities, answers)]
    for penalty in _PENALTIES if len(masks) > 1 else ():
        states = fit(answers.weight * masks, penalty, states)
        held_out = np.empty_like(logarithms)
        for mask, own in zip(masks, states, strict=True):
            logits = own.scale * logarithms[~mask] + own.bias + log_odds[~mask] @ own.weights
            held_out[~mask] = softmax(logits)
        tried.append(held_out)
        starts.append(Weighted(*(np.mean(values, axis=0) for values in zip(*states, strict=True))))
        losses.append(_losses(held_out, answers))
        if answers.average(losses[-1]) > answers.average(losses[-2]):
            break  # weaker penalties would be worse still
    chosen = _strongest_penalty(losses, answers)
    if chosen == 0:
        return plain
    penalty, start = _PENALTIES[chosen - 1], starts[chosen]
    (whole,) = fit(answers.weight[np.newaxis], penalty, [start])
    map_ = DecoderMap(whole.scale, base.floor, whole.bias, whole.weights)
    return FinalFit(map_, tried[chosen])


def _losses(probabilities: Floats, answers: OutOfFoldAnswers) -> Floats:
    own = probabilities[np.arange(len(probabilities)), answers.class_indices]
    return np.asarray(-np.log(np.maximum(own, np.finfo(np.float64).tiny)))


def _strongest_penalty(losses: list[Floats], answers: OutOfFoldAnswers) -> int:
    """Return the first of the tried maps that is within one standard error of the best.

    The standard error is that of the difference between the two, sample by sample.
    """
    best = min(losses, key=answers.average)
    means, errors = zip(*(answers.mean_and_error(each - best) for each in losses), strict=True)
    return int(np.argmax(np.array(means) <= errors))


def _fit_provided(option: Any, answers: OutOfFoldAnswers, seed: int | None) -> ProvidedMap:
    from sklearn.utils.validation import has_fit_parameter

    calibrator = copy.deepcopy(option)
    if hasattr(calibrator, "get_params"):
        seed_all(calibrator, seed)
    floor = min(_FLOORS[0] / float(answers.weight.sum()), _LARGEST_FLOOR)
    logarithms = _logarithms(answers.probabilities, floor)
    is_weighted = bool((answers.weight != 1.0).any())
    if is_weighted and not has_fit_parameter(calibrator, "sample_weight"):
        raise ArgumentError(
            Argument("final_calibration", option),
            " has a fit without sample_weight, and the samples have weights. Use a calibrator "
            "that takes them, or ",
            Argument("final_calibration", "bias"),
            ".",
        )
    weights = {"sample_weight": answers.weight} if is_weighted else {}
    calibrator.fit(logarithms, answers.class_indices, **weights)
    return ProvidedMap(calibrator, floor, logarithms.shape[1])


FINAL_CALIBRATIONS |= {"bias": _fit_bias, "decoder": _fit_decoder}
