"""LIBSVM's own data files, sparse: ``label index:value index:value …``, indices from one."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.labels import LabelIndex
from polytomy.datasets.lines import LineBlock, line_blocks
from polytomy.datasets.places import problem_at, what_is_wrong
from polytomy.datasets.streams import Source
from polytomy.datasets.table import RawBlock, number_labels
from polytomy.errors import DataError

__all__ = ["KernelTable", "SvmlightTable", "looks_like_svmlight"]

_SCAN_ROWS = 10_000
_SAMPLE_ROWS = 1000
#: Indices above need the number of features to be told: scalers and linear models take memory for
#: all features, and a single wrong index would make them billions.
LARGEST_INDEX = 2**24
_LARGEST_OF_ALL = 2**31 - 1
_LINE = re.compile(rb"[-+.\deE]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?")


def looks_like_svmlight(line: bytes) -> bool:
    """Return whether a line is a number and then pairs ``index:value``."""
    return _LINE.fullmatch(line) is not None


class SvmlightTable:
    """A sparse table in a text file.

    Parameters
    ----------
    path : file or stream, gzipped or not
    n_features : number of features, where it is known; else the file is read twice
    extra_features : whether samples may have more; a block is then as wide as its widest sample
    has_labels : whether the labels are wanted
    index : where the labels are collected
    """

    feature_names = None
    categories: Mapping[int, CategoryIndex] = {}
    _is_zero_based = False

    def __init__(
        self,
        path: Source,
        *,
        n_features: int | None,
        has_labels: bool,
        index: LabelIndex,
        extra_features: bool = False,
    ) -> None:
        self._path, self._source = path, os.fspath(path)
        self._has_labels, self.index = has_labels, index
        self._n_features, self._extra_features = n_features, extra_features
        self._largest = max(LARGEST_INDEX, n_features or 0)

    @property
    def n_features(self) -> int:
        """Number of features: the largest index of the file, unless it was given."""
        if self._n_features is None:
            parts = [self._parse(block)[0].shape[1] for block in self._lines(_SCAN_ROWS)]
            self._n_features = max(parts)
        return self._n_features

    @property
    def bytes_of_row(self) -> int:
        """Bytes that a sample takes on average, by the first lines."""
        X, _ = self._parse(next(self._lines(_SAMPLE_ROWS)))
        return 12 * int(X.nnz) // int(X.shape[0]) + 8

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, so many at a time; DataError says where one is wrong."""
        n_features = self.n_features
        for block in self._lines(n_rows, is_last=True):
            X, y = self._parse(block)
            if X.shape[1] > n_features and not self._extra_features:
                raise self._too_wide(block, n_features)
            shape = (X.shape[0], max(n_features, X.shape[1]))
            yield self._finished(csr_array((X.data, X.indices, X.indptr), shape), y, block)

    def _finished(self, X: Any, y: NDArray[np.float64], block: LineBlock) -> RawBlock:
        rows = np.array(block.numbers, dtype=np.int64)
        labels = number_labels(self.index, y, rows, self._source) if self._has_labels else None
        return RawBlock(X, labels, rows)

    def _lines(self, n_rows: int, *, is_last: bool = False) -> Iterator[LineBlock]:
        is_empty = True
        for block in line_blocks(self._path, n_rows, comment=b"#", is_last=is_last):
            is_empty = False
            yield block
        if is_empty:
            raise DataError(f"{self._source}: the file is empty")

    def _parse(self, block: LineBlock) -> tuple[csr_array, NDArray[np.float64]]:
        text = io.BytesIO(b"\n".join(block.lines))
        try:
            X, y = load_svmlight_file(text, zero_based=self._is_zero_based)
        except (ValueError, OverflowError, UnicodeDecodeError) as error:
            raise self._explain(block, error) from None
        is_good = X.shape[0] == len(block.lines) and X.shape[1] <= self._largest
        if not (is_good and np.isfinite(X.data).all() and np.isfinite(y).all()):
            raise self._explain(block, None)
        return csr_array(X), y

    def _explain(self, block: LineBlock, error: Exception | None) -> DataError:
        for line, number in zip(block.lines, block.numbers, strict=True):
            if what := self._what_is_wrong(line):
                return problem_at(self._source, what, line=number)
        reason = "" if error is None else f": {error}"
        first, last = block.numbers[0], block.numbers[-1]
        return DataError(f"{self._source}: lines {first} to {last} are no svmlight data{reason}")

    def _too_wide(self, block: LineBlock, n_features: int) -> DataError:
        for line, number in zip(block.lines, block.numbers, strict=True):
            largest = max((int(i) for i in re.findall(rb"\s(\d+):", line)), default=0)
            if largest > n_features:
                what = (
                    f"there is a feature {largest}, but there are only {n_features} features. Read "
                    f"the training data with features={largest} or more"
                )
                return problem_at(self._source, what, line=number)
        raise AssertionError("a block that is too wide has a line that is")

    def _what_is_wrong(self, line: bytes) -> str | None:
        label, *pairs = _words(line)
        if wrong := what_is_wrong(label):
            return f"label: {wrong}"
        previous = 0
        for pair in pairs:
            index, colon, value = pair.partition(":")
            if index == "qid":
                continue
            if not colon or not re.fullmatch(r"[0-9]{1,10}", index):
                return f'"{pair[:40]}" is no pair index:value'
            if int(index) == 0:
                return (
                    "there is a feature 0, but indices count from one. If these are rows of kernel "
                    'values, label 0:number 1:value 2:value, say format="kernel"; else write the '
                    "file again, with indices from one"
                )
            if int(index) > _LARGEST_OF_ALL:
                return f"feature {index} is beyond the largest index, {_LARGEST_OF_ALL}"
            if int(index) > self._largest:
                return (
                    f"feature {index} is beyond {self._largest}. If it is meant, say how many "
                    f"features there are, features={index} or more"
                )
            if int(index) <= previous:
                return f"feature {index} comes after feature {previous}; indices must ascend"
            if wrong := what_is_wrong(value):
                return f"feature {index}: {wrong}"
            previous = int(index)
        return None


