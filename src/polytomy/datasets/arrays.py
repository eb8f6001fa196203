"""Tables in binary files: npz files, libAGF's pairs of vectors and classes, and Parquet files."""

from __future__ import annotations

import errno
import operator
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.columns import NO_WORD, CategoryIndex, choose_columns, number_labels
from polytomy.datasets.sources import list_files
from polytomy.datasets.tables import (
    Data,
    Format,
    NoRowsError,
    RawBlock,
    ReadOptions,
    Table,
    check_size,
    list_columns,
    to_dense,
)
from polytomy.errors import Argument, ArgumentError, DataError, PythonOnly
from polytomy.files import open_atomically, read_array
from polytomy.inputs.sparse import check_csr_parts, is_sparse

_SPARSE_PARTS = {"data", "indices", "indptr", "shape"}
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class _ArrayTable(Table):
    """A table whose samples and labels are two arrays."""

    n_rows: int
    _X: Any
    _labels: NDArray[Any] | None = None

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        firsts = range(0, self.n_rows, n_rows)
        matrices = (self._X[first : first + n_rows].astype(np.float64) for first in firsts)
        return self.number_rows(matrices, self._labels)


class NpzTable(_ArrayTable):
    """An npz file with the arrays X and y, which are read at once.

    A sparse X is stored as data, indices, indptr and shape.

    Parameters
    ----------
    source : file
    options : ReadOptions
    """

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


class AgfTable(_ArrayTable):
    """A pair of libAGF files.

    The .vec file holds the number of features as int32, then rows of float32; the .cls file holds
    int32 classes.

    Parameters
    ----------
    source : the .vec or .cls file, or their common name without the ending
    options : ReadOptions
    """

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        vectors, classes = _name_pair(Path(source))
        super().__init__(vectors, options)
        self._X = map_vectors(vectors)
        self.n_rows, self.n_features = self._X.shape
        self.bytes_per_row = 8 * self.n_features
        if options.target is not None:
            n_bytes, expected = classes.stat().st_size, 4 * self.n_rows
            if n_bytes != expected:
                raise DataError(
                    f"{classes}: the file has {n_bytes} bytes; the int32 classes of "
                    f"{self.n_rows} rows take {expected}"
                )
            self._labels = np.fromfile(classes, "<i4")


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


# -- Parquet files, and folders of them ------------------------------------------------------------


# Bytes of a column to read ahead; without a limit, it would be a whole row group.
_READ_AHEAD = 2**18


class ParquetTable(Table):
    """A table in a Parquet file, which is read page by page.

    Parameters
    ----------
    source : file
    options : ReadOptions

    Attributes
    ----------
    columns : Columns to read
    """

    n_rows: int

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        from pyarrow import parquet

        super().__init__(source, options)
        with _reporting(self.source, "this is not a Parquet file"):
            self._file = parquet.ParquetFile(source, buffer_size=_READ_AHEAD)
            schema = self._file.schema_arrow
        self.n_rows = self._file.metadata.num_rows
        if self.n_rows < 1:
            raise NoRowsError(f"{self.source}: the file has no rows")
        names = _without_index(schema, options)
        self.columns = choose_columns(
            self.source, len(names), names, options.target, options.features
        )
        self.feature_names = self.columns.feature_names
        self.label_name = self.columns.label_name
        self.n_features = len(self.columns.features)
        self.bytes_per_row = 8 * self.n_features
        self.categories: Mapping[int, CategoryIndex] = self._open_categories(schema)
        if self.label_name is not None:
            kind = schema.field(self.label_name).type
            if not (_is_text(kind) or _is_number(_type_of_values(kind))):
                what = f"the column has type {kind}; labels must be numbers, text or booleans"
                raise self.error(what, column=self.columns.target, names=names)

    def _open_categories(self, schema: Any) -> dict[int, CategoryIndex]:
        """Return the indexes that collect the values of text features; other text is an error."""
        from pyarrow import types

        categories = self._options.categories
        given = categories if isinstance(categories, Mapping) else {}
        opened: dict[int, CategoryIndex] = {}
        for k, name in enumerate(self.called):
            kind = schema.field(name).type
            if _is_text(kind) and (categories == "one-hot" or name in categories):
                opened[k] = CategoryIndex(given.get(name))
            elif not (_is_number(kind) or types.is_decimal(kind)):
                message: list[str | Argument] = [f"the column has type {kind}, not a number"]
                if _is_text(kind):
                    message += [". Use ", Argument("categories", "one-hot"), " for text columns."]
                place = self.columns.features[k]
                raise self.error(*message, column=place, names=self.columns.names)
        return opened

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        wanted = [*self.called, *([] if self.label_name is None else [self.label_name])]
        first = 1
        with _reporting(self.source, "the Parquet file is damaged"):
            for batch in self._file.iter_batches(n_rows, columns=wanted):
                rows = np.arange(first, first + len(batch), dtype=np.int64)
                X = np.empty((len(batch), self.n_features))
                for k, name in enumerate(self.called):
                    X[:, k] = self._numbers(batch.column(name), k, rows)
                labels = None
                if self.label_name is not None:
                    labels = self._label_numbers(batch.column(self.label_name), rows)
                yield RawBlock(X, labels, rows)
                first += len(batch)

    def _label_numbers(self, column: Any, rows: NDArray[np.int64]) -> NDArray[np.intp]:
        position = self.columns.target
        column = self._check_complete(column, position, rows)
        if _is_text(column.type):
            return self._number_texts(column, self.label_index.number, position, rows)
        values = column.to_numpy(zero_copy_only=False)
        return number_labels(self.label_index, values, rows, self.source)

    def _numbers(self, column: Any, k: int, rows: NDArray[np.int64]) -> NDArray[Any]:
        position = self.columns.features[k]
        if k in self.categories:
            column = self._check_complete(column, position, rows)
            return self._number_texts(column, self.categories[k].number, position, rows)
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)  # NaN if missing
        is_bad = np.isinf(numbers) if self._options.allows_missing else ~np.isfinite(numbers)
        if is_bad.any():
            first = int(np.argmax(is_bad))
            value = numbers[first]
            message: list[str | Argument] = [f"{value} is not a finite number"]
            if np.isnan(value):
                message = self._options.explain_missing()
            place = {"column": position, "names": self.columns.names}
            raise self.error(*message, row=int(rows[first]), **place)
        return np.asarray(numbers)

    def _number_texts(
        self,
        column: Any,
        number_of: Callable[[str], int],
        position: int | None,
        rows: NDArray[np.int64],
    ) -> NDArray[np.intp]:
        """Return the numbers of texts; each different text is looked up once."""
        words = column.dictionary_encode()
        places = words.indices.to_numpy()
        numbers: list[int] = []
        for text in words.dictionary.to_pylist():
            try:
                numbers.append(number_of(text))
            except ValueError as error:
                row = int(rows[np.argmax(places == len(numbers))])
                raise self._error(str(error), row, position) from None
        return np.asarray(np.array(numbers, dtype=np.intp)[places])

    def _check_complete(self, column: Any, position: int | None, rows: NDArray[np.int64]) -> Any:
        """Return the plain values of a column; DataError if one of them is missing."""
        if _type_of_values(column.type) != column.type:
            column = column.cast(column.type.value_type)
        if column.null_count:
            first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            what = "the label is missing" if position == self.columns.target else NO_WORD
            raise self._error(what, int(rows[first]), position)
        return column

    def _error(self, what: str, row: int, position: int | None) -> DataError:
        return self.error(what, row=row, column=position, names=self.columns.names)


