"""Reading and writing data files, whole or block by block, and the formats they may have."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.datasets.arrays import AgfFormat, NpzFormat, ParquetFormat
from polytomy.datasets.columns import Features, Target
from polytomy.datasets.delimited import CsvFormat, TsvFormat
from polytomy.datasets.sources import Source, Stream, first_lines, list_files
from polytomy.datasets.svmlight import SvmlightFormat
from polytomy.datasets.tables import (
    Categories,
    Data,
    Format,
    RawBlock,
    ReadOptions,
    Table,
    ZeroBased,
    check_size,
)
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import as_count, check_choice
from polytomy.inputs.sparse import check_sparse, is_sparse

_ALL: tuple[Format, ...] = (
    CsvFormat(),
    TsvFormat(),
    SvmlightFormat(),
    ParquetFormat(),
    NpzFormat(),
    AgfFormat(),
)
FORMATS: dict[str, Format] = {each.name: each for each in _ALL}
"""All formats of data files by name."""


def find_format(path: Source, format: str | None = None) -> str:
    """Return the format of a file: as given, or found from its name or its first line.

    Examples
    --------
    >>> find_format("iris.csv.gz"), find_format("letter.scale"), find_format("x.txt", "tsv")
    ('csv', 'svmlight', 'tsv')
    """
    if format is not None:
        check_choice("format", format, FORMATS)
        return format
    for name, kind in FORMATS.items():
        if kind.matches_path(Path(path)):
            return name
    if isinstance(path, Stream) or Path(path).is_file():
        line = first_lines(path, 1).text
        if not line and isinstance(path, Stream):
            raise DataError(f"{os.fspath(path)}: the file is empty")
        for name in reversed(FORMATS):  # CSV accepts the most, and comes last
            if FORMATS[name].matches_line(line):
                return name
    raise ArgumentError(
        f"{os.fspath(path)}: the format is not clear from the file name. Set ",
        Argument("format"),
        f" to {_list_formats()}.",
    )


def _list_formats() -> str:
    *names, last = (f'"{name}"' for name in FORMATS)
    return f"{', '.join(names)} or {last}"


def open_source(path: Source) -> Source:
    """Return the path of a file or folder, or a stream if the path is a pipe or device.

    A folder can be read only if it may be a table in several Parquet files.
    """
    if isinstance(path, Stream) or FORMATS["agf"].matches_path(Path(path)):
        return path
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        if list_files(path, FORMATS["parquet"].endings):
            return path
        reason = (
            f"{os.strerror(errno.EISDIR)}, and has no Parquet files. Merge its files, or train on "
            'it with "polytomy train --dask local", which reads folders of other files.'
        )
        raise IsADirectoryError(errno.EISDIR, reason, os.fspath(path))
    if stat.S_ISREG(mode):
        return path
    file = Path(path).open("rb")  # noqa: SIM115, closed with the stream
    stream = Stream(file, os.fspath(path))
    finalize(stream, file.close)
    return stream


# -- Reading and writing data files, whole or block by block --


# Approximate size of the features of a block.
_BLOCK_BYTES = 2**25
_MOST_ROWS = 2**16


def read_data(
    path: Source,
    *,
    format: str | None = None,
    target: Target = -1,
    header: bool | None = None,
    features: Features = None,
    categories: Categories = "refuse",
    classes: ArrayLike | None = None,
    zero_based: ZeroBased = "auto",
    missing: str = "refuse",
) -> Data:
    """Return the samples and labels of a file.

    Parameters
    ----------
    path : file; a folder of Parquet files; or a pipe, for text formats
    format : "csv", "tsv", "svmlight", "parquet", "npz" or "agf"
        By default, it is detected from the file name (``iris.csv.gz``) or the first line. Text
        files may be gzipped.
    target : str, int or None, default=-1
        Name or position of the label column (negative from the end); None to read no labels.
        In formats whose labels have a fixed place, only None makes a difference.
    header : bool, optional
        Whether the first line of a CSV or TSV file names the columns. By default it does if none
        of its fields is a number, or if it has the columns that are requested by name. A line that
        may also be a sample, such as 1, 2, 3, is an error.
    features : names or number of features, optional
        The features to read, in this order; or their number, if the file has no names. An
        svmlight file may have fewer.
    categories : "refuse", "one-hot", list of columns, or dict of columns and values
        Which text columns to one-hot encode; any other text column is an error.
    classes : array, optional
        All allowed labels.
    zero_based : bool or "auto", default="auto"
        Whether the indices of an svmlight file start at 0. "auto": if an index 0 occurs.
    missing : "refuse" or "nan", default="refuse"
        What to do with missing values of numeric columns: they are an error, or become NaN. In
        text files, an empty field, ?, NA, N/A, NaN, null and none are missing, in any letter case.

    Returns
    -------
    Data

    Raises
    ------
    DataError
        If the data cannot be used; the message gives the file, line (or row) and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("height,width,kind\\n1.5,2,oak\\n0.5,3,corn\\n")
    ...     file.flush()
    ...     data = read_data(file.name)
    >>> data.X, data.y, data.feature_names
    (array([[1.5, 2. ],
           [0.5, 3. ]]), array(['oak', 'corn'], dtype='<U4'), ('height', 'width'))
    """
    _check_categories(categories, in_blocks=False)
    options = ReadOptions(target, header, features, categories, classes, zero_based, missing)
    return read_table(open_table(path, format, options))


def open_blocks(
    path: Source,
    *,
    n_rows: int | None = None,
    format: str | None = None,
    target: Target = -1,
    header: bool | None = None,
    features: Features = None,
    categories: Categories = "refuse",
    classes: ArrayLike | None = None,
    zero_based: ZeroBased = "auto",
    missing: str = "refuse",
) -> Iterator[Data]:
    """Return an iterator over blocks of samples, in bounded memory for files of any size.

    The file is opened and its columns are checked immediately, before the first block is read.
    Without `classes`, labels of text files stay text, because later blocks may have any label.

    Parameters
    ----------
    path, format, target, header, features, classes, missing : see `read_data`
    n_rows : int, optional
        Maximum number of rows in a block; by default, the features of a block take about 32 MB.
    categories : "refuse", or a dict of columns and values
    zero_based : bool or "auto", default="auto"
        See `read_data`. For a pipe whose number of features is given, "auto" checks only the first
        lines; an index 0 after them is an error.

    Returns
    -------
    iterator of Data
    """
    n_rows = None if n_rows is None else as_count("n_rows", n_rows)
    _check_categories(categories, in_blocks=True)
    options = ReadOptions(target, header, features, categories, classes, zero_based, missing)
    table = open_table(path, format, options)
    return (
        table.to_data(block, are_all=False) for block in table.blocks(_block_rows(table, n_rows))
    )


def _check_categories(categories: Categories, *, in_blocks: bool) -> None:
    """Raise ArgumentError if `categories` is invalid, or cannot be used block by block."""
    if isinstance(categories, str) and categories not in ("refuse", "one-hot"):
        raise ArgumentError(
            Argument("categories"),
            ' must be "refuse", "one-hot", a list of columns or a dict of columns and their '
            f'values; got "{categories}".',
        )
    if in_blocks and categories != "refuse" and not isinstance(categories, Mapping):
        raise ArgumentError(
            Argument("categories", categories),
            " needs the whole file to find all values. Use a dict of columns and their values, "
            "such as the `categories` of the training data.",
        )


def open_table(path: Source, format: str | None, options: ReadOptions) -> Table:
    """Return a file as a table."""
    source = open_source(path)
    kind = FORMATS[find_format(source, format)]
    if isinstance(source, Stream) and not kind.is_text:
        raise DataError(
            f"{os.fspath(source)}: the {kind.name} format cannot be read from a pipe. Save the "
            "data to a file first."
        )
    return kind.open(source, options)


def read_table(table: Table) -> Data:
    """Return all samples of a table."""
    if table.n_rows is not None:
        check_size(table.source, table.n_rows * table.bytes_per_row)
    whole = join_blocks(table.source, table.blocks(_block_rows(table)), table.n_rows)
    if table.categories:
        n_values = sum(len(index.values) for index in table.categories.values())
        check_size(table.source, 8 * len(whole.X) * (whole.X.shape[1] + n_values))
    return table.to_data(whole, are_all=True)


def _block_rows(table: Table, n_rows: int | None = None) -> int:
    """Return the number of rows in a block: as given, or so that it takes about 32 MB."""
    if n_rows is not None:
        return n_rows
    return max(1, min(_MOST_ROWS, _BLOCK_BYTES // max(1, table.bytes_per_row)))


def join_blocks(source: str, blocks: Iterable[RawBlock], n_rows: int | None) -> RawBlock:
    """Return all blocks of a table as one, with little memory beyond that of the result.

    Parameters
    ----------
    source : name of the file, for messages
    blocks : blocks of the table, at least one
    n_rows : number of rows; None if it is known only after reading all of them
    """
    parts: list[Any] = []
    labels: list[NDArray[np.intp]] = []
    rows: list[NDArray[np.int64]] = []
    whole: NDArray[np.float64] | None = None
    n_bytes = n_read = 0
    for block in blocks:
        X = block.X
        n_bytes += X.data.nbytes + X.indices.nbytes if is_sparse(X) else X.nbytes
        check_size(source, n_bytes)
        if n_rows is not None and isinstance(X, np.ndarray):
            if whole is None:
                whole = np.empty((n_rows, X.shape[1]))
            if n_read + len(X) > n_rows:
                raise DataError(f"{source}: the file has more rows than it declares, {n_rows}")
            whole[n_read : n_read + len(X)] = X
        else:
            parts.append(X)
        n_read += X.shape[0]
        rows.append(block.row_numbers)
        if block.labels is not None:
            labels.append(block.labels)
    if not rows:
        raise DataError(f"{source}: the file has no rows")
    if whole is not None and n_read < len(whole):
        raise DataError(f"{source}: the file declares {n_rows} rows but has {n_read}")
    X = _join_parts(parts) if whole is None else whole
    return RawBlock(X, np.concatenate(labels) if labels else None, np.concatenate(rows))


def _join_parts(parts: list[Any]) -> Any:
    """Return the rows of all parts; parts are removed from the list as they are copied."""
    if len(parts) == 1:
        return parts[0]
    if is_sparse(parts[0]):
        return scipy.sparse.vstack(parts, "csr")
    # The pages of a new array take memory only once they are written to.
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    last = len(whole)
    while parts:
        part = parts.pop()
        whole[last - len(part) : last] = part
        last -= len(part)
    return whole


def write_data(
    path: str | os.PathLike[str],
    data: Data,
    *,
    format: str | None = None,
    target: str = "label",
) -> None:
    """Write samples and labels to a file; if that fails, no partial file is left.

    `read_data` reads the same samples and labels back. One-hot encoded categories are written as
    text again. CSV, TSV and Parquet files have the label in their last column. Features in svmlight
    files are numbered from 1, or from 0 if `data` was read from such a file.

    Parameters
    ----------
    path : file; a text file whose name ends in .gz is gzipped
    data : Data
    format : see `read_data`
    target : name of the label column, in formats with named columns

    Examples
    --------
    >>> import tempfile
    >>> data = Data(np.array([[1.5, 2.0]]), np.array(["oak"]), ("height", "width"), np.array([1]))
    >>> file = Path(tempfile.mkdtemp(), "trees.csv")
    >>> write_data(file, data)
    >>> print(file.read_text())
    height,width,label
    1.5,2,oak
    <BLANKLINE>
    """
    kind = FORMATS[find_format(path, format)]
    kind.write(Path(path), replace(data, X=check_sparse(data.X, "data.X")), target)
