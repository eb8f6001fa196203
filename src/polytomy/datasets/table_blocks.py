"""The common form of tables in all file formats: blocks of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.label_index import LabelIndex
from polytomy.datasets.located_errors import error_at
from polytomy.errors import DataError

__all__ = ["NoRowsError", "RawBlock", "SampleTable", "check_finite"]


class NoRowsError(DataError):
    """A file without rows, which a folder may contain."""


class RawBlock(NamedTuple):
    """Samples whose text is replaced by numbers.

    Attributes
    ----------
    X : array or CSR array; text columns hold the numbers of their values
    labels : numbers of the labels; None if they are not read
    row_numbers : lines or rows of the file, counted from one
    """

    X: Any
    labels: NDArray[np.intp] | None
    row_numbers: NDArray[np.int64]


class SampleTable(Protocol):
    """A file of samples.

    Attributes
    ----------
    n_features : number of columns of a block's X
    n_rows : number of rows; None if it is known only after reading all of them
    bytes_per_row : approximate size of a row of X
    feature_names : names of the features; None if the file has no names
    label_index : labels that the label numbers of blocks stand for
    categories : for each text feature, the values that its numbers stand for
    """

    @property
    def n_features(self) -> int: ...  # noqa: D102

    @property
    def n_rows(self) -> int | None: ...  # noqa: D102

    @property
    def bytes_per_row(self) -> int: ...  # noqa: D102

    @property
    def feature_names(self) -> tuple[str, ...] | None: ...  # noqa: D102

    @property
    def label_index(self) -> LabelIndex: ...  # noqa: D102

    @property
    def categories(self) -> Mapping[int, CategoryIndex]: ...  # noqa: D102

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples in order, at most `n_rows` at a time."""
        ...


def check_finite(
    X: Any, row_numbers: NDArray[np.int64], source: str, names: tuple[str, ...] | None = None
) -> None:
    """Raise DataError with the position of the first value of X that is not finite."""
    if isinstance(X, np.ndarray):
        bad = np.argwhere(~np.isfinite(X))
    else:
        entries = np.flatnonzero(~np.isfinite(X.data))
        rows = np.searchsorted(X.indptr, entries, side="right") - 1
        bad = np.column_stack([rows, X.indices[entries]])
    if len(bad):
        row, column = (int(i) for i in bad[0])
        what = f"{X[row, column]} is not a finite number"
        raise error_at(source, what, row=int(row_numbers[row]), column=column, names=names)