class ParquetFolder(Table):
    """A table whose rows are in several Parquet files; only one of them is open at a time.

    All files must have the columns of the first. Files without rows are skipped.

    Parameters
    ----------
    source : folder
    options : ReadOptions
    """

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        super().__init__(source, options)
        files = list_files(source, ParquetFormat.endings)
        counts = {file: _count_rows(file) for file in files}
        self._files = [file for file, n_rows in counts.items() if n_rows]
        if not self._files:
            raise self.error("the *.parquet files in the folder have no rows")
        self.n_rows = sum(counts.values())
        first = ParquetTable(self._files[0], options)
        self.feature_names, self.label_name = first.feature_names, first.label_name
        self.n_features, self.bytes_per_row = first.n_features, first.bytes_per_row
        self.categories = first.categories
        self._options = replace(options, target=first.label_name, features=first.feature_names)
        for file in self._files[1:]:
            ParquetTable(file, self._options)  # columns are checked before anything is read

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        for file in self._files:
            table = ParquetTable(file, self._options)
            # Labels and values are numbered across all files.
            table.label_index, table.categories = self.label_index, self.categories
            yield from table.blocks(n_rows)


class ParquetFormat(Format):
    """Parquet files, and folders of them."""

    name = "parquet"
    endings = (".parquet", ".pq")

    def matches_path(self, path: Path) -> bool:
        """Return whether a name ends like these files, or is that of a folder."""
        return path.is_dir() or super().matches_path(path)

    def open(self, source: str | os.PathLike[str], options: ReadOptions) -> Table:
        """Return a file or a folder as a table."""
        kind = ParquetFolder if Path(source).is_dir() else ParquetTable
        return kind(source, options)

    def write_to(self, stream: Any, data: Data, target: str) -> None:
        """Write samples in columns; features without names are called x1, x2, …"""
        import pyarrow as arrow
        from pyarrow import parquet

        names, columns = list_columns(data, target)
        if names is None:
            names = [f"x{k + 1}" for k in range(data.n_features)]
            names += [] if data.y is None else [target]
        parquet.write_table(arrow.table([arrow.array(c) for c in columns], names=names), stream)


def _count_rows(path: Path) -> int:
    """Return the number of rows that a Parquet file declares; DataError if it is not one."""
    from pyarrow import parquet

    with _reporting(os.fspath(path), "this is not a Parquet file"):
        return int(parquet.read_metadata(path).num_rows)


@contextmanager
def _reporting(source: str, problem: str) -> Iterator[None]:
    """Raise DataError instead of the errors that pyarrow raises for damaged files."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read at all
        raise DataError(f"{source}: {problem}: {error}") from error


def _without_index(schema: Any, options: ReadOptions) -> list[str]:
    """Return the names of the columns, without the index of a pandas frame.

    An index is a column only if it is requested by name: row numbers are not a feature, and they
    reveal the classes if the rows were sorted by class.
    """
    features = () if isinstance(options.features, int | None) else options.features
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    hidden = {name for name in index if isinstance(name, str)} - {options.target, *features}
    return [name for name in schema.names if name not in hidden]


def _type_of_values(kind: Any) -> Any:
    """Return the type of the values of a column, which may be numbers in a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    kind = _type_of_values(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
