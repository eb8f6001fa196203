"""What all data formats have in common: a format opens a file as a table of blocks of samples.

Text features and labels are numbered while a file is read. Blocks hold the numbers; `Data` has
one-hot features and labels instead.
"""

from __future__ import annotations

import gzip
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.datasets.columns import (
    ABOUT_MISSING,
    CategoryIndex,
    Features,
    LabelIndex,
    Target,
    error_at,
    number_labels,
)
from polytomy.datasets.sources import Source
from polytomy.errors import Argument, ArgumentError, DataError, PythonOnly
from polytomy.files import open_atomically
from polytomy.inputs.arguments import Parameter, count_things, is_boolean
from polytomy.inputs.rows import machine_memory

#: "refuse", "one-hot" (every text column), column names, or column names with their values.
Categories = str | Sequence[str] | Mapping[str, Sequence[str]]
ZeroBased = bool | Literal["auto"]
"""Whether indices start at zero; "auto" if an index 0 occurs."""

_ZERO_BASED = Parameter(
    "zero_based", 'True, False or "auto"', lambda value: is_boolean(value) or value == "auto"
)
_MISSING = Parameter("missing", choices=("refuse", "nan"))
#: The samples of a file may take one half of the machine's memory: training needs the rest.
SHARE_OF_MEMORY = 2


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Samples of a file, or of a block of it.

    Attributes
    ----------
    X : float64 array or CSR array of shape (n_samples, n_features)
    y : array of shape (n_samples,); None if no labels were read
        Integers if all labels are integers, else floats if all are numbers, else text.
    feature_names : tuple of str, one for each column of X; None if the file has no names
    row_numbers : array of shape (n_samples,)
        Line of each sample in a text file, or row in any other file, counted from one.
    columns : tuple of str
        Columns of the file before one-hot encoding; None if the file has no names.
    label_name : str
        Name of the label column; None if the file has no names.
    categories : dict of str to tuple of str
        Text columns that were one-hot encoded, and their values.
    is_zero_based : bool
        Whether the features of an svmlight file are numbered from 0; None for other formats.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    row_numbers: NDArray[np.int64]
    columns: tuple[str, ...] | None = None
    label_name: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_zero_based: bool | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    @property
    def n_columns(self) -> int:
        """Number of features before one-hot encoding."""
        return self.n_features - sum(len(values) - 1 for values in self.categories.values())

    def __repr__(self) -> str:
        labels = "" if self.y is not None else ", no labels"
        features = count_things(self.n_features, "feature")
        return f"<Data: {count_things(self.n_samples, 'sample')} of {features}{labels}>"


@dataclass(frozen=True, slots=True, eq=False)
class ReadOptions:
    """What to read of a file; see `read_data` and `open_blocks`."""

    target: Target = -1
    header: bool | None = None
    features: Features = None
    categories: Categories = "refuse"
    classes: ArrayLike | None = None
    zero_based: ZeroBased = "auto"
    missing: str = "refuse"

    def __post_init__(self) -> None:
        _ZERO_BASED.check(self.zero_based)
        _MISSING.check(self.missing)

    @property
    def allows_missing(self) -> bool:
        """Whether missing values of features are read as NaN."""
        return self.missing == "nan"

    def explain_missing(self, what: str = "the value is missing") -> list[str | Argument]:
        """Return the message for a missing value, with the way out before a model is trained."""
        return [what, *(ABOUT_MISSING if self.features is None else ())]

    @property
    def n_features(self) -> int | None:
        """Expected number of features; None for any number."""
        return self.features if isinstance(self.features, int | None) else len(self.features)


class RawBlock(NamedTuple):
    """Samples whose text is replaced by numbers.

    Attributes
    ----------
    X : array or CSR array; text columns hold the numbers of their values
    labels : numbers of the labels; None if they are not read
    row_numbers : lines or rows of the file, counted from one
    """

    X: Any
    labels: NDArray[np.intp] | None
    row_numbers: NDArray[np.int64]


class NoRowsError(DataError):
    """A file without rows, which a folder may contain."""


