"""Labels of data files: numbered while they are read, then converted to a common type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.datasets.located_errors import error_at

__all__ = ["InvalidLabelError", "LabelIndex", "number_labels", "show_label", "typed_labels"]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_NAMED = 10
#: Limit on the length of a label: an array of labels takes room for the longest one in each row.
LONGEST_LABEL = 1000
_LONGEST_SHOWN = 40


class InvalidLabelError(ValueError):
    """A label that is not one of the given classes, or text that cannot be a label."""


def typed_labels(texts: Sequence[str]) -> NDArray[Any]:
    """Return labels as integers if all are integers, as floats if all are numbers, else as text.

    Examples
    --------
    >>> typed_labels(["3", "-1"]), typed_labels(["1", "2.5"]), typed_labels(["07", "8"])
    (array([ 3, -1]), array([1. , 2.5]), array(['07', '8'], dtype='<U2'))
    """
    if all(_INTEGER.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts], dtype=np.int64)
    is_fraction = any("." in text or "e" in text.lower() for text in texts)
    if is_fraction and all(_NUMBER.fullmatch(text) for text in texts):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=np.str_)


class LabelIndex:
    """The labels of a file, numbered in order of appearance or as given.

    Parameters
    ----------
    classes : sequence of labels, optional
        All allowed labels. A label matches a class that is written the same, or else has the same
        value.

    Examples
    --------
    >>> index = LabelIndex()
    >>> [index.number(text) for text in ("corn", "oak", "corn")]
    [0, 1, 0]
    >>> index.labels([1, 0])
    array(['oak', 'corn'], dtype='<U4')
    """

    def __init__(self, classes: ArrayLike | None = None) -> None:
        self._classes = None if classes is None else np.asarray(classes)
        self._numbers: dict[Any, int] = {}

    def number(self, label: Any) -> int:
        """Return the number of a label; InvalidLabelError if it is not one of the classes."""
        number = self._numbers.get(label)
        if number is None:
            if isinstance(label, str):
                _check_text(label)
            number = len(self._numbers) if self._classes is None else self._find(label)
            self._numbers[label] = number
        return number

    def numbers(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Return the numbers of an array of labels."""
        different, places = np.unique(labels, return_inverse=True)
        found = [self.number(label) for label in different.tolist()]
        return np.array(found, dtype=np.intp)[places.ravel()]

    def found(self) -> NDArray[Any]:
        """Return all labels so far, in order of appearance, typed as if no more followed."""
        n_labels = len(self._numbers) if self._classes is None else len(self._classes)
        return self.labels(np.arange(n_labels))

    def labels(self, numbers: ArrayLike, *, are_all: bool = True) -> NDArray[Any]:
        """Return the labels with these numbers; text stays text unless all labels are known."""
        if self._classes is not None:
            known = self._classes
        else:
            values = list(self._numbers)
            is_text = bool(values) and isinstance(values[0], str)
            known = typed_labels(values) if is_text and are_all else _as_array(values)
        return known[np.asarray(numbers, dtype=np.intp)]

    def _find(self, label: Any) -> int:
        written, by_value = self._given
        if str(label) in written:
            return written[str(label)]
        value = _number_of(label)
        same = [] if value is None else by_value.get(value, [])
        if len(same) == 1:
            return same[0]
        shown = ", ".join(islice(written, _MOST_NAMED)) + " …" * (len(written) > _MOST_NAMED)
        raise InvalidLabelError(f"is not one of the classes {shown}")

    @cached_property
    def _given(self) -> tuple[dict[str, int], dict[float, list[int]]]:
        """The numbers of the classes by spelling, and by value."""
        written: dict[str, int] = {}
        by_value: dict[float, list[int]] = {}
        for i, each in enumerate([] if self._classes is None else self._classes.tolist()):
            written.setdefault(str(each), i)
            value = _number_of(each)
            if value is not None:
                by_value.setdefault(value, []).append(i)
        return written, by_value


def _check_text(label: str) -> None:
    if not label.strip():
        raise InvalidLabelError("is blank")
    if len(label) > LONGEST_LABEL:
        raise InvalidLabelError(f"is longer than the limit of {LONGEST_LABEL} characters")
    if "\0" in label:  # arrays of text end there
        raise InvalidLabelError("has a NUL character")
    try:
        label.encode()
    except UnicodeEncodeError:
        raise InvalidLabelError("is not valid Unicode text") from None


def show_label(label: Any) -> str:
    """Return a label in quotes for messages: short, and without unprintable characters."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    text = str(label)
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return f'"{text}"' if text.isprintable() else ascii(text)


def _number_of(label: Any) -> float | None:
    """Return the value of a label that is, or is written as, a number."""
    if isinstance(label, str):
        return float(label) if _NUMBER.fullmatch(label) else None
    return float(label)


def _as_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return labels as an array; numbers as integers if all of them are whole."""
    if values and all(type(value) is int for value in values):
        # For small and large integers together, NumPy would choose float64, which cannot hold both.
        return np.array(values, dtype=np.int64 if max(values) < 2**63 else np.uint64)
    array = np.array(values)
    if array.dtype.kind != "f" or not np.all(np.abs(array) < 2**53):
        return array
    rounded = array.astype(np.int64)
    return rounded if np.array_equal(rounded, array) else array


def number_labels(
    index: LabelIndex, labels: NDArray[Any], row_numbers: NDArray[np.int64], source: str
) -> NDArray[np.intp]:
    """Return the numbers of labels; DataError with the row of a label that is unknown."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        first = int(np.argmin(np.isfinite(labels)))
        what = f"the label is missing ({labels[first]})"
        raise error_at(source, what, row=int(row_numbers[first]))
    try:
        return index.numbers(labels)
    except InvalidLabelError:
        pass
    for label, row in zip(labels.tolist(), row_numbers.tolist(), strict=True):
        try:
            index.number(label)
        except InvalidLabelError as error:
            raise error_at(source, f"label {show_label(label)} {error}", row=row) from None
    raise AssertionError("labels that are known one by one are also known together")
