"""Scalers as range files of LIBSVM's svm-scale.

``svm-scale -r FILE`` maps each feature linearly: its smallest value to a lower bound and its
largest to an upper bound, which are the same for all features. Every scaler that shifts and scales
features separately can be written this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from polytomy.errors import ArgumentError

__all__ = ["print_range"]


def print_range(scaler: Any) -> str:
    """Return the text of the range file with which svm-scale does the same as a fitted scaler.

    Examples
    --------
    >>> print(print_range(StandardScaler().fit([[1.0, 0.0], [3.0, 8.0]])), end="")
    x
    -1 1
    1 1.0 3.0
    2 0.0 8.0
    """
    shift, scale = _shift_and_scale(scaler)
    lines = ["x", "-1 1"]
    lines += [
        f"{index} {low!r} {high!r}"
        for index, (low, high) in enumerate(
            zip((shift - scale).tolist(), (shift + scale).tolist(), strict=True), 1
        )
    ]
    return "\n".join(lines) + "\n"


def _shift_and_scale(scaler: Any) -> tuple[Any, Any]:
    """Return a and b such that the scaler turns x into (x − a) / b."""
    kind, n_features = type(scaler), getattr(scaler, "n_features_in_", 0)
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    if kind is StandardScaler:
        shift = scaler.mean_ if scaler.with_mean else zeros
        return shift, scaler.scale_ if scaler.with_std else ones
    if kind is MinMaxScaler and not scaler.clip:
        # It computes x · scale_ + min_.
        return -scaler.min_ / scaler.scale_, 1 / scaler.scale_
    if kind is MaxAbsScaler:
        return zeros, scaler.scale_
    raise ArgumentError(
        f"svm-scale cannot do what {scaler!r} does. Use StandardScaler, MaxAbsScaler, or "
        "MinMaxScaler without clip."
    )