class Table(ABC):
    """A data file as samples in blocks.

    Parameters
    ----------
    source : file or stream
    options : ReadOptions

    Attributes
    ----------
    source : name of the file, for messages
    n_features : number of features before one-hot encoding
    n_rows : number of rows; None if it is known only after reading all of them
    bytes_per_row : approximate size of a row of X
    feature_names : names of the features; None if the file has no names
    label_name : name of the label column; None if it has no name or is not read
    label_index : labels that the label numbers of blocks stand for
    categories : for each text feature, the values that its numbers stand for
    is_zero_based : whether features are numbered from zero; None except for svmlight files
    """

    n_features: int
    bytes_per_row: int
    n_rows: int | None = None
    feature_names: tuple[str, ...] | None = None
    label_name: str | None = None
    is_zero_based: bool | None = None
    categories: Mapping[int, CategoryIndex] = {}

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source = os.fspath(source)
        self.label_index = LabelIndex(options.classes)
        self._path = source
        self._options = options

    def error(self, *message: str | Argument, **place: Any) -> DataError:
        """Return an error that names the file; see `error_at` for its place."""
        return error_at(self.source, *message, **place)

    @abstractmethod
    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""

    def number_rows(
        self, matrices: Iterable[Any], labels: NDArray[Any] | None
    ) -> Iterator[RawBlock]:
        """Yield matrices of consecutive rows as blocks; DataError gives the row of a bad value.

        Parameters
        ----------
        matrices : arrays or CSR arrays of consecutive rows
        labels : labels of all rows; None if they are not read
        """
        first = 0
        for X in matrices:
            last = first + X.shape[0]
            rows = np.arange(first + 1, last + 1, dtype=np.int64)
            check_finite(X, rows, self.source, self._options, self.feature_names)
            numbers = None
            if labels is not None:
                numbers = number_labels(self.label_index, labels[first:last], rows, self.source)
            yield RawBlock(X, numbers, rows)
            first = last

    def check_features(self) -> Table:
        """Return the table; DataError if it does not have the features that were asked for."""
        features, n_expected = self._options.features, self._options.n_features
        if n_expected not in (None, self.n_features):
            raise self.error(f"expected {n_expected} features; found {self.n_features}")
        names = None if isinstance(features, int | None) else tuple(features)
        if names is not None and self.feature_names not in (None, names):
            raise self.error("the feature names, or their order, are not the expected ones")
        return self

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the features; x1, x2, … if the file has no names."""
        return self.feature_names or tuple([f"x{k + 1}" for k in range(self.n_features)])

    def to_data(self, block: RawBlock, *, are_all: bool) -> Data:
        """Return a block with one-hot features for categories, and labels instead of numbers.

        Labels stay text unless `are_all`, because later blocks may have any label.
        """
        X, names, categories = block.X, self.feature_names, {}
        if self.categories:
            values_of = {k: index.values for k, index in self.categories.items()}
            X, values_of = encode_one_hot(X, values_of)
            names = expand_names(self.called, values_of)
            categories = {self.called[k]: values for k, values in values_of.items()}
        labels = block.labels
        return Data(
            X,
            None if labels is None else self.label_index.labels(labels, are_all=are_all),
            names,
            block.row_numbers,
            self.feature_names,
            self.label_name,
            categories,
            self.is_zero_based,
        )


class Format(ABC):
    """A format of data files: how to recognise, read and write them.

    Attributes
    ----------
    name : name of the format
    endings : endings of file names; a text format may have .gz after them
    is_text : whether a file has lines of text, and may be gzipped or come from a pipe
    """

    name: str
    endings: tuple[str, ...] = ()
    is_text = False

    def matches_path(self, path: Path) -> bool:
        """Return whether the name of a file, or its kind, shows this format."""
        name = path.name.lower().removesuffix(".gz")
        return name.endswith(self.endings) and not path.is_dir()

    def matches_line(self, line: bytes) -> bool:
        """Return whether the first line of a file shows this format."""
        return False

    @abstractmethod
    def open(self, source: Any, options: ReadOptions) -> Table:
        """Return a file as a table; its columns are checked, but no samples are read."""

    def write(self, path: Path, data: Data, target: str) -> None:
        """Write samples to a file, completely or not at all."""
        with open_atomically(path) as file:
            if not (self.is_text and path.name.lower().endswith(".gz")):
                self.write_to(file, data, target)
                return
            # Without a name and a time, the same data gives the same file.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
                self.write_to(zipped, data, target)

    def write_to(self, stream: Any, data: Data, target: str) -> None:
        """Write samples to an open file; `target` names the label column."""
        raise ArgumentError(Argument("format", self.name), " can only be read. Use another format.")


# -- reading --------------------------------------------------------------------------------------


def check_size(source: str, n_bytes: int) -> None:
    """Raise DataError if samples of this size are too large for the machine.

    A small file can hold a very large table, by its declared shape or by compression.
    """
    limit = machine_memory() // SHARE_OF_MEMORY
    if n_bytes > limit:
        raise DataError(
            f"{source}: the samples take more than {limit / 2**30:.1f} GB, half of the machine's "
            "memory. Use fewer rows or columns",
            PythonOnly(", or read it block by block with open_blocks"),
            ". On the command line, train --stream reads it block by block.",
        )


def check_finite(
    X: Any,
    row_numbers: NDArray[np.int64],
    source: str,
    options: ReadOptions,
    names: tuple[str, ...] | None = None,
) -> None:
    """Raise DataError with the position of the first value of X that is not finite."""
    is_bad = np.isinf if options.allows_missing else lambda values: ~np.isfinite(values)
    if isinstance(X, np.ndarray):
        bad = np.argwhere(is_bad(X))
    else:
        entries = np.flatnonzero(is_bad(X.data))
        rows = np.searchsorted(X.indptr, entries, side="right") - 1
        bad = np.column_stack([rows, X.indices[entries]])
    if len(bad):
        row, column = (int(i) for i in bad[0])
        value = X[row, column]
        message: list[str | Argument] = [f"{value} is not a finite number"]
        if np.isnan(value):
            message = options.explain_missing("the value is missing (nan)")
        raise error_at(source, *message, row=int(row_numbers[row]), column=column, names=names)


def encode_one_hot(
    X: NDArray[np.float64], values_of: Mapping[int, tuple[str, ...]]
) -> tuple[NDArray[np.float64], dict[int, tuple[str, ...]]]:
    """Replace each column of value numbers by one column for each value.

    Parameters
    ----------
    X : array of shape (n_samples, n_columns)
    values_of : for each column of value numbers, the values that they stand for

    Returns
    -------
    X : array; new columns are in the sorted order of the values
    values_of : the given values, sorted

    Examples
    --------
    >>> X, values = encode_one_hot(np.array([[5.0, 0], [6, 1], [7, 0]]), {1: ("red", "blue")})
    >>> X
    array([[5., 0., 1.],
           [6., 1., 0.],
           [7., 0., 1.]])
    """
    parts: list[Any] = []
    ordered: dict[int, tuple[str, ...]] = {}
    for column in range(X.shape[1]):
        if column not in values_of:
            parts.append(X[:, column : column + 1])
            continue
        values = values_of[column]
        order = sorted(range(len(values)), key=values.__getitem__)
        ordered[column] = tuple([values[i] for i in order])
        parts.append(X[:, column : column + 1] == np.array(order, dtype=np.float64))
    return np.hstack(parts).astype(np.float64), ordered


def expand_names(names: Sequence[str], values_of: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the features after one-hot encoding.

    Examples
    --------
    >>> expand_names(["size", "colour"], {1: ["blue", "red"]})
    ('size', 'colour=blue', 'colour=red')
    """
    expanded: list[str] = []
    for column, name in enumerate(names):
        values = values_of.get(column)
        expanded += [name] if values is None else [f"{name}={value}" for value in values]
    return tuple(expanded)


