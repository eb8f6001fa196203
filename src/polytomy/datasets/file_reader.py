"""Reading data files, whole or block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from polytomy.datasets.agf import AgfTable
from polytomy.datasets.categories import Categories, check_categories, encode_one_hot, expand_names
from polytomy.datasets.columns import Features, Target
from polytomy.datasets.dataset import Data
from polytomy.datasets.delimited import DelimitedTable, Dialect
from polytomy.datasets.formats import DELIMITERS, find_format
from polytomy.datasets.label_index import LabelIndex
from polytomy.datasets.lvq import LvqTable
from polytomy.datasets.npz import NpzTable
from polytomy.datasets.parquet import ParquetTable
from polytomy.datasets.parquet_folders import ParquetFolder
from polytomy.datasets.streams import Source, Stream, open_source
from polytomy.datasets.svmlight import KernelTable, SvmlightTable, ZeroBased
from polytomy.datasets.table_blocks import RawBlock, SampleTable
from polytomy.datasets.text_lines import peek_line
from polytomy.datasets.whole_table import check_size, join_blocks
from polytomy.errors import Argument, ArgumentError, DataError

__all__ = ["open_blocks", "open_table", "read_data", "read_row_groups", "rows_per_block"]

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
) -> Data:
    """Return the samples and labels of a file.

    Parameters
    ----------
    path : file; a folder of Parquet files; or a pipe, for text formats
    format : "csv", "tsv", "svmlight", "parquet", "npz", "lvq", "agf" or "kernel"
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
    check_categories(categories, in_blocks=False)
    table = open_table(
        path, format, target, header, features, categories, classes, zero_based=zero_based
    )
    return _read_whole(table, os.fspath(path))


def read_row_groups(
    path: str | os.PathLike[str],
    row_groups: Sequence[int],
    *,
    target: Target,
    features: Features,
    categories: Categories,
    classes: ArrayLike,
) -> Data:
    """Return the samples and labels of consecutive row groups of a Parquet file.

    The parameters besides `row_groups` are those of `read_data`.
    """
    table = ParquetTable(
        path,
        target=target,
        features=features,
        categories=categories,
        label_index=LabelIndex(classes),
        row_groups=row_groups,
    )
    return _read_whole(table, os.fspath(path))


def _read_whole(table: SampleTable, source: str) -> Data:
    n_rows = table.n_rows
    if n_rows is not None:
        check_size(source, n_rows * table.bytes_per_row)
    whole = join_blocks(source, table.blocks(rows_per_block(table, None)), n_rows)
    if table.categories:
        n_values = sum(len(index.values) for index in table.categories.values())
        check_size(source, 8 * len(whole.X) * (whole.X.shape[1] + n_values))
    return _to_data(table, whole, are_all=True)


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
    extra_features: bool = False,
    zero_based: ZeroBased = "auto",
) -> Iterator[Data]:
    """Return an iterator over blocks of samples, in bounded memory for files of any size.

    The file is opened and its columns are checked immediately, before the first block is read.
    Without `classes`, labels of text files stay text, because later blocks may have any label.

    Parameters
    ----------
    path, format, target, header, features, classes : see `read_data`
    n_rows : int, optional
        Maximum number of rows in a block; by default, the features of a block take about 32 MB.
    categories : "refuse", or a dict of columns and values
    extra_features : bool, default=False
        Whether samples in the svmlight format may have more features than `features`; a block is
        then as wide as its widest sample.
    zero_based : bool or "auto", default="auto"
        See `read_data`. For a pipe whose number of features is given, "auto" checks only the first
        lines; an index 0 after them is an error.

    Returns
    -------
    iterator of Data
    """
    if n_rows is not None and n_rows < 1:
        raise ArgumentError(Argument("n_rows", n_rows), " is too few. Use 1 or more.")
    check_categories(categories, in_blocks=True)
    table = open_table(
        path,
        format,
        target,
        header,
        features,
        categories,
        classes,
        extra_features=extra_features,
        zero_based=zero_based,
    )
    blocks = table.blocks(rows_per_block(table, n_rows))
    return (_to_data(table, block, are_all=False) for block in blocks)


