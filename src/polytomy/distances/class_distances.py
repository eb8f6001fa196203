"""Distances between classes: a labelled, symmetric matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.numbers import as_floats

# Relative to the largest entry: differences that rounding can cause.
_ASYMMETRY = 1e-9
_SHOWN_CLASSES = 12


@dataclass(frozen=True, slots=True, eq=False)
class ClassDistances:
    """Distances between classes: a labelled, symmetric matrix with a zero diagonal.

    It is validated on creation and immutable. NumPy functions accept it as an array.

    Parameters
    ----------
    classes : labels of the rows and columns
    matrix : array of shape (n_classes, n_classes), not negative
    name : name of the distance

    Examples
    --------
    >>> distances = ClassDistances(("corn", "oak"), [[0, 3], [3, 0]], "hausdorff")
    >>> distances["corn", "oak"]
    3.0
    >>> print(distances)
    hausdorff  corn  oak
         corn     0    3
          oak     3    0
    """

    classes: tuple[Any, ...]
    matrix: NDArray[np.float64]
    name: str

    def __init__(self, classes: Iterable[Any], matrix: ArrayLike, name: str = "distance") -> None:
        labels = tuple(classes)
        if len(set(labels)) < len(labels):
            raise ArgumentError(Argument("classes"), " has a label twice. List each class once.")
        values = as_floats("the distance matrix", matrix)
        if values.shape != (len(labels), len(labels)):
            raise ArgumentError(
                f"the distance matrix has shape {values.shape}; {len(labels)} classes need "
                f"{(len(labels), len(labels))}"
            )
        problem = _problem(values)
        if problem is not None:
            reason, row, column = problem
            raise ArgumentError(
                f"the distance between {labels[row]!r} and {labels[column]!r} is "
                f"{values[row, column]}; {reason}"
            )
        values = (values + values.T) / 2
        values.flags.writeable = False
        object.__setattr__(self, "classes", labels)
        object.__setattr__(self, "matrix", values)
        object.__setattr__(self, "name", name)

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        try:
            first, second = pair
            return float(self.matrix[self.classes.index(first), self.classes.index(second)])
        except (TypeError, ValueError):
            raise KeyError(
                f"{pair!r} is not a pair of classes; the classes are "
                f"{', '.join(map(repr, self.classes))}"
            ) from None

    def __len__(self) -> int:
        return len(self.classes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def reordered(self, classes: Iterable[Any]) -> ClassDistances:
        """Return the distances between some or all of the classes, in the given order."""
        chosen = tuple(classes)
        position = {label: index for index, label in enumerate(self.classes)}
        missing = [label for label in chosen if label not in position]
        if missing:
            raise ArgumentError(f"class {missing[0]!r} is not in these distances")
        indices = [position[label] for label in chosen]
        return ClassDistances(chosen, self.matrix[np.ix_(indices, indices)], self.name)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the labels as index and columns."""
        import pandas as pd  # an optional package

        return pd.DataFrame(self.matrix, index=list(self.classes), columns=list(self.classes))

    def __str__(self) -> str:
        shown = self.classes[:_SHOWN_CLASSES]
        rows = [[self.name, *map(str, shown)]]
        rows += [
            [str(label), *(f"{value:.4g}" for value in line[: len(shown)])]
            for label, line in zip(shown, self.matrix, strict=False)
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        left_out = len(self.classes) - len(shown)
        return "\n".join(
            lines
            + [f"… and {count_things(left_out, 'more class', 'more classes')}"] * (left_out > 0)
        )

    def __repr__(self) -> str:
        return f"<ClassDistances: {self.name}, {len(self.classes)} classes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassDistances, (self.classes, self.matrix, self.name)


def _problem(values: NDArray[np.float64]) -> tuple[str, int, int] | None:
    """Return what is wrong with a distance matrix and where, or None if it is valid."""
    with np.errstate(invalid="ignore"):
        scale = np.abs(values).max(initial=0.0)
        checks = {
            "it must be a finite number": ~np.isfinite(values),
            "it must not be negative": values < 0,
            "it must be 0 on the diagonal": (values != 0) & np.eye(len(values), dtype=bool),
            "it must be the same in both orders": np.abs(values - values.T) > _ASYMMETRY * scale,
        }
    for reason, is_wrong in checks.items():
        if is_wrong.any():
            row, column = np.argwhere(is_wrong)[0]
            return reason, int(row), int(column)
    return None
