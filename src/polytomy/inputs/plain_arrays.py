"""Arrays that need no conversion, recognised without scikit-learn's checks.

Those checks take a tenth of a millisecond or more, which is a lot for few samples.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_plain_labels", "is_plain_array"]


def is_plain_array(X: Any) -> TypeGuard[NDArray[np.float64]]:
    """Return whether ``check_array`` would return X unchanged: finite float64, in C order.

    Examples
    --------
    >>> is_plain_array(np.eye(2)), is_plain_array(np.array([[np.nan]])), is_plain_array([[1.0]])
    (True, False, False)
    """
    is_in_form = (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype == np.float64
        and X.size > 0
        and X.flags.c_contiguous
    )
    # A sum that overflows is not finite either; such arrays go through scikit-learn's checks.
    with np.errstate(over="ignore", invalid="ignore"):
        return is_in_form and bool(np.isfinite(X.sum()))


def are_plain_labels(y: Any) -> TypeGuard[NDArray[Any]]:
    """Return whether y is an array of labels that scikit-learn accepts without a warning.

    scikit-learn warns if more than half of the labels are different: they may be numbers to
    predict.

    Examples
    --------
    >>> are_plain_labels(np.array([0, 1, 0, 1])), are_plain_labels(np.array([0.5, 1.5, 0.5, 1.5]))
    (True, False)
    """
    is_in_form = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuU" and y.size > 0
    return is_in_form and 2 * len(np.unique(y)) <= len(y)
