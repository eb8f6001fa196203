"""libAGF's classifiers in one text file, which mbh2mbm writes.

The first line is the kind of code: 1v1 (one-vs-one), 1vR (one-vs-rest) or ADJ (adjacent). The
number of classes, their labels, and the signs of the rows of the code follow, each on a line. After
that come two matrices for each row, the border samples and their gradients: a line with the numbers
of rows and columns, and the rows.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError, ModelFileError
from polytomy.learners.borders import BorderMachine
from polytomy.persistence.libagf.composing import border_binary, compose_models
from polytomy.persistence.libagf.normalisation import check_units, find_normalisation
from polytomy.persistence.model_files import LARGEST_TEXT_BYTES, open_model_file, size_of
from polytomy.scheme import Scheme
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.layout import DEFAULT_BASE, number_binaries
from polytomy.scheme.short_forms import SHORT_FORMS

__all__ = ["HEAD_BYTES", "is_all_in_one", "load_all_in_one"]

#: How many bytes of a file `is_all_in_one` needs.
HEAD_BYTES = 64
_HEAD = re.compile(rb"(1v1|1vR|ADJ)[ \t\r]*\n[ \t]*[0-9]{1,9}[ \t\r]*\n")
_INTEGER = re.compile(rb"-?[0-9]{1,9}")
_CODES = {
    b"1v1": SHORT_FORMS["one-vs-one"],
    b"1vR": SHORT_FORMS["one-vs-rest"],
    b"ADJ": SHORT_FORMS["adjacent"],
}


def is_all_in_one(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a classifier in one file."""
    return _HEAD.match(head) is not None


def load_all_in_one(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """Load a classifier of border samples that mbh2mbm wrote to one text file.

    Samples are normalised if there is a file NAME.std next to it, as for `load_control`.

    Parameters
    ----------
    path : file
    n_features : int, optional
        Number of features of the samples, which must be that of the border samples.

    Returns
    -------
    fitted PolytomyClassifier, or a pipeline of a scaler and one
    """
    source = os.fspath(path)
    with open_model_file(path) as file:
        if size_of(file) > LARGEST_TEXT_BYTES:
            raise ModelFileError(
                f"{source}: the file is larger than the limit of {LARGEST_TEXT_BYTES:,} bytes"
            )
        content = file.read(LARGEST_TEXT_BYTES)
    scheme, machines = _AllInOneReader(content, source).read()
    own = machines[0].n_features_in_
    if n_features not in (None, own):
        raise ModelFileError(
            f"{source}: the border samples have {own} features instead of {n_features}"
        )
    scaler = find_normalisation(Path(path))
    if scaler is not None:
        if scaler.n_features_in_ != own:
            raise ModelFileError(
                f"{source}: the border samples have {own} features, and their normalisation has "
                f"{scaler.n_features_in_}"
            )
        check_units([machine.borders for machine in machines], Path(path))
    binaries = [
        border_binary(str(partition.binary), machine)
        for partition, machine in zip(scheme.partitions, machines, strict=True)
    ]
    return compose_models(scheme, binaries, "least-squares", own, scaler)


class _AllInOneReader:
    """Reads the lines of a file one after the other."""

    def __init__(self, content: bytes, source: str) -> None:
        self._lines, self._source = content.split(b"\n"), source
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        self._next = 0

    def read(self) -> tuple[Scheme, list[BorderMachine]]:
        """Return the scheme and the border samples of its partitions."""
        form = _CODES[self._line().strip()]
        (n_classes,) = self._integers(1, "the number of classes")
        labels = self._integers(n_classes, "a label for each class")
        if n_classes < 2 or len(set(labels)) < n_classes:
            raise self._fault("there must be two different classes or more")
        n_models = form.count_partitions(n_classes)
        signs = self._integers(n_models, "a sign for each partition")
        if set(signs) - {-1, 1}:
            raise self._fault("signs must be 1 or -1")
        # Each model takes four lines or more, so a small file cannot request a large matrix.
        if 4 * n_models > len(self._lines) - self._next:
            raise self._fault(f"the border samples of {n_models} models do not follow")
        try:
            code = CodingMatrix(np.array(signs)[:, None] * form.expand(n_classes).matrix)
        except ArgumentError as error:
            raise ModelFileError(f"{self._source}: {error}") from error
        scheme = Scheme.from_code(code, labels, number_binaries(DEFAULT_BASE, n_models))
        machines = [self._machine() for _ in range(n_models)]
        if self._next < len(self._lines):
            raise self._fault("there is text after the last model")
        if len({machine.n_features_in_ for machine in machines}) > 1:
            raise ModelFileError(f"{self._source}: models have different numbers of features")
        return scheme, machines

    def _machine(self) -> BorderMachine:
        borders, gradients = self._matrix(), self._matrix()
        try:
            return BorderMachine(borders, gradients)
        except ArgumentError as error:
            raise self._fault(str(error)) from error

    def _matrix(self) -> NDArray[np.float64]:
        n_rows, n_columns = self._integers(2, "the numbers of rows and columns of a matrix")
        lines = self._lines[self._next : self._next + max(n_rows, 0)]
        words = [line.split() for line in lines]
        if min(n_rows, n_columns) < 1 or len(lines) < n_rows:
            raise self._fault(f"a matrix of {n_rows} rows and {n_columns} columns does not follow")
        try:
            if any(len(row) != n_columns for row in words):
                raise ValueError
            rows = np.array(words).astype(np.float64)
            if not np.isfinite(rows).all():
                raise ValueError
        except ValueError:
            raise self._fault(
                f"the next {n_rows} lines are not {n_columns} finite numbers each"
            ) from None
        self._next += n_rows
        return rows

    def _integers(self, count: int, what: str) -> list[int]:
        words = self._line().split()
        if len(words) != count or not all(map(_INTEGER.fullmatch, words)):
            raise self._fault(f"the line is not {what}")
        return [int(word) for word in words]

    def _line(self) -> bytes:
        if self._next >= len(self._lines):
            raise self._fault("the file is incomplete")
        self._next += 1
        return self._lines[self._next - 1]

    def _fault(self, problem: str) -> ModelFileError:
        return ModelFileError(f"{self._source}, line {self._next}: {problem}")
