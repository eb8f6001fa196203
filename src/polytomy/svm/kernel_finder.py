"""The kernel of an SVC on any part of the data, if its gamma depends on the part."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from polytomy.inputs.rows import take_rows
from polytomy.inputs.samples import blocks_of
from polytomy.inputs.sparse import is_sparse
from polytomy.svm.kernel_functions import KernelFunction

__all__ = ["KernelFinder"]

_BLOCK_BYTES = 2**22

# A variance below this fraction of the mean square has lost half of its digits to rounding.
_CANCELLED = 1e-8


class KernelFinder:
    """Finds the kernels that an SVC would have if it were fitted to some rows of the data.

    ``gamma="scale"`` is 1 / (n_features · variance of all values of the rows). The sums for it are
    computed once for each row, not once for each of the many parts of the data.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_rows, n_features)

    Examples
    --------
    >>> finder = KernelFinder(np.array([[0.0], [2.0], [9.0]]))
    >>> finder.kernels_of(SVC(), np.arange(3), np.array([[True, True, False]]))
    [KernelFunction(kind='rbf', gamma=1.0, degree=0, coef0=0.0)]
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        self._n_features = X.shape[1]

    @cached_property
    def _sums_and_squares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The sum and the sum of squares of each row."""
        X, n_rows = self._X, self._X.shape[0]
        sums, squares = np.empty((2, n_rows))
        # The variance of values far from zero is a small difference of large numbers.
        centre = 0.0 if is_sparse(X) else float(X.mean())
        for block in blocks_of(n_rows, 8 * self._n_features, _BLOCK_BYTES):
            part = X[block] if is_sparse(X) else X[block] - centre
            sums[block] = np.asarray(part.sum(axis=1)).ravel()
            products = part.multiply(part) if is_sparse(X) else part * part
            squares[block] = np.asarray(products.sum(axis=1)).ravel()
        return sums, squares

    def kernels_of(
        self, svc: SVC, rows: NDArray[np.intp], parts: NDArray[np.bool_]
    ) -> list[KernelFunction]:
        """Return the kernel that the SVC has on each of several parts of some rows.

        Parameters
        ----------
        svc : SVC
        rows : array of shape (n,), ascending
        parts : bool array of shape (n_parts, n)
        """
        if svc.kernel == "linear" or svc.gamma != "scale":
            return [self._fitted_to(svc, self._X)] * len(parts)
        sums, squares = self._sums_and_squares
        n_values = self._n_features * np.count_nonzero(parts, axis=1)
        mean_squares = parts @ squares[rows] / n_values
        variances = mean_squares - (parts @ sums[rows] / n_values) ** 2
        kernels = []
        for part, variance, mean_square in zip(parts, variances, mean_squares, strict=True):
            if variance > _CANCELLED * mean_square:
                with np.errstate(over="ignore"):  # the values may be almost equal
                    gamma = 1.0 / (self._n_features * variance)
                kernels.append(KernelFunction(svc.kernel, gamma, svc.degree, svc.coef0))
            else:
                kernels.append(self._fitted_to(svc, take_rows(self._X, rows[part])))
        return kernels

    def _fitted_to(self, svc: SVC, X: Any) -> KernelFunction:
        if svc.kernel == "linear":
            return KernelFunction("linear")
        kernel = KernelFunction.from_parameters(svc, X)
        assert kernel is not None
        return kernel
