"""Samples and labels of a data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Data"]


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Samples of a file, or of a block of it.

    Attributes
    ----------
    X : float64 array or CSR array of shape (n_samples, n_features)
    y : array of shape (n_samples,); None if no labels were read
        Integers if all labels are integers, else floats if all are numbers, else text.
    feature_names : tuple of str, one for each column of X; None if the file has no names
    row_numbers : array of shape (n_samples,)
        Line of each sample in a text file, or row in any other file, counted from one.
    columns : tuple of str
        Columns of the file before one-hot encoding; None if the file has no names.
    label_name : str
        Name of the label column; None if the file has no names.
    categories : dict of str to tuple of str
        Text columns that were one-hot encoded, and their values.
    is_zero_based : bool
        Whether the features of an svmlight file are numbered from 0; None for other formats.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    row_numbers: NDArray[np.int64]
    columns: tuple[str, ...] | None = None
    label_name: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_zero_based: bool | None = None

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
