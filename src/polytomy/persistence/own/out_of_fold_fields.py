"""Out-of-fold scores in a file, from which a final calibration can be learnt again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError, ModelFileError
from polytomy.model.out_of_fold import OutOfFold
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.final_fields import read_final_option, write_final_option
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter

__all__ = ["read_out_of_fold", "read_probabilities", "write_out_of_fold", "write_probabilities"]

Floats = NDArray[np.float64]

_LARGEST_SEED = 2**32 - 1
_LARGEST_WEIGHT = 1e100
# ``out_of_fold_proba_`` has a row for each training row. It may have this many times the values
# in the file, or this many values if that is more.
_LARGEST_RATIO = 256
_FREE_VALUES = 2**27


def write_out_of_fold(
    out_of_fold: OutOfFold, writer: EstimatorWriter, numbers: NumberWriter
) -> dict[str, Any]:
    """Return all but the scores themselves as JSON; those are a separate member."""
    if not np.isfinite(out_of_fold.scores).all():
        raise ModelFileError("the out-of-fold scores are not finite, so they cannot be saved")
    return {
        "n_rows": out_of_fold.n_rows,
        "rows": numbers.integers(out_of_fold.rows),
        "class_indices": numbers.integers(out_of_fold.class_indices),
        "fold_of": numbers.integers(out_of_fold.fold_of),
        "weight": numbers.floats(out_of_fold.weight),
        "final_calibration": write_final_option(out_of_fold.final_calibration, writer),
        "seed": None if out_of_fold.seed is None else int(out_of_fold.seed),
        "keeps_probabilities": bool(out_of_fold.keeps_probabilities),
    }


def read_out_of_fold(
    fields: Fields,
    scores: NDArray[Any],
    numbers: NumberReader,
    reader: EstimatorReader,
    n_classes: int,
    n_binaries: int,
) -> OutOfFold:
    """Return out-of-fold scores.

    Parameters
    ----------
    fields : what `write_out_of_fold` returned
    scores : the scores, finite
    numbers : the numbers of the file
    reader : reads objects that were saved with skops
    n_classes, n_binaries : of the classifier
    """
    if scores.dtype != np.float32 or scores.ndim != 2 or scores.shape[1] != n_binaries:
        raise ModelFileError(
            f"the out-of-fold scores are not a float32 array for {n_binaries} binaries"
        )
    n_samples = len(scores)
    n_rows = fields.integer("n_rows", least=1)
    rows = numbers.integers(fields.fields("rows"), below=n_rows)
    class_indices = numbers.integers(fields.fields("class_indices"), below=n_classes)
    fold_of = numbers.integers(fields.fields("fold_of"), below=n_rows)
    weight = numbers.floats(fields.fields("weight"), n_dimensions=1)
    for name, array in {
        "rows": rows,
        "class_indices": class_indices,
        "fold_of": fold_of,
        "weight": weight,
    }.items():
        if not len(array) == n_samples > 0:
            raise fields.fault(name, f"a number for each of {n_samples} samples")
    if not (np.diff(rows) > 0).all():
        raise fields.fault("rows", "a list of ascending numbers")
    # Sums of larger weights could overflow, and of smaller ones vanish.
    if not (weight.min() > 0 and weight.max() <= _LARGEST_WEIGHT and weight.sum() > 1e-100):
        raise fields.fault("weight", "a list of positive, moderate numbers")
    option = read_final_option(fields, reader)
    if option is None:
        raise fields.fault("final_calibration", "a name or an object")
    seed = fields.integer("seed", least=0, most=_LARGEST_SEED) if "seed" in fields else None
    return OutOfFold(
        np.ascontiguousarray(scores),
        rows.astype(np.intp),
        n_rows,
        class_indices.astype(np.intp),
        weight.astype(np.float64),
        fold_of.astype(np.intp),
        option,
        seed,
        fields.boolean("keeps_probabilities"),
    )


def write_probabilities(
    probabilities: Floats, out_of_fold: OutOfFold, numbers: NumberWriter
) -> dict[str, Any]:
    """Return the reference to the out-of-fold probabilities of a final calibration."""
    if not _fits_in_memory(out_of_fold.n_rows, probabilities):
        raise ArgumentError(
            Argument("out_of_fold", True),
            f" cannot be saved with probabilities of {len(probabilities)} samples among "
            f"{out_of_fold.n_rows} training samples. Leave it out, or fit with ",
            Argument("keep_out_of_fold", False),
            ".",
        )
    return numbers.floats(probabilities)


def read_probabilities(
    fields: Fields, out_of_fold: OutOfFold, numbers: NumberReader, n_classes: int
) -> Floats:
    """Return the field "probabilities", of shape (n_samples, n_classes)."""
    probabilities = numbers.floats(fields.fields("probabilities"), n_dimensions=2)
    shape = len(out_of_fold.rows), n_classes
    if probabilities.shape != shape or not _are_probabilities(probabilities):
        raise fields.fault("probabilities", f"probabilities of shape {shape}")
    if not _fits_in_memory(out_of_fold.n_rows, probabilities):
        raise ModelFileError(
            f"there are out-of-fold probabilities of {shape[0]} samples for "
            f"{out_of_fold.n_rows} training samples, which are too many"
        )
    return probabilities.astype(np.float64)


def _are_probabilities(array: NDArray[Any]) -> bool:
    is_inside = array.min(initial=0.0) >= 0 and array.max(initial=0.0) <= 1
    return bool(is_inside and (np.abs(array.sum(axis=1) - 1) < 1e-6).all())


def _fits_in_memory(n_rows: int, probabilities: NDArray[Any]) -> bool:
    n_samples, n_classes = probabilities.shape
    most = max(_FREE_VALUES, _LARGEST_RATIO * n_samples * n_classes)
    return bool(n_rows * n_classes <= most)
