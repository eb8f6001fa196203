"""Columns of text: a feature for each of their values, or a clear no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError

__all__ = ["Categories", "CategoryIndex", "check_categories", "expand_names", "one_hot"]

#: "refuse", "one-hot" (the columns that hold text), names of columns, or columns and their values.
Categories = str | Sequence[str] | Mapping[str, Sequence[str]]


def check_categories(categories: Categories, *, in_blocks: bool) -> None:
    """Raise ArgumentError if the option is not known, or cannot be used block by block."""
    if isinstance(categories, str) and categories not in ("refuse", "one-hot"):
        raise ArgumentError(
            f'categories="{categories}" is not known. Use "refuse", "one-hot", a list of columns, '
            "or a dict of columns and their values."
        )
    if in_blocks and categories != "refuse" and not isinstance(categories, Mapping):
        raise ArgumentError(
            f"categories={categories!r} needs the whole file to know all values. Give a dict of "
            "columns and their values, as `categories` of the training data is."
        )


class CategoryIndex:
    """The values of a column of text by number, in the order they come or as they are given."""

    def __init__(self, values: Sequence[str] | None = None) -> None:
        self.is_open = values is None
        self._numbers = {value: i for i, value in enumerate(values or ())}

    @property
    def values(self) -> tuple[str, ...]:
        """All values so far."""
        return tuple(self._numbers)

    def number(self, text: str) -> int:
        """Return the number of a value; ValueError if it is missing or none of those given."""
        text = text.strip()
        if problem := self.what_is_wrong(text):
            raise ValueError(problem)
        return self._numbers.setdefault(text, len(self._numbers))

    def what_is_wrong(self, text: str) -> str | None:
        """Return why a text is no value of this column, or None if it is one."""
        if not text:
            return "the value is missing"
        if self.is_open or text in self._numbers:
            return None
        shown = ", ".join(self.values[:10]) + " …" * (len(self._numbers) > 10)
        return f'"{text}" is none of the known values {shown}'


def one_hot(
    X: NDArray[np.float64], values_of: Mapping[int, tuple[str, ...]]
) -> tuple[NDArray[np.float64], dict[int, tuple[str, ...]]]:
    """Return X with a column for each value in place of a column of value numbers.

    Parameters
    ----------
    X : array of shape (n_samples, n_columns)
    values_of : for a column with value numbers, the values they stand for

    Returns
    -------
    X : array; the new columns are in the order of the sorted values
    values_of : the same as given, but sorted

    Examples
    --------
    >>> X, values = one_hot(np.array([[5.0, 0], [6, 1], [7, 0]]), {1: ("red", "blue")})
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
    """Return the names of the features that columns become.

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
