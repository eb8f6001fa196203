"""The final calibration: from the solver's probabilities to calibrated class probabilities.

Solvers assume that the binaries are right. They are not, and their errors add up: least squares
gives some classes exactly zero, Platt's targets make one-vs-one under-confident, and a tree
multiplies the errors on its paths. A final calibration learns from out-of-fold answers how far to
trust the solver:

- `BiasMap`: logits s·log(p + ε) + b, with a temperature, a floor and a bias for each class. Biases
  that cost accuracy are left out; the other parameters do not change the winner.
- `DecoderMap`: logits s·log(p + ε) + b + z·W, where z are the log-odds of the binaries. It can also
  learn which binaries to trust.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from polytomy.calibration.softmax_regression import (
    ScaleAndBias,
    Weighted,
    find_basis,
    fit_each_weighting,
    fit_scale_and_bias,
    fit_weights,
)
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.seeds import seed_all
from polytomy.inputs.suggestions import did_you_mean

__all__ = [
    "FINAL_CALIBRATIONS",
    "LARGEST_LOG_ODDS",
    "BiasMap",
    "DecoderMap",
    "FinalFit",
    "FinalMap",
    "OutOfFoldAnswers",
    "ProvidedMap",
    "check_final_calibration",
    "clip_decisions",
    "fit_final",
]

Floats = NDArray[np.float64]

FINAL_CALIBRATIONS = ("auto", "bias", "decoder")
"""The names that `final_calibration` accepts."""

LARGEST_LOG_ODDS = 15.0
"""Larger log-odds are not credible, so the decoder clips them."""

# The limit for the solver is larger: among very sure binaries, it must know which is the surest.
# A decision is the hyperbolic tangent of half the log-odds.
_LARGEST_DECISION = float(np.tanh(30.0 / 2))

# Values of ε·n, smallest first. The search stops when the loss no longer falls.
_FLOORS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_LARGEST_FLOOR = 0.2

# Values of λ, strongest first. Without weights the decoder is a BiasMap.
_PENALTIES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
_N_PARTS = 3


def clip_decisions(decisions: Floats) -> Floats:
    """Return decisions whose log-odds are between −30 and 30."""
    return np.asarray(np.clip(decisions, -_LARGEST_DECISION, _LARGEST_DECISION))


def _log_odds(decisions: Floats) -> Floats:
    log_odds = 2.0 * np.arctanh(clip_decisions(decisions))
    return np.asarray(np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


def _logarithms(probabilities: Floats, floor: float) -> Floats:
    """Return log(p + ε). A user's solver may return values below zero because of rounding."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(probabilities, 0.0) + floor))


