"""Upper bounds of the coefficients of support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight

from polytomy.binary.preparation import side_labels

__all__ = ["coefficient_bounds"]

_Floats = NDArray[np.float64]


def coefficient_bounds(
    svcs: Sequence[SVC],
    starts: NDArray[np.intp],
    is_positive: NDArray[np.bool_],
    is_kept: NDArray[np.bool_],
    weight: _Floats | None = None,
) -> _Floats:
    """Return the largest allowed coefficient of each sample in each machine: C times its weights.

    Parameters
    ----------
    svcs : SVC of each problem
    starts : array of shape (n_problems + 1,)
        The first sample of each problem, and the number of samples.
    is_positive : array of shape (n_samples,), the sides of the samples
    is_kept : array of shape (n_parts, n_samples)
        The samples in each part; the others have bounds of zero. Class weights are computed from
        the samples in the part.
    weight : array of shape (n_samples,), optional

    Returns
    -------
    array of shape (n_parts, n_samples)

    Examples
    --------
    >>> bounds = coefficient_bounds(
    ...     [SVC(C=4, class_weight="balanced")],
    ...     np.array([0, 3]),
    ...     np.array([True, False, False]),
    ...     np.array([[True, True, True], [True, False, True]]),
    ... )
    >>> bounds
    array([[6., 3., 3.],
           [4., 0., 4.]])
    """
    bounds = np.where(is_kept, np.repeat([float(svc.C) for svc in svcs], np.diff(starts)), 0.0)
    for svc, (start, end) in zip(svcs, pairwise(starts.tolist()), strict=True):
        if svc.class_weight is None:
            continue
        sides = np.array(side_labels(svc))
        side_of = is_positive[start:end].astype(np.intp)
        for bound, is_own in zip(bounds[:, start:end], is_kept[:, start:end], strict=True):
            bound *= compute_class_weight(
                svc.class_weight, classes=sides, y=sides[side_of[is_own]]
            )[side_of]
    return bounds if weight is None else bounds * weight
