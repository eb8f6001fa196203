"""One gamma for all support vector machines of a scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sklearn.svm import SVC, NuSVC

from polytomy.binary.preparation import copy_unfitted
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.suitability import UnsuitableError, as_numbers

__all__ = ["fix_gamma", "fix_gamma_by_variance", "has_gamma_of_data"]


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
    numbers: Any = None

    def find_gamma(estimator: Any) -> float | None:
        nonlocal numbers
        try:
            numbers = as_numbers(X) if numbers is None else numbers
            kernel = KernelFunction.from_parameters(estimator, numbers)
        except (UnsuitableError, TypeError, ValueError):
            return None  # training raises the error where the user expects it
        return None if kernel is None or kernel.kind == "linear" else kernel.gamma

    return _fix(estimators, find_gamma)


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

    def find_gamma(estimator: Any) -> float | None:
        if estimator.kernel not in ("rbf", "poly", "sigmoid"):
            return None
        if estimator.gamma == "auto":
            return 1.0 / n_features
        if estimator.gamma != "scale":
            return None
        return 1.0 / (n_features * variance) if variance else 1.0

    return _fix(estimators, find_gamma)


def has_gamma_of_data(estimators: Iterable[Any]) -> bool:
    """Return whether the gamma of any estimator is a rule instead of a number."""
    return any(map(_has_text_gamma, estimators))


def _has_text_gamma(estimator: Any) -> bool:
    return type(estimator) in (SVC, NuSVC) and isinstance(estimator.gamma, str)


def _fix(estimators: Sequence[Any], find_gamma: Callable[[Any], float | None]) -> list[Any]:
    """Return the estimators with the gammas that a function returns; None means no change."""
    fixed: dict[int, Any] = {}
    for estimator in estimators:
        if id(estimator) in fixed:
            continue
        fixed[id(estimator)] = estimator
        gamma = find_gamma(estimator) if _has_text_gamma(estimator) else None
        if gamma is not None:
            fixed[id(estimator)] = copy_unfitted(estimator)
            fixed[id(estimator)].gamma = gamma
    return [fixed[id(estimator)] for estimator in estimators]