class FinalMap(Protocol):
    """A fitted final calibration."""

    def apply(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return the calibrated probabilities.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_classes), the solver's
        decisions : array of shape (n_samples, n_binaries), the solver's input
        """
        ...


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
        return _softmax(self.logits(probabilities))

    def logits(self, probabilities: Floats) -> Floats:
        """Return s·log(p + ε) + b."""
        logits = _logarithms(probabilities, self.floor)
        logits *= self.scale
        logits += self.bias
        return logits


@dataclass(frozen=True, slots=True, eq=False)
class DecoderMap:
    """Logits s·log(p + ε) + b + z·W, with z the log-odds of the binaries.

    Attributes
    ----------
    base : BiasMap, with s, ε and b
    weights : array of shape (n_binaries, n_classes), W
    """

    base: BiasMap
    weights: Floats

    def apply(self, probabilities: Floats, decisions: Floats) -> Floats:
        """Return the calibrated probabilities."""
        logits = self.base.logits(probabilities)
        logits += _log_odds(decisions) @ self.weights
        return _softmax(logits)


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
        return OutOfFoldAnswers(
            self.probabilities[chosen],
            self.decisions[chosen],
            self.class_indices[chosen],
            self.weight[chosen],
            self.fold_of[chosen],
        )


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


def check_final_calibration(value: Any) -> None:
    """Raise an ArgumentError unless the value is a name, None or a calibrator."""
    if value is None or (isinstance(value, str) and value in FINAL_CALIBRATIONS):
        return
    names = ", ".join(f'"{name}"' for name in FINAL_CALIBRATIONS)
    if isinstance(value, str):
        raise ArgumentError(
            Argument("final_calibration", value),
            f" is not known. Use {names}, None, or an object with fit and predict_proba."
            f"{did_you_mean(value, FINAL_CALIBRATIONS)}",
        )
    can_fit = hasattr(value, "fit") and hasattr(value, "predict_proba")
    if isinstance(value, type) or not can_fit:
        raise ArgumentError(
            Argument("final_calibration", value),
            f" must be {names}, None, or an object (not a class) with fit(log_probabilities, y) "
            "and predict_proba(log_probabilities).",
        )


def fit_final(option: Any, answers: OutOfFoldAnswers, seed: int | None = None) -> FinalFit:
    """Return the final calibration of an option, fitted to out-of-fold answers.

    Parameters
    ----------
    option : "bias", "decoder" or an object with ``fit(log_probabilities, y)`` and
        ``predict_proba``; the object is copied. "auto" is "bias".
    answers : OutOfFoldAnswers
    seed : int, optional
        Sets every random_state of the object.
    """
    parts = _inner_parts(answers.fold_of)
    if isinstance(option, str):
        if option == "decoder":
            return _fit_decoder(answers, parts)
        return _fit_bias(answers, parts)
    whole = _fit_provided(option, answers, seed)
    held_out = np.empty_like(answers.probabilities)
    for part in np.unique(parts):
        is_held_out = parts == part
        known = set(answers.class_indices[~is_held_out].tolist())
        # A part that has all samples of a class cannot be left out: the calibrator would not know
        # it.
        is_complete = len(known) == whole.n_classes
        own = _fit_provided(option, answers.take(~is_held_out), seed) if is_complete else whole
        chosen = answers.take(is_held_out)
        held_out[is_held_out] = own.apply(chosen.probabilities, chosen.decisions)
    return FinalFit(whole, held_out)


def _inner_parts(fold_of: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return parts of the samples for cross-validation: whole folds, if there are enough."""
    _, numbers = np.unique(fold_of, return_inverse=True)
    has_enough = numbers.max(initial=0) + 1 >= _N_PARTS
    return (numbers if has_enough else np.arange(len(fold_of))) % _N_PARTS


def _fit_bias(answers: OutOfFoldAnswers, parts: NDArray[np.intp]) -> FinalFit:
    solution, floor = _fit_floor(answers)
    logarithms = _logarithms(answers.probabilities, floor)
    classes, weight = answers.class_indices, answers.weight
    # For each part, the weights of the other parts.
    others = np.where(parts == np.arange(parts.max() + 1)[:, np.newaxis], 0.0, weight)
    solutions = fit_each_weighting(logarithms, classes, others, solution, has_bias=True)
    held_out = _apply_to_parts(solutions, logarithms, parts)
    if _costs_accuracy(held_out, answers):
        weights = np.vstack([weight, others])
        solution, *solutions = fit_each_weighting(logarithms, classes, weights, has_bias=False)
        held_out = _apply_to_parts(solutions, logarithms, parts)
    return FinalFit(BiasMap(solution.scale, floor, solution.bias), held_out)


def _apply_to_parts(
    solutions: Sequence[ScaleAndBias], logarithms: Floats, parts: NDArray[np.intp]
) -> Floats:
    """Return the probabilities of each sample, from the solution of its part."""
    scales = np.array([each.scale for each in solutions])
    biases = np.array([each.bias for each in solutions])
    return _softmax(scales[parts, np.newaxis] * logarithms + biases[parts])


