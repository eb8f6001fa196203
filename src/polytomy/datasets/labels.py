"""Labels of files: collected as they come, then given the type that fits all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LabelIndex", "UnknownLabelError", "typed_labels"]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_NAMED = 10


class UnknownLabelError(ValueError):
    """A label that is none of the classes that were given."""


def typed_labels(texts: Sequence[str]) -> NDArray[Any]:
    """Return labels as whole numbers if all are written as such, as numbers, or else as text.

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
    """The labels of a file by number, in the order they come, or as the classes are given.

    Parameters
    ----------
    classes : sequence of labels, optional
        All that may come. They are found by how they are written, or else by value.

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
        """Return the number of a label; UnknownLabelError if it is none of the classes."""
        number = self._numbers.get(label)
        if number is None:
            number = len(self._numbers) if self._classes is None else self._find(label)
            self._numbers[label] = number
        return number

    def numbers(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Return the numbers of many labels."""
        different, places = np.unique(labels, return_inverse=True)
        found = [self.number(label) for label in different.tolist()]
        return np.array(found, dtype=np.intp)[places.ravel()]

    def labels(self, numbers: ArrayLike, *, are_all: bool = True) -> NDArray[Any]:
        """Return the labels of numbers; text stays text unless these are all the labels."""
        if self._classes is not None:
            known = self._classes
        else:
            values = list(self._numbers)
            is_text = bool(values) and isinstance(values[0], str)
            known = typed_labels(values) if is_text and are_all else _whole(np.array(values))
        return known[np.asarray(numbers, dtype=np.intp)]

    def _find(self, label: Any) -> int:
        classes = [] if self._classes is None else self._classes.tolist()
        written = [str(value) for value in classes]
        if str(label) in written:
            return written.index(str(label))
        value = _value(label)
        same = [i for i, each in enumerate(classes) if value is not None and _value(each) == value]
        if len(same) == 1:
            return same[0]
        shown = ", ".join(written[:_MOST_NAMED]) + " …" * (len(written) > _MOST_NAMED)
        raise UnknownLabelError(f"is none of the classes {shown}")


def _value(label: Any) -> float | None:
    """Return the number that a label is or stands for."""
    if isinstance(label, str):
        return float(label) if _NUMBER.fullmatch(label) else None
    return float(label)


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as integers where all of them are."""
    if values.dtype.kind != "f" or not np.all(np.abs(values) < 2**53):
        return values
    rounded = values.astype(np.int64)
    return rounded if np.array_equal(rounded, values) else values
