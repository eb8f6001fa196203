"""The argument `classes` of the designs."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from polytomy.errors import Argument, ArgumentError
from polytomy.scheme import Label
from polytomy.scheme.labels import normalize_labels

__all__ = ["class_labels"]

# Making and printing a tree of this many classes takes 2 GB.
_MOST_CLASSES = 2**20


def class_labels(classes: Iterable[Any] | int) -> tuple[Label, ...]:
    """Return the class labels: those given, or 0, 1, … for a number of classes.

    Examples
    --------
    >>> class_labels(3), class_labels(["corn", "wheat"])
    ((0, 1, 2), ('corn', 'wheat'))
    """
    if isinstance(classes, Integral) and not isinstance(classes, bool):
        count = int(classes)
        if count > _MOST_CLASSES:
            raise ArgumentError(
                Argument("classes", count), f" is too many. The limit is {_MOST_CLASSES:,}."
            )
        classes = range(count)
    if isinstance(classes, (set, frozenset)):
        raise ArgumentError(
            Argument("classes"), " is a set, which has no order. Use sorted(classes)."
        )
    is_scalar = getattr(classes, "shape", None) == ()  # NumPy wrongly calls it iterable
    if is_scalar or not isinstance(classes, Iterable):
        raise ArgumentError(
            Argument("classes"),
            f" must be a list of labels or a number of classes; got {type(classes).__name__}.",
        )
    labels = normalize_labels(classes)
    if not labels:
        raise ArgumentError(Argument("classes"), " is empty. Give at least one class.")
    return labels