class KernelTable(SvmlightTable):
    """Rows of kernel values with all training samples: ``label 0:number 1:value 2:value …``.

    That is how LIBSVM takes precomputed kernels; the number of the sample means nothing to
    prediction. Every row has all values.

    Parameters
    ----------
    path, has_labels, index : as in SvmlightTable
    n_features : number of training samples, where it is known; else that of the first row
    """

    _is_zero_based = True

    @property
    def n_features(self) -> int:
        """Number of kernel values of a row."""
        if self._n_features is None:
            line = next(self._lines(1)).lines[0]
            self._n_features = max(1, len(_words(line)) - 2)
        return self._n_features

    @property
    def bytes_of_row(self) -> int:
        """Bytes that a sample takes."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, so many at a time; DataError says where one is wrong."""
        width = self.n_features + 1
        for block in self._lines(n_rows, is_last=True):
            X, y = self._parse(block)
            if X.shape[1] != width or np.any(np.diff(X.indptr) != width):
                raise self._explain(block, None)
            yield self._finished(X.toarray()[:, 1:], y, block)

    def _what_is_wrong(self, line: bytes) -> str | None:
        label, *pairs = _words(line)
        if wrong := what_is_wrong(label):
            return f"label: {wrong}"
        expected = [str(k) for k in range(self.n_features + 1)]
        if [pair.partition(":")[0] for pair in pairs] != expected:
            return (
                "a row of kernel values is label 0:number 1:value 2:value … up to "
                f"{self.n_features}, one for each training sample"
            )
        values = (what_is_wrong(pair.partition(":")[2]) for pair in pairs)
        return next((f"value {k}: {wrong}" for k, wrong in enumerate(values) if wrong), None)


def _words(line: bytes) -> list[str]:
    return line.split(b"#")[0].decode("utf-8", "replace").split() or [""]
