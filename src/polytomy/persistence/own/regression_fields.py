"""The fields of a regressor in a file, besides those of its classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.classifier import PolytomyClassifier
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.regression import (
    CumulativeScaling,
    IntervalCorrection,
    PolytomyRegressor,
    TargetBins,
)
from polytomy.regression.regressor import CLASSIFIER_PARAMETERS, check_regressor

__all__ = ["read_regression", "read_regression_score", "read_target_range", "write_regression"]

# Log-odds times a larger number could overflow.
_LARGEST = 1e100


def write_regression(regressor: PolytomyRegressor, numbers: NumberWriter) -> dict[str, Any]:
    """Return the bins of a regressor and what it learnt from out-of-fold predictions, as JSON."""
    bins, correction = regressor.bins_, regressor.interval_correction_
    written: dict[str, Any] = {
        "n_bins": regressor.n_bins if isinstance(regressor.n_bins, str) else int(regressor.n_bins),
        "statistic": regressor.statistic,
        "lower": float(bins.edges[0]),
        "upper": float(bins.edges[-1]),
        "slope": float(regressor.cumulative_scaling_.slope),
        "shift": float(regressor.cumulative_scaling_.shift),
        "last_values": numbers.floats(bins.last_values),
        "edges": numbers.floats(bins.edges),
        "bin_of": numbers.integers(bins.bin_of),
        "shares": numbers.floats(bins.shares),
    }
    if correction is not None:
        written["intervals"] = {
            "distances": numbers.floats(correction.distances),
            "reached": numbers.floats(correction.reached),
            "n_effective": float(correction.n_effective),
        }
    if regressor.out_of_fold_score_ is not None:
        written["score"] = {k: float(value) for k, value in regressor.out_of_fold_score_.items()}
    return written


def read_regression(
    fields: Fields, numbers: NumberReader, classifier: PolytomyClassifier
) -> PolytomyRegressor:
    """Return the regressor over a classifier that was read from the same file.

    Parameters
    ----------
    fields : what `write_regression` returned
    numbers : the numbers of the file
    classifier : fitted
    """
    n_bins = fields.raw("n_bins")
    regressor = PolytomyRegressor(
        n_bins=n_bins,
        statistic=fields.text("statistic"),
        **{name: getattr(classifier, name) for name in CLASSIFIER_PARAMETERS},
    )
    try:
        check_regressor(regressor)
    except ArgumentError as error:
        raise ModelFileError(f"{fields.where}: {error}") from error
    regressor.bins_ = _read_bins(fields, numbers, classifier)
    regressor.n_bins_ = regressor.bins_.n_bins
    regressor.cumulative_scaling_ = _read_scaling(fields)
    regressor.interval_correction_ = None
    if "intervals" in fields:
        regressor.interval_correction_ = _read_intervals(fields.fields("intervals"), numbers)
    regressor.out_of_fold_score_ = read_regression_score(fields)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(classifier, name):
            setattr(regressor, name, getattr(classifier, name))
    regressor.classifier_ = classifier
    return regressor


def read_regression_score(fields: Fields) -> dict[str, float] | None:
    """Return the out-of-fold score of a regressor, if it has one."""
    if "score" not in fields:
        return None
    score = fields.fields("score")
    return {name: score.number(name) for name in score}


def read_target_range(fields: Fields) -> dict[str, float]:
    """Return the range of the target, without arrays."""
    return {name: fields.number(name) for name in ("lower", "upper")}


def _read_bins(fields: Fields, numbers: NumberReader, classifier: PolytomyClassifier) -> TargetBins:
    n_bins = len(classifier.classes_)
    if classifier.classes_.tolist() != list(range(n_bins)):
        raise fields.fault("last_values", "for these classes, which are not numbers of bins")
    last_values = numbers.floats(fields.fields("last_values"), n_dimensions=1)
    edges = numbers.floats(fields.fields("edges"), n_dimensions=1)
    bin_of = numbers.integers(fields.fields("bin_of"), below=n_bins)
    shares = numbers.floats(fields.fields("shares"), n_dimensions=1)
    if len(last_values) != n_bins or np.any(np.diff(last_values) <= 0):
        raise fields.fault("last_values", f"a list of {n_bins} ascending numbers")
    with np.errstate(over="ignore"):
        is_finite = len(edges) > 1 and np.isfinite(edges[-1] - edges[0])
    if not is_finite or np.any(np.diff(edges) < 0):
        raise fields.fault("edges", "a list of numbers that do not decrease")
    if len(bin_of) != len(edges) - 1 or np.any(np.diff(bin_of) < 0):
        raise fields.fault("bin_of", "a bin for each piece, in order")
    if len(shares) != len(bin_of) or shares.min() < 0:
        raise fields.fault("shares", "a share for each piece")
    if np.any(np.abs(np.bincount(bin_of, shares, n_bins) - 1) > 1e-6):
        raise fields.fault("shares", "a list of shares that sum to one in each bin")
    return TargetBins(last_values, edges, bin_of.astype(np.intp), shares)


def _read_scaling(fields: Fields) -> CumulativeScaling:
    slope, shift = fields.number("slope"), fields.number("shift")
    if not 0 < slope <= _LARGEST or abs(shift) > _LARGEST:
        raise fields.fault("slope", "a moderate, positive number, or shift is too large")
    return CumulativeScaling(slope, shift)


def _read_intervals(fields: Fields, numbers: NumberReader) -> IntervalCorrection:
    distances = numbers.floats(fields.fields("distances"), n_dimensions=1)
    reached = numbers.floats(fields.fields("reached"), n_dimensions=1)
    if not len(distances) or np.any(np.diff(distances) < 0) or np.abs(distances).max() > 1:
        raise fields.fault("distances", "a list of ascending numbers from -1 to 1")
    if len(reached) != len(distances) or np.any(np.diff(reached) < 0) or reached[-1] > 1 + 1e-6:
        raise fields.fault("reached", "an ascending probability for each distance")
    n_effective = fields.number("n_effective")
    if not n_effective > 0:
        raise fields.fault("n_effective", "a positive number")
    return IntervalCorrection(distances, reached, n_effective)
