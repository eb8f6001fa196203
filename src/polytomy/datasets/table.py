"""What every reader of a format gives: blocks of numbers, and what the numbers stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.labels import LabelIndex, UnknownLabelError
from polytomy.datasets.places import problem_at

__all__ = ["RawBlock", "Table", "number_labels"]


class RawBlock(NamedTuple):
    """Samples with numbers in place of text.

    Attributes
    ----------
    X : array or CSR array; columns of text hold the numbers of their values
    labels : numbers of the labels; None if they are not wanted, or not there
    row_numbers : lines or rows of the file, from one
    """

    X: Any
    labels: NDArray[np.intp] | None
    row_numbers: NDArray[np.int64]


class Table(Protocol):
    """A file of samples.

    Attributes
    ----------
    n_features : number of columns of a block's X
    bytes_of_row : bytes that a row of X takes, about
    feature_names : their names, if they have any
    index : the labels that the numbers of blocks stand for
    categories : for a feature that is text, the values that its numbers stand for
    """

    @property
    def n_features(self) -> int: ...  # noqa: D102

    @property
    def bytes_of_row(self) -> int: ...  # noqa: D102

    @property
    def feature_names(self) -> tuple[str, ...] | None: ...  # noqa: D102

    @property
    def index(self) -> LabelIndex: ...  # noqa: D102

    @property
    def categories(self) -> Mapping[int, CategoryIndex]: ...  # noqa: D102

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples in order, at most so many at a time."""
        ...


def number_labels(
    index: LabelIndex, labels: NDArray[Any], row_numbers: NDArray[np.int64], source: str
) -> NDArray[np.intp]:
    """Return the numbers of labels; DataError with the row of one that is none of the classes."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        at = int(np.argmin(np.isfinite(labels)))
        what = f"the label is missing ({labels[at]})"
        raise problem_at(source, what, row=int(row_numbers[at]))
    try:
        return index.numbers(labels)
    except UnknownLabelError:
        pass
    for label, row in zip(labels.tolist(), row_numbers.tolist(), strict=True):
        try:
            index.number(label)
        except UnknownLabelError as error:
            shown = int(label) if isinstance(label, float) and label.is_integer() else label
            raise problem_at(source, f'label "{shown}" {error}', row=row) from None
    raise AssertionError("labels that are known one by one are known together")
