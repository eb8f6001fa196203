"""Tables of binary arrays: NumPy's npz files, and libAGF's pairs of vectors and classes."""

from __future__ import annotations

import errno
import operator
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.tables import (
    Data,
    Format,
    RawBlock,
    ReadOptions,
    Table,
    check_size,
    to_dense,
)
from polytomy.errors import ArgumentError, DataError, PythonOnly
from polytomy.files import open_atomically, read_array
from polytomy.inputs.sparse import check_csr_parts, is_sparse

_SPARSE_PARTS = {"data", "indices", "indptr", "shape"}
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class NpzTable(Table):
    """An npz file with the arrays X and y, which are read at once.

    A sparse X is stored as data, indices, indptr and shape.

    Parameters
    ----------
    source : file
    options : ReadOptions
    """

    n_rows: int
    _X: Any

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        super().__init__(source, options)
        with _open_archive(source) as archive:
            names = {info.filename.removesuffix(".npy") for info in archive.infolist()}
            if "X" in names:
                self._X = self._read(archive, "X")
            elif names >= _SPARSE_PARTS:
                self._X = self._read_sparse(archive, has_format="format" in names)
            else:
                shown = ", ".join(sorted(names)[:20])
                raise self.error(f"the file has no array X; it has {shown}")
            self.n_rows, self.n_features = self._check_samples()
            self.bytes_per_row = 8 * self.n_features
            if is_sparse(self._X):
                self.bytes_per_row = 12 * self._X.nnz // self.n_rows + 8
            if "feature_names" in names:
                self.feature_names = self._read_names(archive)
            self._labels = None if options.target is None else self._read_labels(archive, names)

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        firsts = range(0, self.n_rows, n_rows)
        matrices = (self._X[first : first + n_rows].astype(np.float64) for first in firsts)
        return self.number_rows(matrices, self._labels)

    def _read_sparse(self, archive: zipfile.ZipFile, *, has_format: bool) -> Any:
        # Other formats of `scipy.sparse.save_npz` have parts that may look like CSR.
        kind = str(self._read(archive, "format").astype(str)) if has_format else "csr"
        if kind != "csr":
            what = f"X is stored in the sparse format {kind!r}; only 'csr' is read. Save X.tocsr()."
            raise self.error(what)
        data, indices, indptr = (self._read(archive, n) for n in ("data", "indices", "indptr"))
        try:
            rows, columns = map(operator.index, self._read(archive, "shape").tolist())
            return check_csr_parts(data, indices, indptr, (rows, columns))
        except (TypeError, ValueError) as error:
            raise self.error(f"X is not a valid CSR matrix: {error}") from error

    def _check_samples(self) -> tuple[int, int]:
        """Return the shape of X; DataError unless it has rows and columns of numbers."""
        if self._X.dtype.kind not in "biuf":
            raise self.error(f"X has type {self._X.dtype}; it must be numeric")
        if self._X.ndim != 2 or 0 in self._X.shape:
            raise self.error(f"X has shape {self._X.shape}; it must have rows and columns")
        n_rows, n_features = self._X.shape
        return n_rows, n_features

    def _read_labels(self, archive: zipfile.ZipFile, names: set[str]) -> NDArray[Any]:
        if "y" not in names:
            raise self.error(
                "the file has no array y with the labels.",
                PythonOnly(" Use target=None to read it without labels."),
            )
        labels = self._read(archive, "y")
        if labels.shape != (self.n_rows,):
            raise self.error(f"X has {self.n_rows} rows, but y has shape {labels.shape}")
        return labels

    def _read_names(self, archive: zipfile.ZipFile) -> tuple[str, ...]:
        names = self._read(archive, "feature_names")
        if names.dtype.kind != "U" or names.shape != (self.n_features,):
            raise DataError(
                f"{self.source}, array feature_names: an array of {names.dtype} of shape "
                f"{names.shape} does not name the {self.n_features} columns of X"
            )
        return tuple(names.tolist())

    def _read(self, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
        info = archive.getinfo(f"{name}.npy")
        check_size(self.source, info.file_size)
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


class NpzFormat(Format):
    """NumPy's archives of arrays."""

    name = "npz"
    endings = (".npz",)

    def open(self, source: str | os.PathLike[str], options: ReadOptions) -> Table:
        """Return a file as a table."""
        return NpzTable(source, options).check_features()

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


# -- libAGF's binary tables: vectors in a .vec file, their classes in a .cls file next to it -------


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
        self._vectors = map_vectors(vectors)
        self.n_rows, self.n_features = self._vectors.shape
        self.bytes_per_row = 8 * self.n_features
        self._classes: NDArray[Any] | None = None
        if options.target is not None:
            n_bytes, expected = classes.stat().st_size, 4 * self.n_rows
            if n_bytes != expected:
                raise DataError(
                    f"{classes}: the file has {n_bytes} bytes; the int32 classes of "
                    f"{self.n_rows} rows take {expected}"
                )
            self._classes = np.fromfile(classes, "<i4")

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        firsts = range(0, self.n_rows, n_rows)
        matrices = (self._vectors[first : first + n_rows].astype(np.float64) for first in firsts)
        return self.number_rows(matrices, self._classes)


class AgfFormat(Format):
    """libAGF's pairs of files."""

    name = "agf"
    endings = (".vec", ".cls")

    def matches_path(self, path: Path) -> bool:
        """Return whether a name ends like these files, or is the common name of a pair of them."""
        return super().matches_path(path) or (not path.exists() and _name_pair(path)[0].exists())

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
        write_vectors(vectors, X)


def map_vectors(path: Path) -> NDArray[np.float32]:
    """Return the matrix in a file of libAGF, mapped into memory; DataError if it holds none."""
    size = path.stat().st_size - 4
    n_columns = int(np.fromfile(path, "<i4", 1)[0]) if size >= 0 else 0
    if n_columns < 1:
        raise DataError(f"{path}: the file does not start with the number of features")
    n_rows, rest = divmod(size, 4 * n_columns)
    if rest or not n_rows:
        raise DataError(
            f"{path}: {size} bytes of data are not a whole number of rows of {n_columns} float32 "
            "features"
        )
    return np.memmap(path, "<f4", "r", 4, (n_rows, n_columns))


def write_vectors(path: Path, rows: NDArray[np.float64]) -> None:
    """Write a matrix as libAGF does: the number of columns as int32, then rows of float32."""
    with open_atomically(path) as file:
        file.write(np.array([rows.shape[1]], dtype="<i4").tobytes())
        file.write(rows.astype("<f4").tobytes())


def _name_pair(path: Path) -> tuple[Path, Path]:
    """Return the files of the vectors and of the classes."""
    base = str(path.with_suffix("") if path.suffix in AgfFormat.endings else path)
    return Path(f"{base}.vec"), Path(f"{base}.cls")
