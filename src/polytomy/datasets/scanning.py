"""A first pass over a file that is too large for memory: its labels, its values, its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.datasets.columns import Target
from polytomy.datasets.file_reader import open_table, rows_per_block
from polytomy.datasets.streams import Source
from polytomy.datasets.svmlight import SvmlightTable, ZeroBased

__all__ = ["Scan", "scan_data"]


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What a pass over a file has found.

    Attributes
    ----------
    classes : array of the labels, sorted
    counts : array of int, the rows of each class
    n_features : int, before one-hot encoding
    columns : tuple of str; None if the file has no names
    label_name : str; None if the file has no names
    categories : dict of str to tuple of str
        Text columns to one-hot encode, and their values.
    is_zero_based : bool; None for all formats but svmlight
    """

    classes: NDArray[Any]
    counts: NDArray[np.int64]
    n_features: int
    columns: tuple[str, ...] | None
    label_name: str | None
    categories: dict[str, tuple[str, ...]]
    is_zero_based: bool | None

    @property
    def n_rows(self) -> int:
        """Number of rows of the file."""
        return int(self.counts.sum())


def scan_data(
    path: Source,
    *,
    format: str | None = None,
    target: Target = -1,
    header: bool | None = None,
    features: int | None = None,
    one_hot: bool = False,
    classes: ArrayLike | None = None,
    zero_based: ZeroBased = "auto",
    visit: Callable[[Any], object] | None = None,
) -> Scan:
    """Return what a pass over a file finds, in bounded memory.

    Parameters
    ----------
    path, format, target, header, features, classes, zero_based : see `read_data`
    one_hot : bool, default=False
        Whether text columns will be one-hot encoded.
    visit : function of the features of a block, optional
        Called with each block; text columns have the numbers of their values.
    """
    categories = "one-hot" if one_hot else "refuse"
    table = open_table(
        path, format, target, header, features, categories, classes, zero_based=zero_based
    )
    counts = np.zeros(0, dtype=np.int64)
    for block in table.blocks(rows_per_block(table)):
        assert block.labels is not None, "labels were requested"
        n_labels = max(len(counts), int(block.labels.max(initial=-1)) + 1)
        counts = np.pad(counts, (0, n_labels - len(counts)))
        counts += np.bincount(block.labels, minlength=n_labels)
        if visit is not None:
            visit(block.X)
    labels = table.label_index.found()
    counts = np.pad(counts, (0, len(labels) - len(counts)))
    order = np.argsort(labels, kind="stable")
    names = table.feature_names
    called = names or tuple(f"x{k + 1}" for k in range(table.n_features))
    chosen = getattr(table, "columns", None)
    return Scan(
        labels[order],
        counts[order],
        table.n_features,
        names,
        None if chosen is None else chosen.label_name,
        {called[k]: tuple(sorted(index.values)) for k, index in table.categories.items()},
        table.is_zero_based if type(table) is SvmlightTable else None,
    )
