"""The held-out rows of a stream in a file, so that training continues as if it was never saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from polytomy.calibration.reservoir import Reservoir
from polytomy.errors import Argument, ArgumentError
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter

__all__ = ["read_reservoir", "write_reservoir"]

_LARGEST_SIZE = 2**40
_LARGEST_SEED = 2**31 - 1
_LARGEST_WEIGHT = 1e100


def write_reservoir(reservoir: Reservoir, numbers: NumberWriter) -> dict[str, Any]:
    """Return a reservoir as JSON."""
    X = reservoir.X
    is_matrix = issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2)
    if X is not None and not is_matrix:
        raise ArgumentError(
            Argument("reservoir", True),
            f" needs rows of floating-point numbers; those of the reservoir are {type(X).__name__}"
            f"{f' of {X.dtype}' if isinstance(X, np.ndarray) else ''}. Leave it out.",
        )
    return {
        "size": int(reservoir.size),
        "seed": int(reservoir.seed),
        "n_of_class": numbers.integers(reservoir.n_of_class),
        "weight_of_class": numbers.floats(reservoir.weight_of_class),
        "rows": None if X is None else numbers.matrix(X),
        "class_indices": numbers.integers(reservoir.class_indices),
        "weight": numbers.floats(reservoir.weight),
        "keys": numbers.floats(reservoir.keys),
        "positions": numbers.integers(reservoir.positions),
        "n_rows": int(reservoir.n_rows),
        "next_position": int(reservoir.next_position),
        "starts_late": bool(reservoir.starts_late),
    }


def read_reservoir(
    fields: Fields, numbers: NumberReader, n_classes: int, n_features: int | None
) -> Reservoir:
    """Return the reservoir that `write_reservoir` wrote.

    Parameters
    ----------
    fields : the fields of the reservoir
    numbers : the numbers of the file
    n_classes, n_features : of the classifier
    """
    n_rows = fields.integer("n_rows", least=0)
    rows = numbers.matrix(fields.fields("rows")) if "rows" in fields else None
    n_held = 0 if rows is None else rows.shape[0]
    if rows is not None and (n_held < 1 or rows.shape[1] != n_features):
        raise fields.fault("rows", f"rows of {n_features} features")
    class_indices = numbers.integers(fields.fields("class_indices"), below=n_classes)
    positions = numbers.integers(fields.fields("positions"), below=max(1, n_rows))
    weight = numbers.floats(fields.fields("weight"), n_dimensions=1)
    keys = numbers.floats(fields.fields("keys"), n_dimensions=1)
    for name, array in {
        "class_indices": class_indices,
        "positions": positions,
        "weight": weight,
        "keys": keys,
    }.items():
        if len(array) != n_held:
            raise fields.fault(name, f"a number for each of {n_held} rows")
    if not (np.diff(positions) > 0).all():
        raise fields.fault("positions", "a list of ascending numbers")
    if not ((keys >= 0) & (keys <= 1)).all():
        raise fields.fault("keys", "a list of numbers from 0 to 1")
    n_of_class = numbers.integers(fields.fields("n_of_class"), below=n_rows + 1)
    weight_of_class = numbers.floats(fields.fields("weight_of_class"), n_dimensions=1)
    if not len(n_of_class) == len(weight_of_class) == n_classes:
        raise fields.fault("n_of_class", f"a number for each of {n_classes} classes")
    for name, array in {"weight": weight, "weight_of_class": weight_of_class}.items():
        least = 0 if name == "weight_of_class" else np.finfo(np.float64).tiny
        if not ((array >= least) & (array <= _LARGEST_WEIGHT)).all():
            raise fields.fault(name, "a list of positive, moderate numbers")
    if (weight_of_class[class_indices] <= 0).any():
        raise fields.fault("weight_of_class", "positive for the classes of the rows")
    return Reservoir(
        fields.integer("size", least=1, most=_LARGEST_SIZE),
        fields.integer("seed", least=0, most=_LARGEST_SEED),
        n_of_class,
        weight_of_class.astype(np.float64),
        rows,
        class_indices.astype(np.intp),
        weight.astype(np.float64),
        keys.astype(np.float64),
        positions,
        n_rows,
        fields.integer("next_position", least=0, most=n_rows),
        fields.boolean("starts_late"),
    )
