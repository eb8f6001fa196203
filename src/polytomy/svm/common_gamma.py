"""One gamma for all support vector machines of a scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.svm import SVC, NuSVC

from polytomy.binary.preparation import copy_unfitted
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.suitability import UnsuitableError, as_numbers

__all__ = ["fix_gamma"]


def fix_gamma(estimators: Sequence[Any], X: Any) -> list[Any]:
    """Return the estimators; in SVCs, ``gamma="scale"`` and ``"auto"`` become a number.

    The number is the one that scikit-learn's SVC works out on all rows of X. So the machines of
    one-vs-one are those of SVC itself, and all machines share one kernel. Estimators that occur
    several times are the same object in the result, too. An SVC behind other steps of a pipeline
    sees other features, and keeps its parameter.

    Parameters
    ----------
    estimators : unfitted estimators
    X : training data of any kind

    Examples
    --------
    >>> fix_gamma([SVC(C=10)], [[0.0, 0.0], [2.0, 2.0]])
    [SVC(C=10, gamma=0.5)]
    """
    fixed: dict[int, Any] = {}
    numbers: Any = None
    for estimator in estimators:
        if id(estimator) in fixed:
            continue
        fixed[id(estimator)] = estimator
        if type(estimator) not in (SVC, NuSVC) or not isinstance(estimator.gamma, str):
            continue
        try:
            numbers = as_numbers(X) if numbers is None else numbers
            kernel = KernelFunction.from_parameters(estimator, numbers)
        except (UnsuitableError, TypeError, ValueError):
            continue  # training raises the error where the user expects it
        if kernel is not None and kernel.kind != "linear":
            fixed[id(estimator)] = copy_unfitted(estimator)
            fixed[id(estimator)].gamma = kernel.gamma
    return [fixed[id(estimator)] for estimator in estimators]
