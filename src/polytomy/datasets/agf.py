"""libAGF's binary tables: vectors in a .vec file, their classes in a .cls file next to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.label_index import LabelIndex, number_labels
from polytomy.datasets.table_blocks import RawBlock, check_finite
from polytomy.errors import DataError

__all__ = ["AgfTable"]


class AgfTable:
    """A pair of libAGF files.

    The .vec file holds the number of features as int32, then rows of float32; the .cls file holds
    int32 classes.

    Parameters
    ----------
    path : the .vec or .cls file, or their common name without the ending
    has_labels : whether to read the labels
    label_index : collects the labels
    """

    feature_names = None
    categories: Mapping[int, CategoryIndex] = {}

    def __init__(
        self, path: str | os.PathLike[str], *, has_labels: bool, label_index: LabelIndex
    ) -> None:
        base = Path(path)
        base = base.with_suffix("") if base.suffix in (".vec", ".cls") else base
        self._vectors = base.with_name(base.name + ".vec")
        self._classes = base.with_name(base.name + ".cls") if has_labels else None
        self.label_index = label_index
        size = self._vectors.stat().st_size
        with self._vectors.open("rb") as file:
            head = file.read(4)
        self.n_features = int.from_bytes(head, "little", signed=True) if len(head) == 4 else 0
        if self.n_features < 1:
            raise DataError(f"{self._vectors}: the file does not start with the number of features")
        self.n_rows, rest = divmod(size - 4, 4 * self.n_features)
        if rest or not self.n_rows:
            raise DataError(
                f"{self._vectors}: {size - 4} bytes of data are not a whole number of rows of "
                f"{self.n_features} float32 features"
            )
        if self._classes is not None:
            n_bytes, expected = self._classes.stat().st_size, 4 * self.n_rows
            if n_bytes != expected:
                raise DataError(
                    f"{self._classes}: the file has {n_bytes} bytes; the int32 classes of "
                    f"{self.n_rows} rows take {expected}"
                )

    @property
    def bytes_per_row(self) -> int:
        """Size of a sample in memory."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        for first in range(0, self.n_rows, n_rows):
            count = min(n_rows, self.n_rows - first)
            rows = np.arange(first + 1, first + count + 1, dtype=np.int64)
            size = count * self.n_features
            offset = 4 + 4 * first * self.n_features
            flat = np.fromfile(self._vectors, "<f4", size, offset=offset)
            X = flat.reshape(-1, self.n_features).astype(np.float64)
            check_finite(X, rows, str(self._vectors))
            labels = None
            if self._classes is not None:
                part = np.fromfile(self._classes, "<i4", count, offset=4 * first)
                labels = number_labels(self.label_index, part, rows, str(self._classes))
            yield RawBlock(X, labels, rows)
