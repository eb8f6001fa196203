"""Tables in NumPy's npz files."""

from __future__ import annotations

import errno
import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.svmlight import LARGEST_INDEX
from polytomy.datasets.tables import (
    Data,
    Format,
    RawBlock,
    ReadOptions,
    Table,
    check_expected,
    number_rows,
)
from polytomy.errors import Argument, DataError, PythonOnly
from polytomy.files import read_array, read_array_header
from polytomy.inputs.sparse import MOST_ROWS_OR_COLUMNS, check_csr_parts

__all__ = ["NpzFormat"]

_SPARSE_PARTS = ("data", "indices", "indptr", "shape")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class NpzTable(Table):
    """An npz file with the arrays X and y.

    A sparse X is stored as data, indices, indptr and shape. A dense X in C order is read block by
    block, everything else at once.

    Parameters
    ----------
    source : file
    options : ReadOptions
    """

    n_rows: int

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        super().__init__(source, options)
        self._most_columns = max(LARGEST_INDEX, options.n_features or 0)
        has_labels = options.target is not None
        with _open_archive(source) as archive:
            names = {info.filename.removesuffix(".npy") for info in archive.infolist()}
            self._is_sparse = "X" not in names and set(_SPARSE_PARTS) <= names
            if "X" not in names and not self._is_sparse:
                shown = ", ".join(sorted(names)[:20])
                raise DataError(f"{self.source}: the file has no array X; it has {shown}")
            if self._is_sparse and "format" in names:
                self._check_format(archive)
            self._labels = self._read(archive, "y") if has_labels and "y" in names else None
            if has_labels and self._labels is None:
                raise DataError(
                    f"{self.source}: the file has no array y with the labels.",
                    PythonOnly(" Use target=None to read it without labels."),
                )
            self.n_rows, self.n_features = self._shape(archive)
            for count, what in ((self.n_rows, "rows"), (self.n_features, "columns")):
                if count < 1:
                    raise DataError(f"{self.source}: X has no {what}")
            if "feature_names" in names:
                self.feature_names = self._names(archive)
            self.bytes_per_row = 8 * self.n_features
            if self._is_sparse:
                with archive.open("data.npy") as member:
                    n_values = math.prod(read_array_header(cast(BinaryIO, member)).shape)
                self.bytes_per_row = 12 * n_values // self.n_rows + 8
        if self._labels is not None and self._labels.shape != (self.n_rows,):
            raise DataError(
                f"{self.source}: X has {self.n_rows} rows, but y has shape {self._labels.shape}"
            )

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        with _open_archive(self.source) as archive:
            yield from number_rows(self, self._matrices(archive, n_rows), self._labels)

    def _matrices(self, archive: zipfile.ZipFile, n_rows: int) -> Iterator[Any]:
        if self._is_sparse:
            yield from _slices(self._sparse(archive), n_rows)
            return
        with archive.open("X.npy") as member:
            header = read_array_header(cast(BinaryIO, member))
            if not header.is_fortran:
                row_bytes = header.dtype.itemsize * self.n_features
                for first in range(0, self.n_rows, n_rows):
                    size = row_bytes * min(n_rows, self.n_rows - first)
                    content = member.read(size)
                    if len(content) < size:
                        raise DataError(f"{self.source}: X is truncated")
                    part = np.frombuffer(content, header.dtype).reshape(-1, self.n_features)
                    yield part.astype(np.float64)
                return
        for part in _slices(self._read(archive, "X"), n_rows):
            yield part.astype(np.float64)

    def _sparse(self, archive: zipfile.ZipFile) -> Any:
        data, indices, indptr = (self._read(archive, part) for part in _SPARSE_PARTS[:3])
        if data.dtype.kind not in "biuf":
            raise DataError(f"{self.source}: X has type {data.dtype}; it must be numeric")
        shape = (self.n_rows, self.n_features)
        try:
            return check_csr_parts(data.astype(np.float64), indices, indptr, shape)
        except ValueError as error:
            raise DataError(f"{self.source}: X is not a valid CSR matrix: {error}") from error

    def _check_format(self, archive: zipfile.ZipFile) -> None:
        """Reject other formats of `scipy.sparse.save_npz`, whose parts may look like CSR."""
        with archive.open("format.npy") as member:
            read_array_header(cast(BinaryIO, member))
            name = member.read(64).replace(b"\0", b"").decode("ascii", "replace")
        if name != "csr":
            raise DataError(
                f"{self.source}: X is stored in the sparse format {name!r}; only 'csr' is read. "
                "Save X.tocsr()."
            )

    def _shape(self, archive: zipfile.ZipFile) -> tuple[int, int]:
        if self._is_sparse:
            values = self._read(archive, "shape")
            if values.dtype.kind not in "iu" or values.ndim != 1:
                raise DataError(
                    f"{self.source}, array shape: {values.tolist()} is not a shape; it must be "
                    "two integers"
                )
            shape = tuple(values.tolist())
        else:
            with archive.open("X.npy") as member:
                header = read_array_header(cast(BinaryIO, member))
            if header.dtype.kind not in "biuf":
                raise DataError(f"{self.source}: X has type {header.dtype}; it must be numeric")
            shape = header.shape
        if len(shape) != 2:
            raise DataError(f"{self.source}: X has shape {shape}; it must have two dimensions")
        if self._is_sparse and max(shape) > MOST_ROWS_OR_COLUMNS:
            raise DataError(
                f"{self.source}: X has shape {shape}; at most {MOST_ROWS_OR_COLUMNS} rows and "
                "columns are supported"
            )
        if self._is_sparse and shape[1] > self._most_columns:
            raise DataError(
                f"{self.source}: X has {shape[1]} columns, more than {self._most_columns}. If "
                "that is correct, set the number of features: ",
                Argument("features", shape[1]),
                ".",
            )
        return int(shape[0]), int(shape[1])

    def _names(self, archive: zipfile.ZipFile) -> tuple[str, ...]:
        names = self._read(archive, "feature_names")
        if names.dtype.kind != "U" or names.shape != (self.n_features,):
            raise DataError(
                f"{self.source}, array feature_names: an array of {names.dtype} of shape "
                f"{names.shape} does not name the {self.n_features} columns of X"
            )
        return tuple(names.tolist())

    def _read(self, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
        info = archive.getinfo(f"{name}.npy")
        with archive.open(info) as member:
            try:
                return read_array(cast(BinaryIO, member), info.file_size)
            except ValueError as error:
                raise DataError(f"{self.source}, array {name}: {error}") from error


@contextmanager
def _open_archive(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Yield a zip archive; DataError if it is damaged."""
    source = os.fspath(path)
    with Path(path).open("rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise DataError(f"{source}: this is not an npz file: {error}") from error
        try:
            yield archive
        except DataError:
            raise
        except (*_DAMAGE, ValueError, OSError) as error:
            # The directory of the archive may point to a place before its start.
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise
            raise DataError(f"{source}: the npz file is damaged: {error}") from error


def _slices(X: Any, n_rows: int) -> Iterator[Any]:
    for first in range(0, X.shape[0], n_rows):
        yield X[first : first + n_rows]


class NpzFormat(Format):
    """NumPy's archives of arrays."""

    name = "npz"
    endings = (".npz",)

    def open(self, source: str | os.PathLike[str], options: ReadOptions) -> Table:
        """Return a file as a table."""
        return check_expected(NpzTable(source, options), options)

    def write_to(self, stream: Any, data: Data, target: str) -> None:
        """Write X (or the parts of its CSR form), y and the names of the features."""
        arrays: dict[str, Any] = {}
        if isinstance(data.X, np.ndarray):
            arrays["X"] = np.ascontiguousarray(data.X)
        else:
            X = data.X.tocsr()
            arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
            arrays |= {"shape": np.array(X.shape)}
        if data.y is not None:
            arrays["y"] = data.y.astype(np.str_) if data.y.dtype.kind == "O" else data.y
        if data.feature_names is not None:
            arrays["feature_names"] = np.array(data.feature_names)
        np.savez_compressed(stream, **arrays)
