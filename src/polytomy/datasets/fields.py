"""Fields of data files: numbers, labels and categories, and errors that say where one is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, DataError

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}
_MOST_NAMED = 10
_LONGEST_SHOWN = 40
#: Limit on the length of a label: an array of labels takes room for the longest one in each row.
LONGEST_LABEL = 1000


def error_at(
    source: str,
    *message: str | Argument,
    line: int | None = None,
    row: int | None = None,
    column: int | None = None,
    names: Sequence[str] | None = None,
) -> DataError:
    """Return an error whose message starts with a position in a file.

    Parameters
    ----------
    source : name of the file
    *message : what is wrong and how to fix it; see `polytomy.errors.Message`
    line : line of a text file, counted from one
    row : row of any other file, counted from one
    column : position of the column, counted from zero
    names : names of all columns

    Examples
    --------
    >>> print(error_at("a.csv", "no value", line=17, column=1, names=["height", "width"]))
    a.csv, line 17, column 2 ("width"): no value
    """
    place = source
    if line is not None:
        place += f", line {line}"
    if row is not None:
        place += f", row {row}"
    if column is not None:
        place += f", column {column + 1}"
        if names is not None and column < len(names):
            place += f' ("{names[column]}")'
    return DataError(f"{place}: ", *message)


# -- numbers --------------------------------------------------------------------------------------


def parse_number(field: str) -> float:
    """Return the number that a field holds; ValueError with the reason if it is not finite."""
    if reason := why_not_a_number(field):
        raise ValueError(reason)
    return float(field)


def why_not_a_number(field: str) -> str | None:
    """Return why a field is not a finite number; None if it is one.

    Examples
    --------
    >>> why_not_a_number("1.5e3"), why_not_a_number("NA"), why_not_a_number("red")
    (None, 'the value is missing (NA)', '"red" is not a number')
    """
    field = field.strip()
    if field.lower() in _MISSING:
        return f"the value is missing ({field})" if field else "the value is missing"
    shown = field if len(field) <= _LONGEST_SHOWN else field[:_LONGEST_SHOWN] + "…"
    if _is_infinite(field):
        return f"{shown} is not a finite number"
    if is_text(field):
        return f'"{shown}" is not a number'
    if abs(float(field)) == float("inf"):
        return f"{shown} is too large for a 64-bit number"
    return None


def is_text(field: str) -> bool:
    """Return whether a field is neither a number nor missing.

    Examples
    --------
    >>> is_text("red"), is_text("-1e5"), is_text("NA")
    (True, False, False)
    """
    field = field.strip()
    is_number = _NUMBER.fullmatch(field) or _is_infinite(field)
    return not is_number and field.lower() not in _MISSING


def _is_infinite(field: str) -> bool:
    return field.lower().lstrip("+-") in ("inf", "infinity")


# -- categories -----------------------------------------------------------------------------------


class CategoryIndex:
    """The values of a text column, numbered in order of appearance or as given.

    Parameters
    ----------
    values : all allowed values, in order; None to collect them
    """

    def __init__(self, values: Sequence[str] | None = None) -> None:
        self._is_open = values is None
        self._numbers = {value: i for i, value in enumerate(values or ())}

    @property
    def values(self) -> tuple[str, ...]:
        """All values collected or given."""
        return tuple(self._numbers)

    def number(self, text: str) -> int:
        """Return the number of a value; ValueError if it is missing or not allowed."""
        text = text.strip()
        if not text:
            raise ValueError("the value is missing")
        if not self._is_open and text not in self._numbers:
            shown = ", ".join(self.values[:10]) + " …" * (len(self._numbers) > 10)
            raise ValueError(f'"{text}" is not one of the known values {shown}')
        return self._numbers.setdefault(text, len(self._numbers))


# -- labels ---------------------------------------------------------------------------------------


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
        """Return the number of a label; ValueError if it is not one of the classes."""
        number = self._numbers.get(label)
        if number is None:
            if isinstance(label, str):
                _check_text(label)
            number = len(self._numbers) if self._classes is None else self._find(label)
            self._numbers[label] = number
        return number

    def found(self, *, are_all: bool = True) -> NDArray[Any]:
        """Return all labels so far, in order of appearance."""
        n_labels = len(self._numbers) if self._classes is None else len(self._classes)
        return self.labels(np.arange(n_labels), are_all=are_all)

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
        raise ValueError(f"label {show_label(label)} is not one of the classes {shown}")

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
    what = f"label {show_label(label)}"
    if not label.strip():
        raise ValueError(f"{what} is blank")
    if len(label) > LONGEST_LABEL:
        raise ValueError(f"{what} is longer than the limit of {LONGEST_LABEL} characters")
    if "\0" in label:  # arrays of text end there
        raise ValueError(f"{what} has a NUL character")
    try:
        label.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is not valid Unicode text") from None


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
    different, first_places, places = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.empty(len(different), dtype=np.intp)
    values = different.tolist()
    for k in np.argsort(first_places):
        try:
            numbers[k] = index.number(values[k])
        except ValueError as error:
            row = int(row_numbers[first_places[k]])
            raise error_at(source, str(error), row=row) from None
    return numbers[places.ravel()]
