"""LIBSVM's own data files, sparse: ``label index:value index:value …``, indices from one."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from polytomy.datasets.categories import CategoryIndex
from polytomy.datasets.labels import LabelIndex
from polytomy.datasets.lines import LineBlock, line_blocks
from polytomy.datasets.places import problem_at, what_is_wrong
from polytomy.datasets.table import RawBlock, number_labels
from polytomy.errors import ArgumentError, DataError

__all__ = ["SvmlightTable", "looks_like_svmlight"]

_SCAN_ROWS = 10_000
_SAMPLE_ROWS = 1000
_LARGEST_INDEX = 2**31 - 1
_LINE = re.compile(rb"[-+.\deE]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?")


def looks_like_svmlight(line: bytes) -> bool:
    """Return whether a line is a number and then pairs ``index:value``."""
    return _LINE.fullmatch(line) is not None


class SvmlightTable:
    """A sparse table in a text file.

    Parameters
    ----------
    path : file, gzipped or not
    n_features : number of features, where it is known; else the file is read twice
    has_labels : whether the labels are wanted
    index : where the labels are collected
    """

    feature_names = None
    categories: Mapping[int, CategoryIndex] = {}

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        n_features: int | None,
        has_labels: bool,
        index: LabelIndex,
    ) -> None:
        self._path, self._source = path, os.fspath(path)
        self._has_labels, self.index = has_labels, index
        self._n_features = n_features

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
        for block in self._lines(n_rows):
            X, y = self._parse(block)
            if X.shape[1] > n_features:
                raise self._too_wide(block, n_features)
            rows = np.array(block.numbers, dtype=np.int64)
            labels = number_labels(self.index, y, rows, self._source) if self._has_labels else None
            shape = (X.shape[0], n_features)
            yield RawBlock(csr_array((X.data, X.indices, X.indptr), shape), labels, rows)

    def _lines(self, n_rows: int) -> Iterator[LineBlock]:
        is_empty = True
        for block in line_blocks(self._path, n_rows, comment=b"#"):
            is_empty = False
            yield block
        if is_empty:
            raise DataError(f"{self._source}: the file is empty")

    def _parse(self, block: LineBlock) -> tuple[csr_array, NDArray[np.float64]]:
        text = io.BytesIO(b"\n".join(block.lines))
        try:
            X, y = load_svmlight_file(text, zero_based=False)
        except (ValueError, OverflowError, UnicodeDecodeError) as error:
            raise self._explain(block, error) from None
        if X.shape[0] != len(block.lines) or not (
            np.isfinite(X.data).all() and np.isfinite(y).all()
        ):
            raise self._explain(block, None)
        return csr_array(X), y

    def _explain(self, block: LineBlock, error: Exception | None) -> DataError:
        for line, number in zip(block.lines, block.numbers, strict=True):
            if what := _what_is_wrong(line):
                return problem_at(self._source, what, line=number)
        reason = "" if error is None else f": {error}"
        first, last = block.numbers[0], block.numbers[-1]
        return DataError(f"{self._source}: lines {first} to {last} are no svmlight data{reason}")

    def _too_wide(self, block: LineBlock, n_features: int) -> DataError:
        for line, number in zip(block.lines, block.numbers, strict=True):
            largest = max((int(i) for i in re.findall(rb"\s(\d+):", line)), default=0)
            if largest > n_features:
                what = f"there is a feature {largest}, but there are only {n_features} features"
                return problem_at(self._source, what, line=number)
        raise ArgumentError(f"{self._source} has more than {n_features} features")


def _what_is_wrong(line: bytes) -> str | None:
    label, *pairs = line.split(b"#")[0].decode("utf-8", "replace").split() or [""]
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
                "there is a feature 0, but indices count from one. Write the file again, with "
                "zero_based=False of scikit-learn's dump_svmlight_file"
            )
        if int(index) > _LARGEST_INDEX:
            return f"feature {index} is beyond the largest index, {_LARGEST_INDEX}"
        if int(index) <= previous:
            return f"feature {index} comes after feature {previous}; indices must ascend"
        if wrong := what_is_wrong(value):
            return f"feature {index}: {wrong}"
        previous = int(index)
    return None
