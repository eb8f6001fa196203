"""Text columns and their one-hot encoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError

__all__ = ["Categories", "CategoryIndex", "check_categories", "encode_one_hot", "expand_names"]

#: "refuse", "one-hot" (every text column), column names, or column names with their values.
Categories = str | Sequence[str] | Mapping[str, Sequence[str]]


def check_categories(categories: Categories, *, in_blocks: bool) -> None:
    """Raise ArgumentError if `categories` is invalid, or cannot be used block by block."""
    if isinstance(categories, str) and categories not in ("refuse", "one-hot"):
        raise ArgumentError(
            Argument("categories"),
            ' must be "refuse", "one-hot", a list of columns or a dict of columns and their '
            f'values; got "{categories}".',
        )
    if in_blocks and categories != "refuse" and not isinstance(categories, Mapping):
        raise ArgumentError(
            Argument("categories", categories),
            " needs the whole file to find all values. Use a dict of columns and their values, "
            "such as the `categories` of the training data.",
        )


class CategoryIndex:
    """The values of a text column, numbered in order of appearance or as given.

    Parameters
    ----------
    values : all allowed values, in order; None to collect them
    """

    def __init__(self, values: Sequence[str] | None = None) -> None:
        self.is_open = values is None
        self._numbers = {value: i for i, value in enumerate(values or ())}

    @property
    def values(self) -> tuple[str, ...]:
        """All values collected or given."""
        return tuple(self._numbers)

    def number(self, text: str) -> int:
        """Return the number of a value; ValueError if it is missing or not allowed."""
        text = text.strip()
        if problem := self.why_invalid(text):
            raise ValueError(problem)
        return self._numbers.setdefault(text, len(self._numbers))

    def why_invalid(self, text: str) -> str | None:
        """Return why a text is not a value of this column; None if it is one."""
        if not text:
            return "the value is missing"
        if self.is_open or text in self._numbers:
            return None
        shown = ", ".join(self.values[:10]) + " …" * (len(self._numbers) > 10)
        return f'"{text}" is not one of the known values {shown}'


def encode_one_hot(
    X: NDArray[np.float64], values_of: Mapping[int, tuple[str, ...]]
) -> tuple[NDArray[np.float64], dict[int, tuple[str, ...]]]:
    """Replace each column of value numbers by one column for each value.

    Parameters
    ----------
    X : array of shape (n_samples, n_columns)
    values_of : for each column of value numbers, the values that they stand for

    Returns
    -------
    X : array; new columns are in the sorted order of the values
    values_of : the given values, sorted

    Examples
    --------
    >>> X, values = encode_one_hot(np.array([[5.0, 0], [6, 1], [7, 0]]), {1: ("red", "blue")})
    >>> X
    array([[5., 0., 1.],
           [6., 1., 0.],
           [7., 0., 1.]])
    """
    parts: list[Any] = []
    ordered: dict[int, tuple[str, ...]] = {}
    for column in range(X.shape[1]):
        if column not in values_of:
            parts.append(X[:, column : column + 1])
            continue
        values = values_of[column]
        order = sorted(range(len(values)), key=values.__getitem__)
        ordered[column] = tuple([values[i] for i in order])
        parts.append(X[:, column : column + 1] == np.array(order, dtype=np.float64))
    return np.hstack(parts).astype(np.float64), ordered


def expand_names(names: Sequence[str], values_of: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the features after one-hot encoding.

    Examples
    --------
    >>> expand_names(["size", "colour"], {1: ["blue", "red"]})
    ('size', 'colour=blue', 'colour=red')
    """
    expanded: list[str] = []
    for column, name in enumerate(names):
        values = values_of.get(column)
        expanded += [name] if values is None else [f"{name}={value}" for value in values]
    return tuple(expanded)
