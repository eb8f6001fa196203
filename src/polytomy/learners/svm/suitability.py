"""Which support vector machines and data can be trained on one kernel matrix, and why not.

Also: one gamma for all machines of a scheme, without which they could not share kernel values, and
the C of linear classifiers that depends on the data in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from polytomy.errors import Argument, ArgumentError, PolytomyWarning, warn_caller
from polytomy.inputs.rows import count_rows, refuse_dates
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import is_plain_array
from polytomy.learners.preparation import (
    copy_unfitted,
    has_plain_attributes,
    side_labels,
    split_pipeline,
)
from polytomy.learners.svm.kernels import (
    LARGEST_DEGREE,
    Kernel,
    KernelFunction,
    effective_gamma,
    find_kernel,
    has_scaled_C,
    spread_of,
    uses_gamma,
    validate_parameters,
    variance_of,
)
from polytomy.routines.dispatch import prefers_compiled

NOT_COMPILED = "the compiled routines are not used"
"""Why nothing can be trained on a matrix, as a clause."""

_LARGEST = float(np.finfo(np.float32).max)

# The largest γ|x|² of rbf kernels. Squared distances come from inner products, with rounding errors
# of 1e-16 times this: beyond it, even the kernel of a sample with itself is not one.
_LARGEST_RBF_SQUARE = 1e9

# C="scale" is this number divided by the median squared distance of the rows from their mean.
_SCALED_C = 3.0

# There is a warning if C is more than so many times C="scale", for at least so many classes with
# fewer than so many rows each.
_FAR_ABOVE = 30.0
_MANY_CLASSES = 50
_FEW_OF_CLASS = 30


class UnsuitableError(Exception):
    """Something cannot be trained on a common matrix; the message is the reason, as a clause."""


def check_suitable(estimator: Any) -> Kernel:
    """Return the kind of an SVC's kernel; UnsuitableError unless it can be trained here.

    Examples
    --------
    >>> check_suitable(SVC(kernel="precomputed"))
    Traceback (most recent call last):
    polytomy.learners.svm.suitability.UnsuitableError: its kernel is 'precomputed'
    """
    # Not isinstance: a subclass may do anything.
    if type(estimator) is not SVC:
        raise UnsuitableError(f"{type(estimator).__name__} is not an SVC")
    kernel = find_kernel(estimator.kernel)
    if kernel is None:
        raise UnsuitableError(f"its kernel is {estimator.kernel!r}")
    if estimator.verbose:
        raise UnsuitableError("verbose=True asks for LIBSVM's own report")
    weights: Any = (1.0, 1.0)
    try:
        if has_plain_attributes(estimator):
            _validate_plain(**vars(estimator))
        else:
            validate_parameters(estimator)
        if estimator.class_weight is not None:
            sides = np.array(side_labels(estimator))
            weights = compute_class_weight(estimator.class_weight, classes=sides, y=sides)
    except ValueError as error:
        # Training by LIBSVM raises the error again, where the user expects it.
        raise UnsuitableError("its parameters are invalid") from error
    if "degree" in kernel.parameters and estimator.degree > LARGEST_DEGREE:
        raise UnsuitableError(f"its degree is above {LARGEST_DEGREE}")
    if not all(weight > 0 for weight in weights):
        raise UnsuitableError("class_weight gives a side no weight")
    return kernel


@lru_cache(typed=True)
def _validate_plain(**parameters: Any) -> None:
    """Raise ValueError if parameters of an SVC are invalid; it need not be asked twice."""
    svc = SVC()
    vars(svc).update(parameters)
    validate_parameters(svc)


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
        raise UnsuitableError(NOT_COMPILED)


def check_range(function: KernelFunction, largest_square: float) -> None:
    """Raise an UnsuitableError if kernel values may be too large, or distances inaccurate.

    Parameters
    ----------
    function : KernelFunction
    largest_square : float
        The largest |x|² of the data, which bounds all inner products.

    Examples
    --------
    >>> check_range(KernelFunction("poly", gamma=0.5, degree=3), largest_square=100.0)
    """
    size = function.largest_value(largest_square)
    if not max(size, 4 * largest_square, abs(function.gamma)) < _LARGEST:
        raise UnsuitableError("its kernel values are too large for single precision")
    if function.is_of_distances and function.gamma * largest_square > _LARGEST_RBF_SQUARE:
        raise UnsuitableError("its features are too large for exact distances")


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


def fix_gamma(estimators: Sequence[Any], X: Any) -> list[Any]:
    """Return the estimators, with ``gamma="scale"`` and ``"auto"`` of SVCs replaced by a number.

    The number is what scikit-learn's SVC computes from all rows of X. So the machines of one-vs-one
    equal those of SVC itself, and all machines share one kernel. An estimator that occurs several
    times is also a single object in the result. An SVC after other steps of a pipeline sees other
    features, and keeps its parameter.

    Parameters
    ----------
    estimators : unfitted estimators
    X : training data of any kind

    Examples
    --------
    >>> fix_gamma([SVC(C=10)], [[0.0, 0.0], [2.0, 2.0]])
    [SVC(C=10, gamma=0.5)]
    """
    if not has_gamma_of_data(estimators):
        return list(estimators)
    try:
        numbers = as_numbers(X)
    except (UnsuitableError, TypeError, ValueError):
        return list(estimators)  # training raises the error where the user expects it
    return fix_gamma_by_variance(estimators, numbers.shape[1], variance_of(numbers))


def fix_gamma_by_variance(estimators: Sequence[Any], n_features: int, variance: float) -> list[Any]:
    """Do the same as `fix_gamma`, given the variance of all values instead of the values.

    Parameters
    ----------
    estimators : unfitted estimators
    n_features : int
    variance : float

    Examples
    --------
    >>> fix_gamma_by_variance([SVC(C=10)], 2, 1.0)
    [SVC(C=10, gamma=0.5)]
    """

    fixed: dict[int, Any] = {}
    for estimator in estimators:
        if id(estimator) in fixed:
            continue
        fixed[id(estimator)] = estimator
        if _has_gamma_of_data(estimator):
            fixed[id(estimator)] = copy_unfitted(estimator)
            fixed[id(estimator)].gamma = effective_gamma(estimator.gamma, n_features, variance)
    return [fixed[id(estimator)] for estimator in estimators]


def has_gamma_of_data(estimators: Iterable[Any]) -> bool:
    """Return whether the gamma of any estimator is a rule instead of a number."""
    return any(map(_has_gamma_of_data, estimators))


def _has_gamma_of_data(estimator: Any) -> bool:
    if type(estimator) not in (SVC, NuSVC) or not uses_gamma(estimator):
        return False
    return isinstance(estimator.gamma, str) and estimator.gamma in ("scale", "auto")


def fix_C(estimators: Sequence[Any], X: Any, n_classes: int) -> list[Any]:
    """Return the estimators, with ``C="scale"`` of linear classifiers replaced by a number.

    The number is 3 divided by the median squared distance of the rows of X from their mean, so that
    the penalty does not depend on the units of the features and their origin, and little on a few
    long rows. An estimator that occurs several times is also a single object in the result. Warns
    if the classes are many and small and C is far above that number.

    Parameters
    ----------
    estimators : unfitted estimators
    X : training data of any kind
    n_classes : int

    Examples
    --------
    >>> fix_C([LinearSVC(C="scale")], [[0.0, 2.0], [6.0, 0.0]], n_classes=2)
    [LinearSVC(C=0.3)]
    """
    different = {id(each): each for each in estimators}
    scaled = [key for key, each in different.items() if has_scaled_C(split_pipeline(each)[1])]
    is_crowded = n_classes >= _MANY_CLASSES and count_rows(X) < _FEW_OF_CLASS * n_classes
    given = [each for each in different.values() if is_crowded and _has_linear_C(each)]
    if not scaled and not given:
        return list(estimators)
    for key in scaled:
        if split_pipeline(different[key])[1] is not different[key]:
            raise ArgumentError(
                'C="scale" depends on the rows that a classifier is fitted to, and each partition '
                "fits its own pipeline. Use ",
                Argument("shared_preprocessing", True),
                ", or transform the data first.",
            )
    try:
        spread = spread_of(as_numbers(X))
    except (UnsuitableError, TypeError, ValueError):
        return list(estimators)  # training raises the error where the user expects it
    C = _SCALED_C / spread if spread > 0.0 else 1.0
    steep = [each for each in given if each.C > _FAR_ABOVE * C]
    if steep:
        warn_caller(
            f"{type(steep[0]).__name__} with C={steep[0].C:g} hardly regularises: the median "
            f"squared distance of the rows from their mean is {spread:.3g}, and there are fewer "
            f"than {_FEW_OF_CLASS} rows for each of {n_classes} classes. "
            f'C="scale", which is {C:.2g} for these rows, is often faster and more accurate.',
            PolytomyWarning,
        )
    fixed = {key: copy_unfitted(different[key]).set_params(C=C) for key in scaled}
    return [fixed.get(id(each), each) for each in estimators]


def _has_linear_C(estimator: Any) -> bool:
    is_linear = type(estimator) in (LogisticRegression, LinearSVC)
    return is_linear and isinstance(estimator.C, int | float)


def family_of(svc: SVC) -> tuple[tuple[str, str], ...]:
    """Return a key that is the same for SVCs that differ only in C."""
    params = svc.get_params()
    return tuple((name, repr(params[name])) for name in sorted(params) if name != "C")
