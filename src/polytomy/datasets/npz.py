"""Tables in NumPy's npz files."""

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
from polytomy.datasets.label_index import LabelIndex, number_labels
from polytomy.datasets.table_blocks import RawBlock, check_finite
from polytomy.errors import DataError, PythonOnly
from polytomy.files import read_array, read_array_header

__all__ = ["NpzTable"]

_SPARSE_PARTS = ("data", "indices", "indptr", "shape")


class NpzTable:
    """An npz file with the arrays X and y.

    A sparse X is stored as data, indices, indptr and shape. A dense X in C order is read block by
    block, everything else at once.

    Parameters
    ----------
    path : file
    has_labels : whether to read the labels
    label_index : collects the labels
    """

    categories: Mapping[int, CategoryIndex] = {}

    def __init__(
        self, path: str | os.PathLike[str], *, has_labels: bool, label_index: LabelIndex
    ) -> None:
        self._path, self._source, self.label_index = path, os.fspath(path), label_index
        with self._archive() as archive:
            names = {info.filename.removesuffix(".npy") for info in archive.infolist()}
            self._is_sparse = "X" not in names and set(_SPARSE_PARTS) <= names
            if "X" not in names and not self._is_sparse:
                shown = ", ".join(sorted(names)[:20])
                raise DataError(f"{self._source}: the file has no array X; it has {shown}")
            self._labels = self._read(archive, "y") if has_labels and "y" in names else None
            if has_labels and self._labels is None:
                raise DataError(
                    f"{self._source}: the file has no array y with the labels.",
                    PythonOnly(" Use target=None to read it without labels."),
                )
            self.feature_names = None
            if "feature_names" in names:
                self.feature_names = tuple(self._read(archive, "feature_names").tolist())
            self._n_rows, self.n_features = self._shape(archive)
        if self._n_rows == 0:
            raise DataError(f"{self._source}: X has no rows")
        if self._labels is not None and self._labels.shape != (self._n_rows,):
            raise DataError(
                f"{self._source}: X has {self._n_rows} rows, but y has shape {self._labels.shape}"
            )

    @property
    def bytes_per_row(self) -> int:
        """Size of a sample in memory."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        first = 0
        with self._archive() as archive:
            for X in self._matrices(archive, n_rows):
                last = first + X.shape[0]
                rows = np.arange(first + 1, last + 1, dtype=np.int64)
                check_finite(X, rows, self._source, self.feature_names)
                labels = None
                if self._labels is not None:
                    part = self._labels[first:last]
                    labels = number_labels(self.label_index, part, rows, self._source)
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
                        raise DataError(f"{self._source}: X is truncated")
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
            raise DataError(f"{self._source}: X is not a valid CSR matrix: {error}") from error
        return matrix

    def _shape(self, archive: zipfile.ZipFile) -> tuple[int, int]:
        if self._is_sparse:
            shape = tuple(self._read(archive, "shape").tolist())
        else:
            with archive.open("X.npy") as member:
                header = read_array_header(cast(BinaryIO, member))
            if header.dtype.kind not in "biuf":
                raise DataError(f"{self._source}: X has type {header.dtype}; it must be numeric")
            shape = header.shape
        if len(shape) != 2:
            raise DataError(f"{self._source}: X has shape {shape}; it must have two dimensions")
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
    """A zip archive that raises DataError if it is damaged."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._source = os.fspath(path)
        self._file = Path(path).open("rb")  # noqa: SIM115
        try:
            self._archive = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            self._file.close()
            raise DataError(f"{self._source}: this is not an npz file: {error}") from error

    def __enter__(self) -> zipfile.ZipFile:
        return self._archive

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close()
        damage = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
        if isinstance(error, (*damage, ValueError)) and not isinstance(error, DataError):
            raise DataError(f"{self._source}: the npz file is damaged: {error}") from error


def _slices(X: Any, n_rows: int) -> Iterator[Any]:
    for first in range(0, X.shape[0], n_rows):
        yield X[first : first + n_rows]
