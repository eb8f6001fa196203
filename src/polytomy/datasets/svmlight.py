"""Sparse data files: ``label index:value index:value …``, with indices from one or from zero.

LIBSVM counts features from one. scikit-learn's `dump_svmlight_file` counts them from zero by
default.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.datasets.columns import number_labels, why_not_a_number
from polytomy.datasets.sources import Source, Stream, TextBlock, first_lines, text_blocks
from polytomy.datasets.tables import Data, Format, RawBlock, ReadOptions, Table, shorten_numbers
from polytomy.errors import Argument, ArgumentError, DataError

_SCAN_ROWS = 10_000
_SAMPLE_ROWS = 1000
# A larger index is an error unless the number of features is given: scalers and linear models
# take memory for all features, and one wrong index could mean billions of them.
_LARGEST_INDEX = 2**24
_LINE = re.compile(rb"[-+.\deE]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?")


class SvmlightTable(Table):
    """A sparse table in a text file, read twice unless its width and its first index are given.

    With ``zero_based="auto"``, an index 0 anywhere in a file decides. In a stream whose number of
    features is given, only the first lines do, so that memory is bounded; an index 0 after them is
    an error.

    Parameters
    ----------
    source : file or stream, gzipped or not
    options : ReadOptions
    """

    n_features = 0  # until it is known

    def __init__(self, source: Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        self._largest = max(_LARGEST_INDEX, options.n_features or 0)
        self._sample = first_lines(source, _SAMPLE_ROWS, comment=b"#")
        if not len(self._sample.numbers):
            raise self.error("the file is empty")
        X, _ = self._parse(self._sample)
        self.bytes_per_row = 12 * int(X.nnz) // int(X.shape[0]) + 8
        is_unknown = options.zero_based == "auto"
        self.is_zero_based = None if is_unknown else bool(options.zero_based)
        width, has_zero = 1, False
        if options.n_features is None or is_unknown:
            width, has_zero = self._scan()
        if is_unknown:
            if has_zero:
                self._check_not_kernel(X)
            self.is_zero_based = has_zero
        self.n_features = options.n_features or max(1, width - (not self.is_zero_based))

    def _lines(self, n_rows: int, *, is_last: bool = False) -> Iterator[TextBlock]:
        return text_blocks(self._path, n_rows, comment=b"#", is_last=is_last)

    def _parse(self, block: TextBlock) -> tuple[scipy.sparse.csr_array, NDArray[np.float64]]:
        """Return the values of a block, with indices as they are in the file, and the labels."""
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(io.BytesIO(block.text), zero_based=True)
        except (ValueError, OverflowError, UnicodeDecodeError) as error:
            raise self._explain(block, error) from None
        # Indices from 1 make one more column.
        is_good = X.shape[0] == len(block.numbers) and X.shape[1] <= self._largest + 1
        if not (is_good and np.isfinite(X.data).all() and np.isfinite(y).all()):
            raise self._explain(block)
        return scipy.sparse.csr_array(X), y

    def _scan(self) -> tuple[int, bool]:
        """Return one more than the largest index of the file, and whether it has an index 0."""
        width, has_zero = 1, False
        is_pipe = isinstance(self._path, Stream) and self._options.n_features is not None
        for block in [self._sample] if is_pipe else self._lines(_SCAN_ROWS):
            X, _ = self._parse(block)
            width, has_zero = max(width, X.shape[1]), has_zero or _has_zero(X)
        return width, has_zero

    def _check_not_kernel(self, X: scipy.sparse.csr_array) -> None:
        """Raise DataError if rows may be those of a kernel: ``0:1 1:value``, ``0:2 1:value``."""
        numbers = np.arange(X.shape[0]) + 1.0
        if len(numbers) > 1 and np.array_equal(X[:, [0]].toarray()[:, 0], numbers):
            raise self.error(
                "these may be rows of kernel values, which are not read. If they are features "
                "numbered from 0, use ",
                Argument("zero_based", True),
                ".",
                line=int(self._sample.numbers[0]),
            )

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        n_features, first = self.n_features, 0 if self.is_zero_based else 1
        for block in self._lines(n_rows, is_last=True):
            X, y = self._parse(block)
            if X.shape[1] - first > n_features or (first and _has_zero(X)):
                raise self._explain(block)
            parts = X.data, X.indices - first, X.indptr
            X = scipy.sparse.csr_array(parts, (X.shape[0], n_features))
            labels = None
            if self._options.target is not None:
                labels = number_labels(self.label_index, y, block.numbers, self.source)
            yield RawBlock(X, labels, block.numbers)

    def _explain(self, block: TextBlock, error: Exception | None = None) -> DataError:
        """Return the error of the first bad line of a block."""
        for line, number in zip(block.lines, block.numbers.tolist(), strict=True):
            label, *pairs = line.split(b"#")[0].decode("utf-8", "replace").split() or [""]
            reason = why_not_a_number(label)
            message = [f"label: {reason}"] if reason else self._explain_pairs(pairs)
            if message:
                return self.error(*message, line=number)
        reason = "" if error is None else f": {error}"
        first, last = block.numbers[0], block.numbers[-1]
        return self.error(f"lines {first} to {last} are not svmlight data{reason}")

    def _explain_pairs(self, pairs: list[str]) -> list[str | Argument]:
        """Return the message for bad pairs; empty if nothing is wrong."""
        previous = -1
        for pair in pairs:
            index, colon, value = pair.partition(":")
            if index == "qid":
                continue
            if not colon or not re.fullmatch(r"[0-9]{1,10}", index):
                return [f'"{pair[:40]}" is not a pair index:value']
            if int(index) == 0 and self.is_zero_based is False:
                return [
                    "there is an index 0, but features are numbered from 1 here. If they are "
                    "numbered from 0, use ",
                    Argument("zero_based", True),
                    ".",
                ]
            if int(index) > self._largest:
                return [
                    f"feature index {index} is larger than {self._largest}. If it is correct, set "
                    "the number of features: ",
                    Argument("features", int(index)),
                    " or more.",
                ]
            n_needed = int(index) + bool(self.is_zero_based)
            if 0 < self.n_features < n_needed:
                return [
                    f"feature index {index} is larger than the number of features, "
                    f"{self.n_features}. Read the training data with ",
                    Argument("features", n_needed),
                    " or more.",
                ]
            if int(index) <= previous:
                return [f"feature {index} comes after feature {previous}; indices must increase"]
            if reason := why_not_a_number(value):
                return [f"feature {index}: {reason}"]
            previous = int(index)
        return []


def _has_zero(X: scipy.sparse.csr_array) -> bool:
    return X.nnz > 0 and int(X.indices.min()) == 0


class SvmlightFormat(Format):
    """Sparse data with pairs ``index:value``."""

    name = "svmlight"
    endings = (".svm", ".svmlight", ".libsvm", ".scale")
    is_text = True

    def matches_line(self, line: bytes) -> bool:
        """Return whether a line is a number followed by pairs ``index:value``."""
        return _LINE.fullmatch(line) is not None

    def open(self, source: Source, options: ReadOptions) -> Table:
        """Return a file as a table."""
        return SvmlightTable(source, options)

    def write_to(self, stream: Any, data: Data, target: str) -> None:
        """Write samples in rows; features are numbered from 1 unless they were read from 0."""
        y = np.zeros(data.n_samples) if data.y is None else data.y
        if y.dtype.kind not in "biuf":
            raise ArgumentError(
                f"labels in the svmlight format must be numbers; got {y.tolist()[0]!r}. Use "
                "another format."
            )
        X = scipy.sparse.csr_array(data.X)
        labels, values = shorten_numbers(y), shorten_numbers(X.data)
        starts = X.indptr.tolist()
        base = 0 if data.is_zero_based else 1
        # Without any index 0, a reader could not tell that indices start at 0.
        mark = " 0:0" if base == 0 and not np.any(X.indices == 0) else ""
        for label, first, last in zip(labels, starts[:-1], starts[1:], strict=True):
            indices = (X.indices[first:last] + base).tolist()
            pairs = [f" {i}:{value}" for i, value in zip(indices, values[first:last], strict=True)]
            stream.write(f"{label}{mark}{''.join(pairs)}\n".encode())
            mark = ""