# -- writing --------------------------------------------------------------------------------------


def list_columns(data: Data, target: str) -> tuple[list[str] | None, list[NDArray[Any]]]:
    """Return the names and values of the columns, with categories as text and the label last."""
    X = to_dense(data.X)
    names: list[str] | None
    if data.categories:
        names, columns = _decode_one_hot(X, data.feature_names or (), data.categories)
    else:
        names = None if data.feature_names is None else list(data.feature_names)
        columns = list(X.T)
    if data.y is not None:
        columns.append(data.y)
        if names is not None:
            if target in names:
                raise ArgumentError(
                    Argument("target", target),
                    " is also the name of a feature. Use another name for the label.",
                )
            names.append(target)
    return names, columns


def _decode_one_hot(
    X: NDArray[np.float64], names: Sequence[str], categories: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[NDArray[Any]]]:
    old_names: list[str] = []
    columns: list[NDArray[Any]] = []
    places = {f"{name}={values[0]}": (name, values) for name, values in categories.items()}
    column = 0
    while column < len(names):
        name, values = places.get(names[column], (names[column], None))
        old_names.append(name)
        width = 1 if values is None else len(values)
        part = X[:, column : column + width]
        columns.append(part[:, 0] if values is None else np.array(values)[part.argmax(axis=1)])
        column += width
    return old_names, columns


def shorten_numbers(values: NDArray[Any]) -> list[Any]:
    """Return values with whole floats as integers, which are shorter and read back the same."""
    return [
        int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        else value
        for value in values.tolist()
    ]


def to_dense(X: Any) -> NDArray[np.float64]:
    """Return samples as an array."""
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())
