"""Tables as plain binary: NumPy's npz, and libAGF's pair of .vec and .cls."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.labels import LabelIndex
from polytomy.datasets.places import problem_at
from polytomy.datasets.table import RawBlock, number_labels
from polytomy.errors import DataError
from polytomy.files import read_array, read_array_header

__all__ = ["AgfTable", "NpzTable"]

_NO_CATEGORIES: Mapping[int, CategoryIndex] = {}
_SPARSE_PARTS = ("data", "indices", "indptr", "shape")


class NpzTable:
    """The arrays X and y of an npz file; or data, indices, indptr and shape of a sparse X.

    A dense X in C order is read block by block, all else at once.

    Parameters
    ----------
    path : file
    has_labels : whether the labels are wanted
    index : where the labels are collected
    """

    categories = _NO_CATEGORIES

    def __init__(
        self, path: str | os.PathLike[str], *, has_labels: bool, index: LabelIndex
    ) -> None:
        self._path, self._source, self.index = path, os.fspath(path), index
        with self._archive() as archive:
            names = {info.filename.removesuffix(".npy") for info in archive.infolist()}
            self._is_sparse = "X" not in names and set(_SPARSE_PARTS) <= names
            if "X" not in names and not self._is_sparse:
                shown = ", ".join(sorted(names)[:20])
                raise DataError(f"{self._source}: there is no array X; there are {shown}")
            self._labels = self._read(archive, "y") if has_labels and "y" in names else None
            if has_labels and self._labels is None:
                raise DataError(
                    f"{self._source}: there is no array y for the labels. Say target=None to read "
                    "without labels."
                )
            self.feature_names = None
            if "feature_names" in names:
                self.feature_names = tuple(self._read(archive, "feature_names").tolist())
            self._n_rows, self.n_features = self._shape(archive)
        if self._n_rows == 0:
            raise DataError(f"{self._source}: X has no rows")
        if self._labels is not None and self._labels.shape != (self._n_rows,):
            raise DataError(
                f"{self._source}: X has {self._n_rows} rows, but y is of shape {self._labels.shape}"
            )

    @property
    def bytes_of_row(self) -> int:
        """Bytes that a sample takes."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, so many at a time; DataError says where one is wrong."""
        first = 0
        with self._archive() as archive:
            for X in self._matrices(archive, n_rows):
                last = first + X.shape[0]
                rows = np.arange(first + 1, last + 1, dtype=np.int64)
                _check_finite(X, rows, self._source, self.feature_names)
                labels = None
                if self._labels is not None:
                    part = self._labels[first:last]
                    labels = number_labels(self.index, part, rows, self._source)
                yield RawBlock(X, labels, rows)
                first = last

    def _matrices(self, archive: zipfile.ZipFile, n_rows: int) -> Iterator[Any]:
        if self._is_sparse:
            yield from _slices(self._sparse(archive), n_rows)
            return
        with archive.open("X.npy") as member:
            header = read_array_header(cast(BinaryIO, member))
            if not header.is_fortran:
                row_bytes = header.dtype.itemsize * self.n_features
                for first in range(0, self._n_rows, n_rows):
                    size = row_bytes * min(n_rows, self._n_rows - first)
                    content = member.read(size)
                    if len(content) < size:
                        raise DataError(f"{self._source}: X is cut short")
                    part = np.frombuffer(content, header.dtype).reshape(-1, self.n_features)
                    yield part.astype(np.float64)
                return
        yield from _slices(self._read(archive, "X").astype(np.float64), n_rows)

    def _sparse(self, archive: zipfile.ZipFile) -> csr_array:
        data, indices, indptr = (self._read(archive, part) for part in _SPARSE_PARTS[:3])
        shape = (self._n_rows, self.n_features)
        try:
            matrix = csr_array((data.astype(np.float64), indices, indptr), shape=shape)
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise DataError(f"{self._source}: X is no sparse matrix by rows: {error}") from error
        return matrix

    def _shape(self, archive: zipfile.ZipFile) -> tuple[int, int]:
        if self._is_sparse:
            shape = tuple(self._read(archive, "shape").tolist())
        else:
            with archive.open("X.npy") as member:
                header = read_array_header(cast(BinaryIO, member))
            if header.dtype.kind not in "biuf":
                raise DataError(f"{self._source}: X is of type {header.dtype}, which is no number")
            shape = header.shape
        if len(shape) != 2:
            raise DataError(f"{self._source}: X is of shape {shape}; it needs rows and columns")
        return int(shape[0]), int(shape[1])

    def _read(self, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
        info = archive.getinfo(f"{name}.npy")
        with archive.open(info) as member:
            try:
                return read_array(cast(BinaryIO, member), info.file_size)
            except ValueError as error:
                raise DataError(f"{self._source}, array {name}: {error}") from error

    def _archive(self) -> _Archive:
        return _Archive(self._path)


class _Archive:
    """A zip archive whose damage is a DataError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._source = os.fspath(path)
        self._file = Path(path).open("rb")  # noqa: SIM115
        try:
            self._archive = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            self._file.close()
            raise DataError(f"{self._source}: this is no npz file: {error}") from error

    def __enter__(self) -> zipfile.ZipFile:
        return self._archive

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close()
        damage = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
        if isinstance(error, (*damage, ValueError)) and not isinstance(error, DataError):
            raise DataError(f"{self._source}: the npz file is damaged: {error}") from error


class AgfTable:
    """Vectors of libAGF: an int32 number of features, then rows of float32; int32 classes beside.

    Parameters
    ----------
    path : the .vec file, or its name without that
    has_labels : whether the labels, in the .cls file beside it, are wanted
    index : where the labels are collected
    """

    categories = _NO_CATEGORIES
    feature_names = None

    def __init__(
        self, path: str | os.PathLike[str], *, has_labels: bool, index: LabelIndex
    ) -> None:
        base = Path(path)
        base = base.with_suffix("") if base.suffix in (".vec", ".cls") else base
        self._vectors = base.with_name(base.name + ".vec")
        self._classes = base.with_name(base.name + ".cls") if has_labels else None
        self.index = index
        size = self._vectors.stat().st_size
        with self._vectors.open("rb") as file:
            head = np.frombuffer(file.read(4), "<i4")
        self.n_features = int(head[0]) if len(head) else 0
        if self.n_features < 1:
            raise DataError(f"{self._vectors}: the file does not begin with a number of features")
        self._n_rows, left = divmod(size - 4, 4 * self.n_features)
        if left or not self._n_rows:
            raise DataError(
                f"{self._vectors}: {size - 4} bytes are no whole number of rows of "
                f"{self.n_features} features in single precision"
            )
        if self._classes is not None and self._classes.stat().st_size != 4 * self._n_rows:
            raise DataError(
                f"{self._classes}: {self._classes.stat().st_size} bytes are not the classes, of "
                f"four bytes each, of {self._n_rows} rows"
            )

    @property
    def bytes_of_row(self) -> int:
        """Bytes that a sample takes."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, so many at a time; DataError says where one is wrong."""
        for first in range(0, self._n_rows, n_rows):
            count = min(n_rows, self._n_rows - first)
            rows = np.arange(first + 1, first + count + 1, dtype=np.int64)
            size = count * self.n_features
            offset = 4 + 4 * first * self.n_features
            flat = np.fromfile(self._vectors, "<f4", size, offset=offset)
            X = flat.reshape(-1, self.n_features).astype(np.float64)
            _check_finite(X, rows, str(self._vectors), None)
            labels = None
            if self._classes is not None:
                part = np.fromfile(self._classes, "<i4", count, offset=4 * first)
                labels = number_labels(self.index, part, rows, str(self._classes))
            yield RawBlock(X, labels, rows)


def _slices(X: Any, n_rows: int) -> Iterator[Any]:
    for first in range(0, X.shape[0], n_rows):
        yield X[first : first + n_rows]


def _check_finite(
    X: Any, rows: NDArray[np.int64], source: str, names: tuple[str, ...] | None
) -> None:
    if isinstance(X, np.ndarray):
        bad = np.argwhere(~np.isfinite(X))
    else:
        at = np.flatnonzero(~np.isfinite(X.data))
        sample = np.searchsorted(X.indptr, at, side="right") - 1
        bad = np.column_stack([sample, X.indices[at]])
    if len(bad):
        row, column = (int(i) for i in bad[0])
        what = f"{X[row, column]} is not a finite number"
        raise problem_at(source, what, row=int(rows[row]), column=column, names=names)
