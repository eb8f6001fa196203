"""Samples and labels, as they come out of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Data"]


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Samples of a file, all of them or a block.

    Attributes
    ----------
    X : float64 array or CSR array of shape (n_samples, n_features)
    y : array of shape (n_samples,), the labels; None where the file has none
        Whole numbers where all labels are, else numbers, else text.
    feature_names : tuple of str, one for each column of X; None where the file names none
    row_numbers : array of shape (n_samples,)
        The line of a text file that each sample stands in, or its row in another file; from one.
    columns : tuple of str
        The columns of the file that the features were made of; None where the file names none.
    label_name : str
        The column of the label; None where the file names none.
    categories : dict of column and values
        The columns of text that became a feature for each of their values.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    row_numbers: NDArray[np.int64]
    columns: tuple[str, ...] | None = None
    label_name: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    def __repr__(self) -> str:
        labels = "" if self.y is not None else ", no labels"
        return f"<Data: {self.n_samples} samples of {self.n_features} features{labels}>"
