"""Sparse data files: ``label index:value index:value …``, with indices from one or from zero.

LIBSVM counts features from one. scikit-learn's `dump_svmlight_file` counts them from zero by
default.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.label_index import LabelIndex, number_labels
from polytomy.datasets.located_errors import error_at
from polytomy.datasets.number_fields import why_not_a_number
from polytomy.datasets.streams import Source, Stream
from polytomy.datasets.table_blocks import RawBlock
from polytomy.datasets.text_lines import LineBlock, line_blocks
from polytomy.errors import Argument, DataError

__all__ = ["KernelTable", "SvmlightTable", "ZeroBased", "looks_like_svmlight"]

ZeroBased = bool | Literal["auto"]
"""Whether indices start at zero; "auto" if an index 0 occurs."""

_SCAN_ROWS = 10_000
_SAMPLE_ROWS = 1000
#: A larger index is an error unless the number of features is given: scalers and linear models
#: take memory for all features, and one wrong index could mean billions of them.
LARGEST_INDEX = 2**24
_LARGEST_OF_ALL = 2**31 - 1
_ZERO = re.compile(rb"\s0+:")
_LINE = re.compile(rb"[-+.\deE]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?")


def looks_like_svmlight(line: bytes) -> bool:
    """Return whether a line is a number followed by pairs ``index:value``."""
    return _LINE.fullmatch(line) is not None


class SvmlightTable:
    """A sparse table in a text file.

    Parameters
    ----------
    path : file or stream, gzipped or not
    n_features : number of features; None to find it, which reads the file twice
    extra_features : whether samples may have more; a block is then as wide as its widest sample
    has_labels : whether to read the labels
    label_index : collects the labels
    zero_based : whether indices start at zero
        "auto" looks for an index 0 anywhere in a file. In a stream whose number of features is
        given it looks at the first lines, so that memory is bounded; an index 0 after them is an
        error.
    """

    feature_names = None
    n_rows = None
    categories: Mapping[int, CategoryIndex] = {}

    def __init__(
        self,
        path: Source,
        *,
        n_features: int | None,
        has_labels: bool,
        label_index: LabelIndex,
        extra_features: bool = False,
        zero_based: ZeroBased = "auto",
    ) -> None:
        self._path, self._source = path, os.fspath(path)
        self._zero_based: bool | None = None if zero_based == "auto" else zero_based
        self._has_labels, self.label_index = has_labels, label_index
        self._n_features, self._extra_features = n_features, extra_features
        self._largest = max(LARGEST_INDEX, n_features or 0)

    @property
    def n_features(self) -> int:
        """Number of features: as given, or else the largest index of the file."""
        if self._n_features is None:
            width, has_zero = 1, False
            for block in self._lines(_SCAN_ROWS):
                X, _ = self._parse(block)
                width, has_zero = max(width, X.shape[1]), has_zero or _has_zero(X)
            if self._zero_based is None:
                self._set_base(has_zero)
            self._n_features = max(1, width - (not self._zero_based))
        return self._n_features

    @property
    def is_zero_based(self) -> bool:
        """Whether indices start at zero, as given or as found in the file."""
        if self._zero_based is None and self._n_features is None:
            assert self.n_features, "the same pass over the file finds both"
        if self._zero_based is None:
            self._set_base(self._find_zero())
        assert self._zero_based is not None, "it was set above"
        return self._zero_based

    def _set_base(self, has_zero: bool) -> None:
        if has_zero:
            block = next(self._lines(_SAMPLE_ROWS))
            if _are_kernel_rows(self._parse(block)[0]):
                raise error_at(
                    self._source,
                    "these may be rows of kernel values, or features numbered from 0. Use ",
                    Argument("format", "kernel"),
                    " or ",
                    Argument("zero_based", True),
                    ".",
                    line=block.numbers[0],
                )
        self._zero_based = has_zero

    def _find_zero(self) -> bool:
        """Return whether a file, or the start of a stream, has an index 0."""
        for block in self._lines(_SAMPLE_ROWS if isinstance(self._path, Stream) else _SCAN_ROWS):
            # A search of all bytes is much faster than parsing; a match may be in a comment.
            if _ZERO.search(b"\n".join(block.lines)):
                lines = (line.partition(b"#")[0] for line in block.lines)
                if any(map(_ZERO.search, lines)):
                    return True
            if isinstance(self._path, Stream):
                break
        return False

    @property
    def bytes_per_row(self) -> int:
        """Average size of a sample in memory, estimated from the first lines."""
        X, _ = self._parse(next(self._lines(_SAMPLE_ROWS)))
        return 12 * int(X.nnz) // int(X.shape[0]) + 8

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        n_features, first = self.n_features, 0 if self.is_zero_based else 1
        for block in self._lines(n_rows, is_last=True):
            X, y = self._parse(block)
            if first and _has_zero(X):
                raise self._explain(block, None)
            width = X.shape[1] - first
            if width > n_features and not self._extra_features:
                raise self._too_wide(block, n_features)
            shape = (X.shape[0], max(n_features, width))
            parts = X.data, X.indices - first, X.indptr
            yield self._make_block(csr_array(parts, shape), y, block)

    def _make_block(self, X: Any, y: NDArray[np.float64], block: LineBlock) -> RawBlock:
        rows = np.array(block.numbers, dtype=np.int64)
        labels = (
            number_labels(self.label_index, y, rows, self._source) if self._has_labels else None
        )
        return RawBlock(X, labels, rows)

    def _lines(self, n_rows: int, *, is_last: bool = False) -> Iterator[LineBlock]:
        is_empty = True
        for block in line_blocks(self._path, n_rows, comment=b"#", is_last=is_last):
            is_empty = False
            yield block
        if is_empty:
            raise DataError(f"{self._source}: the file is empty")

    def _parse(self, block: LineBlock) -> tuple[csr_array, NDArray[np.float64]]:
        from sklearn.datasets import load_svmlight_file

        text = io.BytesIO(b"\n".join(block.lines))
        try:
            X, y = load_svmlight_file(text, zero_based=True)  # indices as they are in the file
        except (ValueError, OverflowError, UnicodeDecodeError) as error:
            raise self._explain(block, error) from None
        # Indices from 1 make one more column.
        is_good = X.shape[0] == len(block.lines) and X.shape[1] <= self._largest + 1
        if not (is_good and np.isfinite(X.data).all() and np.isfinite(y).all()):
            raise self._explain(block, None)
        return csr_array(X), y

    def _explain(self, block: LineBlock, error: Exception | None) -> DataError:
        for line, number in zip(block.lines, block.numbers, strict=True):
            if message := self._explain_line(line):
                return error_at(self._source, *message, line=number)
        reason = "" if error is None else f": {error}"
        first, last = block.numbers[0], block.numbers[-1]
        return DataError(f"{self._source}: lines {first} to {last} are not svmlight data{reason}")

    def _too_wide(self, block: LineBlock, n_features: int) -> DataError:
        first = 0 if self._zero_based else 1
        for line, number in zip(block.lines, block.numbers, strict=True):
            largest = max((int(i) for i in re.findall(rb"\s(\d+):", line)), default=0)
            n_needed = largest + 1 - first
            if n_needed > n_features:
                from_zero = "" if first else ", numbered from 0"
                return error_at(
                    self._source,
                    f"feature index {largest} is larger than the number of features, "
                    f"{n_features}{from_zero}. Read the training data with ",
                    Argument("features", n_needed),
                    " or more.",
                    line=number,
                )
        raise AssertionError("a block that is too wide has a line that is too wide")

    def _explain_line(self, line: bytes) -> list[str | Argument]:
        """Return the message for a bad line; empty if nothing is wrong."""
        label, *pairs = _words(line)
        if reason := why_not_a_number(label):
            return [f"label: {reason}"]
        previous = -1
        for pair in pairs:
            index, colon, value = pair.partition(":")
            if index == "qid":
                continue
            if not colon or not re.fullmatch(r"[0-9]{1,10}", index):
                return [f'"{pair[:40]}" is not a pair index:value']
            if int(index) == 0 and self._zero_based is False:
                return [
                    "there is an index 0, but features are numbered from 1 here. If they are "
                    "numbered from 0, use ",
                    Argument("zero_based", True),
                    '; if these are rows of kernel values ("label 0:number 1:value 2:value"), use ',
                    Argument("format", "kernel"),
                    ".",
                ]
            if int(index) > _LARGEST_OF_ALL:
                return [f"feature index {index} is larger than the limit, {_LARGEST_OF_ALL}"]
            if int(index) > self._largest:
                return [
                    f"feature index {index} is larger than {self._largest}. If it is correct, set "
                    "the number of features: ",
                    Argument("features", int(index)),
                    " or more.",
                ]
            if int(index) <= previous:
                return [f"feature {index} comes after feature {previous}; indices must increase"]
            if reason := why_not_a_number(value):
                return [f"feature {index}: {reason}"]
            previous = int(index)
        return []


def _has_zero(X: csr_array) -> bool:
    return X.nnz > 0 and int(X.indices.min()) == 0


def _are_kernel_rows(X: csr_array) -> bool:
    """Return whether rows may be those of a kernel: ``0:1 1:value …``, then ``0:2 1:value …``."""
    numbers = np.arange(X.shape[0]) + 1.0
    return len(numbers) > 1 and bool(np.array_equal(X[:, [0]].toarray()[:, 0], numbers))


class KernelTable(SvmlightTable):
    """Rows of a precomputed kernel: ``label 0:number 1:value 2:value …``.

    This is LIBSVM's format. Each row has the kernel values of a sample with all training samples;
    the number of the sample is ignored.

    Parameters
    ----------
    path, has_labels, label_index : see `SvmlightTable`
    n_features : number of training samples; None for that of the first row
    """

    @property
    def n_features(self) -> int:
        """Number of kernel values in a row."""
        if self._n_features is None:
            line = next(self._lines(1)).lines[0]
            self._n_features = max(1, len(_words(line)) - 2)
        return self._n_features

    @property
    def bytes_per_row(self) -> int:
        """Size of a sample in memory."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        width = self.n_features + 1
        for block in self._lines(n_rows, is_last=True):
            X, y = self._parse(block)
            if X.shape[1] != width or np.any(np.diff(X.indptr) != width):
                raise self._explain(block, None)
            yield self._make_block(X.toarray()[:, 1:], y, block)

    def _explain_line(self, line: bytes) -> list[str | Argument]:
        label, *pairs = _words(line)
        if reason := why_not_a_number(label):
            return [f"label: {reason}"]
        expected = [str(k) for k in range(self.n_features + 1)]
        if [pair.partition(":")[0] for pair in pairs] != expected:
            return [
                "a row of kernel values must be label 0:number 1:value 2:value … up to "
                f"{self.n_features}, one value for each training sample"
            ]
        for k, pair in enumerate(pairs):
            if reason := why_not_a_number(pair.partition(":")[2]):
                return [f"value {k}: {reason}"]
        return []


def _words(line: bytes) -> list[str]:
    return line.split(b"#")[0].decode("utf-8", "replace").split() or [""]
