"""What the designs take as classes."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from polytomy.errors import ArgumentError
from polytomy.scheme import Label
from polytomy.scheme.labels import normal_labels

__all__ = ["class_labels"]


def class_labels(classes: Iterable[Any] | int) -> tuple[Label, ...]:
    """Return the labels of a list, or 0, 1, … for a number of classes.

    >>> class_labels(3), class_labels(["corn", "wheat"])
    ((0, 1, 2), ('corn', 'wheat'))
    """
    if isinstance(classes, Integral) and not isinstance(classes, bool):
        classes = range(int(classes))
    if not isinstance(classes, Iterable):
        kind = type(classes).__name__
        raise ArgumentError(
            f"classes is of type {kind}; give a list of labels or a number of classes"
        )
    labels = normal_labels(classes)
    if not labels:
        raise ArgumentError("there are no classes; give one label or more")
    return labels
