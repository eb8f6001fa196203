"""Fitted scikit-learn estimators, created from coefficients."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from polytomy.binary.preparation import copy_unfitted, side_labels
from polytomy.inputs.dates import refuse_dates
from polytomy.inputs.plain_arrays import is_plain_array
from polytomy.inputs.seeds import draw_seed
from polytomy.inputs.sparse import check_sparse

__all__ = ["FittedModels"]


# A float32 array with this many values is not converted: a copy would take twice its memory.
_MANY_VALUES = 2**22


def _is_large_single(X: Any) -> bool:
    is_single = isinstance(X, np.ndarray) and X.dtype == np.float32
    return is_single and X.size >= _MANY_VALUES


class FittedModels:
    """Creates fitted copies of an estimator, all for the same features.

    Parameters
    ----------
    estimator : LogisticRegression or LinearSVC, unfitted
    X : training data
        If the estimator does not accept it, scikit-learn's ValueError or TypeError is raised.

    Attributes
    ----------
    numbers : X as a float64 array or CSR matrix; a large float32 array stays as it is
    sides : labels of the −1 side and the +1 side
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self._template = copy_unfitted(estimator)
        refuse_dates(X, "X")
        if is_plain_array(X):
            self.numbers: Any = X
            self._template.n_features_in_ = X.shape[1]
        else:
            self.numbers = check_sparse(
                validate_data(
                    self._template,
                    X,
                    accept_sparse="csr",
                    dtype=[np.float64, np.float32] if _is_large_single(X) else np.float64,
                    order="C",
                    accept_large_sparse=False,
                )
            )
        self.sides = side_labels(estimator)
        self._classes = np.array(self.sides)
        self._is_logistic = isinstance(estimator, LogisticRegression)

    def make(
        self, coefficients: NDArray[np.float64], bias: float, n_steps: int, seed: int | None
    ) -> Any:
        """Return a fitted estimator.

        Parameters
        ----------
        coefficients : array of shape (n_features + 1,), the last for the constant feature
        bias : the constant feature; zero without an intercept
        n_steps : number of steps of the solver
        seed : seed of the partition, or None
        """
        model = copy.copy(self._template)
        if seed is not None:
            model.random_state = draw_seed(seed)
        model.classes_ = self._classes.copy()
        model.coef_ = coefficients[np.newaxis, :-1].copy()
        model.intercept_ = np.array([bias * coefficients[-1]])
        model.n_iter_ = np.array([n_steps], dtype=np.int32) if self._is_logistic else n_steps
        if not (bias or self._is_logistic):
            model.intercept_ = 0.0  # as in LinearSVC
        return model
