"""What the designs take as classes."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from polytomy.errors import ArgumentError
from polytomy.scheme import Label
from polytomy.scheme.labels import normal_labels

__all__ = ["class_labels"]

# A tree of so many classes takes 2 GB while it is made and printed.
_MOST_CLASSES = 2**20


def class_labels(classes: Iterable[Any] | int) -> tuple[Label, ...]:
    """Return the labels of a list, or 0, 1, … for a number of classes.

    >>> class_labels(3), class_labels(["corn", "wheat"])
    ((0, 1, 2), ('corn', 'wheat'))
    """
    if isinstance(classes, Integral) and not isinstance(classes, bool):
        count = int(classes)
        if count > _MOST_CLASSES:
            raise ArgumentError(f"classes={count} is too many; the limit is {_MOST_CLASSES:,}")
        classes = range(count)
    if isinstance(classes, (set, frozenset)):
        raise ArgumentError("classes is a set, which has no order; give sorted(classes)")
    is_point = getattr(classes, "shape", None) == ()  # NumPy calls it iterable, and it is not
    if is_point or not isinstance(classes, Iterable):
        kind = type(classes).__name__
        raise ArgumentError(
            f"classes is of type {kind}; give a list of labels or a number of classes"
        )
    labels = normal_labels(classes)
    if not labels:
        raise ArgumentError("there are no classes; give one label or more")
    return labels
