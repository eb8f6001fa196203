"""Writing data files."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.datasets.dataset import Data
from polytomy.datasets.formats import find_format
from polytomy.datasets.parquet import import_pyarrow
from polytomy.errors import Argument, ArgumentError
from polytomy.files import open_atomically
from polytomy.inputs.sparse import check_sparse

__all__ = ["write_data"]

_DEFAULT_LABEL = "label"


def write_data(
    path: str | os.PathLike[str],
    data: Data,
    *,
    format: str | None = None,
    target: str = _DEFAULT_LABEL,
) -> None:
    """Write samples and labels to a file; if that fails, no partial file is left.

    `read_data` reads the same samples and labels back, except that the "agf" format has single
    precision. One-hot encoded categories are written as text again. CSV, TSV and Parquet files
    have the label in their last column. Features in svmlight files are numbered from 1, or from 0
    if `data` was read from such a file.

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
    kind = find_format(path, format)
    data = replace(data, X=check_sparse(data.X, "data.X"))
    if kind == "agf":
        _write_agf(Path(path), data)
        return
    if kind == "kernel":
        raise ArgumentError(Argument("format", "kernel"), " can only be read. Use another format.")
    is_text = kind in ("csv", "tsv", "svmlight", "lvq")
    with open_atomically(path) as file, _gzipped(file, path, is_text) as stream:
        if kind in ("csv", "tsv"):
            _write_delimited(stream, data, "\t" if kind == "tsv" else ",", target)
        elif kind == "svmlight":
            _write_svmlight(stream, data)
        elif kind == "lvq":
            _write_lvq(stream, data)
        elif kind == "npz":
            _write_npz(stream, data)
        else:
            _write_parquet(stream, data, target)


@contextmanager
def _gzipped(
    file: BinaryIO, path: str | os.PathLike[str], is_text: bool
) -> Iterator[BinaryIO | gzip.GzipFile]:
    if not (is_text and os.fspath(path).lower().endswith(".gz")):
        yield file
        return
    # Without a name and a time, the same data gives the same file.
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
        yield zipped


def _write_delimited(stream: Any, data: Data, delimiter: str, target: str) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    names, columns = _table_of(data, target)
    for column in columns:
        _check_texts(column)
    if names is not None:
        _check_texts(np.array([name for name in names if name]))
        writer.writerow(names)
    writer.writerows(zip(*(_texts(column) for column in columns), strict=True))
    text.detach()


def _check_texts(values: NDArray[Any]) -> None:
    """Reject text that would not read back: fields are stripped, samples end with their line."""
    texts = set() if values.dtype.kind in "biuf" else set(map(str, values.tolist()))
    bad = [text for text in texts if not text or text.strip() != text or set(text) & {"\n", "\r"}]
    if bad:
        raise ArgumentError(
            "text in CSV and TSV files cannot be blank, have spaces around it or contain line "
            f"breaks; got {min(bad)!r}. Use another format."
        )


def _table_of(data: Data, target: str) -> tuple[list[str] | None, list[NDArray[Any]]]:
    """Return the names and values of the columns, with categories as text and the label last."""
    X = _dense(data.X)
    names: list[str] | None
    if data.categories:
        names, columns = _undo_one_hot(X, data.feature_names or (), data.categories)
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


def _undo_one_hot(
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


def _texts(values: NDArray[Any]) -> list[Any]:
    """Return values with whole floats as integers, which are shorter and read back the same."""
    return [
        int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        else value
        for value in values.tolist()
    ]


def _write_svmlight(stream: Any, data: Data) -> None:
    y = np.zeros(data.n_samples) if data.y is None else data.y
    if y.dtype.kind not in "biuf":
        raise ArgumentError(
            f"labels in the svmlight format must be numbers; got {y.tolist()[0]!r}. Use another "
            "format."
        )
    X = csr_array(data.X)
    labels, values = _texts(y), _texts(X.data)
    starts = X.indptr.tolist()
    base = 0 if data.is_zero_based else 1
    # Without any index 0, a reader could not tell that indices start at 0.
    mark = " 0:0" if base == 0 and not np.any(X.indices == 0) else ""
    for label, first, last in zip(labels, starts[:-1], starts[1:], strict=True):
        indices = (X.indices[first:last] + base).tolist()
        pairs = [f" {i}:{value}" for i, value in zip(indices, values[first:last], strict=True)]
        stream.write(f"{label}{mark}{''.join(pairs)}\n".encode())
        mark = ""


def _write_lvq(stream: Any, data: Data) -> None:
    labels = None if data.y is None else [str(label) for label in data.y.tolist()]
    if labels is not None and (bad := [label for label in labels if label.split() != [label]]):
        raise ArgumentError(
            f"labels in the lvq format cannot contain whitespace; got {bad[0]!r}. Use another "
            "format."
        )
    stream.write(f"{data.n_features}\n".encode())
    for i, row in enumerate(_dense(data.X)):
        words = [*map(str, _texts(row)), *([] if labels is None else [labels[i]])]
        stream.write((" ".join(words) + "\n").encode())


def _write_npz(stream: Any, data: Data) -> None:
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


def _write_parquet(stream: Any, data: Data, target: str) -> None:
    arrow = import_pyarrow()
    names, columns = _table_of(data, target)
    if names is None:
        names = [f"x{k + 1}" for k in range(data.n_features)]
        names += [] if data.y is None else [target]
    arrow.parquet.write_table(arrow.table([arrow.array(c) for c in columns], names=names), stream)


def _write_agf(path: Path, data: Data) -> None:
    base = path.with_suffix("") if path.suffix in (".vec", ".cls") else path
    X = _dense(data.X)
    if data.y is not None:
        if data.y.dtype.kind not in "biu":
            raise ArgumentError(
                f"labels in the agf format must be integers; got {data.y.tolist()[0]!r}. Use "
                "another format."
            )
        with open_atomically(base.with_name(base.name + ".cls")) as file:
            file.write(data.y.astype("<i4").tobytes())
    with open_atomically(base.with_name(base.name + ".vec")) as file:
        file.write(np.array([X.shape[1]], dtype="<i4").tobytes())
        file.write(X.astype("<f4").tobytes())


def _dense(X: Any) -> NDArray[np.float64]:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())
