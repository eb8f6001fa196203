"""Columns of tables and their fields: numbers, labels and categories, and where one is wrong.

Also whether the first line of a file names the columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, DataError, PythonOnly
from polytomy.inputs.arguments import count_things, did_you_mean

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_CLASSES = 10
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


#: How missing values are written in text files, in any letter case.
MISSING_VALUES = ("", "?", "na", "n/a", "nan", "null", "none")
#: What an error about a missing value advises.
ABOUT_MISSING: tuple[str | Argument, ...] = (
    ". Fill it in, or use ",
    Argument("missing", "nan"),
    " with an estimator that accepts missing values, such as hist-gradient-boosting.",
)


def parse_number(field: str, *, allows_missing: bool = False) -> float:
    """Return the number that a field holds; ValueError with the reason if it is not finite.

    A missing value is NaN if it is allowed.
    """
    if allows_missing and is_missing(field):
        return float("nan")
    if reason := why_not_a_number(field):
        raise ValueError(reason)
    return float(field)


def is_missing(field: str) -> bool:
    """Return whether a field stands for a missing value.

    Examples
    --------
    >>> is_missing("NA"), is_missing(""), is_missing("0")
    (True, True, False)
    """
    return field.strip().lower() in MISSING_VALUES


def why_not_a_number(field: str) -> str | None:
    """Return why a field is not a finite number; None if it is one.

    Examples
    --------
    >>> why_not_a_number("1.5e3"), why_not_a_number("NA"), why_not_a_number("red")
    (None, 'the value is missing (NA)', '"red" is not a number')
    """
    field = field.strip()
    if is_missing(field):
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
    return not is_number and not is_missing(field)


def _is_infinite(field: str) -> bool:
    return field.lower().lstrip("+-") in ("inf", "infinity")


# -- categories -----------------------------------------------------------------------------------


#: What is wrong with an empty field of a text column.
NO_WORD = 'the value is missing; write a word for it, such as "unknown"'


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
            raise ValueError(NO_WORD)
        if not self._is_open and text not in self._numbers:
            shown = ", ".join(self.values[:10]) + " …" * (len(self._numbers) > 10)
            raise ValueError(
                f'"{text}" is not one of the known values {shown}. Correct it, leave out its row, '
                "or train on data that has it."
            )
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

    def found(self) -> NDArray[Any]:
        """Return all labels so far, in order of appearance."""
        return self.labels(np.arange(len(self._numbers)))

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
        known = self._given
        for key in (str(label), _number_of(label)):
            if key in known:
                return known[key]
        names = [key for key in known if isinstance(key, str)]
        shown = ", ".join(names[:_MOST_CLASSES]) + " …" * (len(names) > _MOST_CLASSES)
        raise ValueError(f"label {show_label(label)} is not one of the classes {shown}")

    @cached_property
    def _given(self) -> dict[Any, int]:
        """The numbers of the classes by spelling and, if that is unique, by value."""
        classes = [] if self._classes is None else self._classes.tolist()
        numbers: dict[Any, int] = {str(each): i for i, each in enumerate(classes)}
        values = [_number_of(each) for each in classes]
        counts = Counter(values)
        by_value = {value: i for i, value in enumerate(values) if counts[value] == 1}
        by_value.pop(None, None)
        return numbers | by_value


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


# -- The columns of a table: their names, which are features, and which one is the label --


Target = str | int | None
Features = Sequence[str] | int | None
_MOST_NAMED = 20
_MOST_COMPARED = 1000
_LONGEST_NAME = 100
_MOST_DIGITS = 20


class Columns(NamedTuple):
    """The columns of a table to read.

    Attributes
    ----------
    n_columns : number of columns of the table
    names : names of all columns; None if they have no names
    features : positions of the features, in the requested order
    target : position of the label; None to read no labels
    """

    n_columns: int
    names: tuple[str, ...] | None
    features: tuple[int, ...]
    target: int | None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; None if the columns have no names."""
        return None if self.names is None else tuple([self.names[i] for i in self.features])

    @property
    def label_name(self) -> str | None:
        """Name of the label column; None if it has no name or is not read."""
        return None if self.names is None or self.target is None else self.names[self.target]

    def name_of(self, position: int) -> str:
        """Return the name of a column; x1, x2, … if the columns have no names."""
        return f"x{position + 1}" if self.names is None else self.names[position]