def _costs_accuracy(probabilities: Floats, answers: OutOfFoldAnswers) -> bool:
    """Return whether the solver's own winners are right more often, by a standard error or more."""
    classes, weight = answers.class_indices, answers.weight
    was_right = answers.probabilities.argmax(axis=1) == classes
    lost = was_right.astype(np.float64) - (probabilities.argmax(axis=1) == classes)
    mean = np.average(lost, weights=weight)
    variance = np.average((lost - mean) ** 2, weights=weight)
    return bool(mean > 0.0 and mean >= np.sqrt(variance / weight.sum()))


def _fit_floor(answers: OutOfFoldAnswers) -> tuple[ScaleAndBias, float]:
    """Return the likeliest scale and bias, and the floor ε that goes with them."""
    n_samples = float(answers.weight.sum())
    best: ScaleAndBias | None = None
    best_floor, start = 0.0, None
    for multiple in _FLOORS:
        floor = min(multiple / n_samples, _LARGEST_FLOOR)
        if floor == best_floor:
            break
        start = fit_scale_and_bias(
            _logarithms(answers.probabilities, floor), answers.class_indices, answers.weight, start
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
    logarithms = _logarithms(answers.probabilities, base.floor)
    n_features, n_classes = log_odds.shape[1], logarithms.shape[1]
    nothing = Weighted(base.scale, base.bias, np.zeros((n_features, n_classes)))
    masks = [parts != part for part in np.unique(parts)]
    bases = [find_basis(log_odds[mask]) for mask in masks]
    states = [nothing] * len(masks)
    tried = [plain.probabilities]
    losses = [np.average(_losses(plain.probabilities, answers), weights=answers.weight)]
    if len(masks) > 1:
        for penalty in _PENALTIES:
            held_out = np.empty_like(logarithms)
            for k, mask in enumerate(masks):
                states[k] = fit_weights(
                    logarithms[mask],
                    log_odds[mask],
                    answers.class_indices[mask],
                    answers.weight[mask],
                    penalty,
                    states[k],
                    bases[k],
                    tolerance=1e-6,
                )
                own = states[k]
                logits = own.scale * logarithms[~mask] + own.bias + log_odds[~mask] @ own.weights
                held_out[~mask] = _softmax(logits)
            tried.append(held_out)
            losses.append(np.average(_losses(held_out, answers), weights=answers.weight))
            if losses[-1] > losses[-2]:
                break  # weaker penalties would be worse still
    chosen = _strongest_penalty(tried, answers)
    if chosen == 0:
        return plain
    penalty = _PENALTIES[chosen - 1]
    whole = fit_weights(
        logarithms,
        log_odds,
        answers.class_indices,
        answers.weight,
        penalty,
        nothing,
        find_basis(log_odds),
    )
    map_ = DecoderMap(BiasMap(whole.scale, base.floor, whole.bias), whole.weights)
    return FinalFit(map_, tried[chosen])


def _losses(probabilities: Floats, answers: OutOfFoldAnswers) -> Floats:
    own = probabilities[np.arange(len(probabilities)), answers.class_indices]
    return np.asarray(-np.log(np.maximum(own, np.finfo(np.float64).tiny)))


def _strongest_penalty(tried: list[Floats], answers: OutOfFoldAnswers) -> int:
    """Return the first of the tried maps that is within one standard error of the best.

    The standard error is that of the difference between the two, sample by sample.
    """
    weight = answers.weight
    losses = [_losses(each, answers) for each in tried]
    best = min(losses, key=lambda each: float(np.average(each, weights=weight)))
    for number, each in enumerate(losses):
        difference = each - best
        mean = np.average(difference, weights=weight)
        variance = np.average((difference - mean) ** 2, weights=weight)
        if mean <= np.sqrt(variance / weight.sum()):
            return number
    raise AssertionError("the best is within one standard error of itself")


def _fit_provided(option: Any, answers: OutOfFoldAnswers, seed: int | None) -> ProvidedMap:
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


def _softmax(logits: Floats) -> Floats:
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits
