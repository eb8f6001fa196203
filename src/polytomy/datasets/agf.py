"""libAGF's binary tables: vectors in a .vec file, their classes in a .cls file next to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.tables import (
    Data,
    Format,
    RawBlock,
    ReadOptions,
    Table,
    to_dense,
)
from polytomy.errors import ArgumentError, DataError
from polytomy.files import open_atomically


class AgfTable(Table):
    """A pair of libAGF files.

    The .vec file holds the number of features as int32, then rows of float32; the .cls file holds
    int32 classes.

    Parameters
    ----------
    source : the .vec or .cls file, or their common name without the ending
    options : ReadOptions
    """

    n_rows: int

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        vectors, classes = _name_pair(Path(source))
        super().__init__(vectors, options)
        size = vectors.stat().st_size
        with vectors.open("rb") as file:
            head = file.read(4)
        self.n_features = int.from_bytes(head, "little", signed=True) if len(head) == 4 else 0
        if self.n_features < 1:
            raise self.error("the file does not start with the number of features")
        self.n_rows, rest = divmod(size - 4, 4 * self.n_features)
        if rest or not self.n_rows:
            raise self.error(
                f"{size - 4} bytes of data are not a whole number of rows of {self.n_features} "
                "float32 features"
            )
        self.bytes_per_row = 8 * self.n_features
        self._vectors = np.memmap(vectors, "<f4", "r", 4, (self.n_rows, self.n_features))
        self._classes: NDArray[np.int32] | None = None
        self._label_source = str(classes)
        if options.target is not None:
            n_bytes, expected = classes.stat().st_size, 4 * self.n_rows
            if n_bytes != expected:
                raise DataError(
                    f"{classes}: the file has {n_bytes} bytes; the int32 classes of "
                    f"{self.n_rows} rows take {expected}"
                )
            self._classes = np.memmap(classes, "<i4", "r")

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        firsts = range(0, self.n_rows, n_rows)
        matrices = (self._vectors[first : first + n_rows].astype(np.float64) for first in firsts)
        return self.number_rows(matrices, self._classes, self._label_source)


class AgfFormat(Format):
    """libAGF's pairs of files."""

    name = "agf"
    endings = (".vec", ".cls")

    def matches_path(self, path: Path) -> bool:
        """Return whether a name ends like these files, or is the common name of a pair of them."""
        is_pair = not path.exists() and path.with_name(path.name + ".vec").exists()
        return is_pair or super().matches_path(path)

    def open(self, source: str | os.PathLike[str], options: ReadOptions) -> Table:
        """Return a pair of files as a table."""
        return AgfTable(source, options).check_features()

    def write(self, path: Path, data: Data, target: str) -> None:
        """Write the vectors in single precision, and the classes if there are labels."""
        vectors, classes = _name_pair(path)
        X = to_dense(data.X)
        if data.y is not None:
            if data.y.dtype.kind not in "biu":
                raise ArgumentError(
                    f"labels in the agf format must be integers; got {data.y.tolist()[0]!r}. Use "
                    "another format."
                )
            with open_atomically(classes) as file:
                file.write(data.y.astype("<i4").tobytes())
        with open_atomically(vectors) as file:
            file.write(np.array([X.shape[1]], dtype="<i4").tobytes())
            file.write(X.astype("<f4").tobytes())


def _name_pair(path: Path) -> tuple[Path, Path]:
    """Return the files of the vectors and of the classes."""
    base = path.with_suffix("") if path.suffix in AgfFormat.endings else path
    return base.with_name(base.name + ".vec"), base.with_name(base.name + ".cls")