def choose_columns(
    source: str,
    n_columns: int,
    names: Sequence[str] | None,
    target: Target,
    features: Features,
) -> Columns:
    """Return the columns of a table to read; DataError if some of them do not exist.

    Parameters
    ----------
    source : name of the file, for messages
    n_columns : number of columns of the table
    names : names of the columns; None if they have no names
    target : name of the label column, its position (negative from the end), or None
        A number outside the range of positions may be a name.
    features : names of the features, or their number
        If the table has no names, only the number of features is checked.

    Examples
    --------
    >>> choose_columns("a.csv", 3, ["id", "label", "width"], "label", ["width"]).features
    (2,)
    """
    if names is not None:
        _check_names(source, names)
    label = _find_target(source, n_columns, names, target)
    all_features = [i for i in range(n_columns) if i != label]
    if features is None or isinstance(features, int) or names is None:
        n_expected = features if isinstance(features, int) else len(features or all_features)
        if n_expected != len(all_features):
            raise _wrong_number(source, n_columns, label, n_expected)
        chosen = tuple(all_features)
    else:
        places = {name: i for i, name in enumerate(names)}
        missing = [name for name in features if name not in places]
        if missing:
            raise DataError(f"{source}: {_no_column(missing[0], names)}{_and_more(missing)}")
        chosen = tuple([places[name] for name in features])
    if not chosen:
        raise DataError(f"{source}: there are no features besides the label")
    return Columns(n_columns, None if names is None else tuple(names), chosen, label)


def _check_names(source: str, names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f'{source}: the header has the name "{_short(min(twice))}" twice. Rename one of the '
            "columns, or use ",
            Argument("header", False),
            " if the first line is not a header.",
        )


def _find_target(
    source: str, n_columns: int, names: Sequence[str] | None, target: Target
) -> int | None:
    if target is None:
        return None
    if isinstance(target, str):
        if names is None:
            raise DataError(
                f'{source}: without a header, no column is named "{target}". Use ',
                Argument("header", True),
                " if the first line names the columns, or set ",
                Argument("target"),
                " to a position: 0 is the first column, -1 the last.",
            )
        if target not in names:
            raise DataError(f"{source}: {_no_column(target, names)}")
        return list(names).index(target)
    if not -n_columns <= target < n_columns:
        if names is not None and str(target) in names:
            return list(names).index(str(target))
        raise DataError(
            f"{source}: there is no column {target} for the label; the positions of the columns "
            f"are 0 to {n_columns - 1}"
        )
    return target % n_columns


def _no_column(name: str, names: Sequence[str]) -> str:
    hint = did_you_mean(_short(name), map(_short, names[:_MOST_COMPARED]))
    shown = ", ".join(map(_short, names[:_MOST_NAMED])) + " …" * (len(names) > _MOST_NAMED)
    return f'there is no column "{_short(name)}"; the columns are {shown}.{hint}'


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _and_more(missing: Sequence[str]) -> str:
    n_more = len(missing) - 1
    if not n_more:
        return ""
    return f" {n_more} more {'column is' if n_more == 1 else 'columns are'} missing."


def _wrong_number(source: str, n_columns: int, label: int | None, n_expected: int) -> DataError:
    what = f"{source}: expected {count_things(n_expected, 'feature')}; found "
    if label is not None:
        is_unlabelled = n_columns == n_expected
        return DataError(
            f"{what}{count_things(n_columns - 1, 'column')} besides the label.",
            PythonOnly(" If no column is the label, use target=None." if is_unlabelled else ""),
        )
    if n_columns == n_expected + 1:
        return DataError(
            f"{what}{count_things(n_columns, 'column')}. If one of them is the label, say which: ",
            Argument("target", -1),
            " is the last column.",
        )
    return DataError(f"{what}{count_things(n_columns, 'column')}.")


def is_header(
    fields: Sequence[str], target: Target, features: Features, source: str, line: int
) -> bool:
    """Return whether a first line names the columns; DataError if it may also be a sample.

    It does if none of its fields is a number, if it counts 0, 1, 2, … (as data frames write
    unnamed columns), or if it has all columns that are requested by name. Other evenly spaced
    numbers, such as 400, 410, 420, may be names or a sample; they are treated as a sample only if
    the number of features is known.

    Parameters
    ----------
    fields : fields of the first line
    target, features : see `choose_columns`
    source, line : position of the line, for messages

    Examples
    --------
    >>> lines = ["height,kind", "0,1,2", "2001,2007,2009", "5.1,3.5,setosa"]
    >>> for line in lines:
    ...     names_columns = is_header(line.split(","), -1, None, "a.csv", 1)
    ...     print(f"{line:15}", "header" if names_columns else "sample")
    height,kind     header
    0,1,2           header
    2001,2007,2009  sample
    5.1,3.5,setosa  sample
    """
    if all(why_not_a_number(field) is not None for field in fields):
        return True
    counted = [str(i) for i in range(len(fields))]
    if len(fields) > 2 and list(fields[:-1]) == counted[:-1]:
        return True
    wanted = [] if features is None or isinstance(features, int) else list(features)
    is_position = isinstance(target, int) and -len(fields) <= target < len(fields)
    if target is not None and not is_position:
        wanted.append(str(target))
    if wanted:
        return set(wanted) <= set(fields)
    numbers = [int(field) for field in fields if field.isdecimal() and len(field) < _MOST_DIGITS]
    steps = {following - number for number, following in pairwise(numbers)}
    is_even = len(steps) == 1 and 0 not in steps and len(numbers) > 2
    if features is None and is_even and len(numbers) >= len(fields) - 1:
        what = f"{', '.join(fields[:3])} … may be column names or a sample. Use "
        ways = Argument("header", True), " or ", Argument("header", False), "."
        raise error_at(source, what, *ways, line=line)
    return False