def rows_per_block(table: SampleTable, n_rows: int | None = None) -> int:
    """Return the number of rows in a block: as given, or so that it takes about 32 MB."""
    if n_rows is not None:
        return n_rows
    return max(1, min(_MOST_ROWS, _BLOCK_BYTES // max(1, table.bytes_per_row)))


def _to_data(table: SampleTable, block: RawBlock, *, are_all: bool) -> Data:
    """Return a block with one-hot features for categories, and labels instead of numbers."""
    X: Any = block.X
    values_of: dict[int, tuple[str, ...]] = {}
    if table.categories:
        X, values_of = encode_one_hot(X, {k: index.values for k, index in table.categories.items()})
    y = None if block.labels is None else table.label_index.labels(block.labels, are_all=are_all)
    columns = table.feature_names
    called: tuple[str, ...] = columns or ()
    if values_of and columns is None:
        called = tuple([f"x{k + 1}" for k in range(block.X.shape[1])])
    names = expand_names(called, values_of) if called else None
    categories = {called[k]: values for k, values in values_of.items()}
    # Only tables whose label is one of the columns have this attribute.
    chosen = getattr(table, "columns", None)
    label_name = None if chosen is None else chosen.label_name
    # Rows of kernel values have no features to number.
    is_zero_based = table.is_zero_based if type(table) is SvmlightTable else None
    return Data(X, y, names, block.row_numbers, columns, label_name, categories, is_zero_based)


def open_table(
    path: Source,
    format: str | None,
    target: Target,
    header: bool | None,
    features: Features,
    categories: Categories,
    classes: ArrayLike | None,
    *,
    extra_features: bool = False,
    zero_based: ZeroBased = "auto",
) -> SampleTable:
    """Return a file as a table; the parameters are those of `read_data` and `open_blocks`."""
    if not (isinstance(zero_based, bool) or zero_based == "auto"):
        raise ArgumentError(
            Argument("zero_based"), f' must be True, False or "auto"; got {zero_based!r}.'
        )
    path = open_source(path)
    kind, label_index = find_format(path, format), LabelIndex(classes)
    options: dict[str, Any] = {
        "features": features,
        "categories": categories,
        "label_index": label_index,
    }
    if kind in ("csv", "tsv"):
        delimiter = "\t" if kind == "tsv" else _delimiter_of(peek_line(path))
        return DelimitedTable(path, Dialect(delimiter, header), target=target, **options)
    has_labels = target is not None
    n_features = features if features is None or isinstance(features, int) else len(features)
    labels: dict[str, Any] = {"has_labels": has_labels, "label_index": label_index}
    if kind == "svmlight":
        return SvmlightTable(
            path,
            n_features=n_features,
            extra_features=extra_features,
            zero_based=zero_based,
            **labels,
        )
    if kind == "kernel":
        return KernelTable(path, n_features=n_features, **labels)
    table: SampleTable
    if kind == "lvq":
        table = LvqTable(path, **labels)
    elif isinstance(path, Stream):
        raise DataError(
            f"{os.fspath(path)}: the {kind} format cannot be read from a pipe. Save the data to a "
            "file first."
        )
    elif kind == "parquet":
        kind_of_table = ParquetFolder if Path(path).is_dir() else ParquetTable
        return kind_of_table(path, target=target, **options)
    else:
        table = (
            NpzTable(path, n_features=n_features, **labels)
            if kind == "npz"
            else AgfTable(path, **labels)
        )
    if n_features is not None and table.n_features != n_features:
        raise DataError(
            f"{os.fspath(path)}: expected {n_features} features; found {table.n_features}"
        )
    names = None if features is None or isinstance(features, int) else tuple(features)
    if names is not None and table.feature_names not in (None, names):
        raise DataError(
            f"{os.fspath(path)}: the feature names, or their order, are not the expected ones"
        )
    return table


def _delimiter_of(line: bytes) -> str:
    """Return the separator of the fields in the first line of a CSV file."""
    return max(DELIMITERS, key=lambda mark: line.count(mark.encode()))
