"""Checks whether estimators and data can be trained on a common kernel matrix, and why not."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.svm import SVC
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from polytomy.binary.preparation import side_labels
from polytomy.inputs.dates import refuse_dates
from polytomy.inputs.plain_arrays import is_plain_array
from polytomy.inputs.sparse import is_sparse
from polytomy.routines.banks.reference import KINDS
from polytomy.routines.runtime.dispatch import prefers_compiled, routine
from polytomy.routines.runtime.threads import RoutineFailure
from polytomy.svm.kernel_functions import LARGEST_DEGREE, KernelFunction

__all__ = [
    "UnsuitableError",
    "as_numbers",
    "check_compiled",
    "check_range",
    "check_suitable",
    "kernel_of",
    "train_machines",
]

_PLAIN_TYPES = frozenset([bool, int, float, str, type(None)])

_NOT_COMPILED = "the compiled routines are not used"

_LARGEST = float(np.finfo(np.float32).max)


class UnsuitableError(Exception):
    """Something cannot be trained on a common matrix; the message is the reason, as a clause."""


def check_suitable(estimator: Any) -> None:
    """Raise an UnsuitableError unless an estimator is an SVC that can be trained here.

    Examples
    --------
    >>> check_suitable(SVC(kernel="precomputed"))
    Traceback (most recent call last):
    polytomy.svm.suitability.UnsuitableError: its kernel is 'precomputed'
    """
    # Not isinstance: a subclass may do anything.
    if type(estimator) is not SVC:
        raise UnsuitableError(f"{type(estimator).__name__} is not an SVC")
    if not isinstance(estimator.kernel, str) or estimator.kernel not in KINDS:
        raise UnsuitableError(f"its kernel is {estimator.kernel!r}")
    if estimator.verbose:
        raise UnsuitableError("verbose=True asks for LIBSVM's own report")
    weights = np.ones(2)
    try:
        _check_parameters(estimator)
        if estimator.class_weight is not None:
            sides = np.array(side_labels(estimator))
            weights = compute_class_weight(estimator.class_weight, classes=sides, y=sides)
    except ValueError as error:
        # Training by LIBSVM raises the error again, where the user expects it.
        raise UnsuitableError("its parameters are invalid") from error
    if estimator.kernel == "poly" and estimator.degree > LARGEST_DEGREE:
        raise UnsuitableError(f"its degree is above {LARGEST_DEGREE}")
    if not np.all(weights > 0):
        raise UnsuitableError("class_weight gives a side no weight")


def _check_parameters(svc: SVC) -> None:
    """Raise a ValueError if scikit-learn does not accept the parameters of an SVC.

    The check takes as long as training a small machine, so values that passed are cached.
    """
    values = tuple([getattr(svc, name) for name in SVC._parameter_constraints])
    types = tuple(map(type, values))
    if _PLAIN_TYPES.issuperset(types):
        _check_plain_parameters(values, types)
    else:
        svc._validate_params()


@lru_cache(maxsize=256)
def _check_plain_parameters(values: tuple[Any, ...], types: tuple[type, ...]) -> None:
    """Check values; the types are in the cache key because 1 equals True."""
    SVC(**dict(zip(SVC._parameter_constraints, values, strict=True)))._validate_params()


def kernel_of(svc: SVC, X: Any) -> KernelFunction:
    """Return the kernel of a suitable SVC, with its gamma computed from the rows of X.

    Examples
    --------
    >>> kernel_of(SVC(gamma="auto"), np.eye(4))
    KernelFunction(kind='rbf', gamma=0.25, degree=0, coef0=0.0)
    """
    kernel = KernelFunction.from_parameters(svc, X)
    assert kernel is not None
    return kernel


def check_compiled() -> None:
    """Raise an UnsuitableError unless compiled routines are used: the others are too slow.

    Numba is not imported, so it may still fail: see `train_machines`.
    """
    if not prefers_compiled():
        raise UnsuitableError(_NOT_COMPILED)


def train_machines(*arguments: Any) -> Any:
    """Call the routine `train_machines`; raise an UnsuitableError if Numba fails."""
    try:
        return routine("train_machines", "smo", needs_compiled=True)(*arguments)
    except RoutineFailure:
        raise UnsuitableError(_NOT_COMPILED) from None


def check_range(function: KernelFunction, largest_square: float) -> None:
    """Raise an UnsuitableError if kernel values may be too large for single precision.

    Parameters
    ----------
    function : KernelFunction
    largest_square : float
        The largest |x|² of the data, which bounds all inner products.

    Examples
    --------
    >>> check_range(KernelFunction("poly", gamma=0.5, degree=3), largest_square=100.0)
    """
    size = largest_square
    if function.kind == "poly":
        with np.errstate(over="ignore"):
            size = float(
                np.float64(abs(function.gamma) * size + abs(function.coef0)) ** function.degree
            )
    if not max(size, 4 * largest_square, abs(function.gamma)) < _LARGEST:
        raise UnsuitableError("its kernel values are too large for single precision")


def as_numbers(X: Any) -> Any:
    """Return data in the form that SVC uses: a float64 array or a CSR matrix."""
    if is_plain_array(X):
        return X
    refuse_dates(X, "X")
    options: dict[str, Any] = {"dtype": np.float64, "accept_sparse": "csr"}
    try:
        X = check_array(X, order="C", accept_large_sparse=False, **options)
    except (TypeError, ValueError) as error:
        raise UnsuitableError("SVC does not accept X as numbers") from error
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
