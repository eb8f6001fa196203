"""The variance of all values of data in parts, for ``gamma="scale"``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from polytomy.dask.group_tasks import RowBlock
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.svm.matrix import UnsuitableError, as_numbers

__all__ = ["Moments"]


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations of all values of some samples.

    Attributes
    ----------
    n_values, n_features : int
    mean, squares : float

    Examples
    --------
    >>> parts = [Moments.of(np.array([[1.0, 2.0]])), Moments.of(np.array([[3.0, 6.0]]))]
    >>> Moments.merge(parts).variance  # that of 1, 2, 3 and 6
    3.5
    """

    n_values: int
    n_features: int
    mean: float
    squares: float

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """Return the moments of all values of X, or None if they are not numbers."""
        try:
            numbers = as_numbers(X)
        except (UnsuitableError, TypeError, ValueError):
            return None
        n_values = int(np.prod(numbers.shape))
        mean = float(numbers.sum()) / n_values
        if is_sparse(numbers):
            n_zeros = n_values - numbers.nnz
            squares = float(((numbers.data - mean) ** 2).sum()) + n_zeros * mean**2
        else:
            squares = float(((numbers - mean) ** 2).sum())
        return cls(n_values, int(numbers.shape[1]), mean, squares)

    @classmethod
    def of_block(cls, block: RowBlock) -> Self | None:
        """Return the moments of the samples of a block."""
        return cls.of(block.X)

    @classmethod
    def merge(cls, parts: Iterable[Moments | None]) -> Moments | None:
        """Return the moments of the values of all parts; None if those of a part are not known.

        The update is that of Chan, Golub and LeVeque (1983), which avoids cancellation.
        """
        total = Moments(0, 0, 0.0, 0.0)
        for part in parts:
            if part is None:
                return None
            n_values = total.n_values + part.n_values
            gap = part.mean - total.mean
            total = Moments(
                n_values,
                part.n_features,
                total.mean + gap * part.n_values / n_values,
                total.squares + part.squares + gap**2 * total.n_values * part.n_values / n_values,
            )
        return total if total.n_values else None

    @property
    def variance(self) -> float:
        """Variance of the values."""
        return self.squares / self.n_values
