"""Matching the labels of a scheme with the classes of the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ControlWarning, SchemeError, warn_caller
from polytomy.scheme import Label, Scheme
from polytomy.scheme.labels import normalize_labels

__all__ = ["bind_classes"]

_MOST_NAMED = 10


def bind_classes(scheme: Scheme, classes: Iterable[Any]) -> NDArray[np.intp]:
    """Return the position in the scheme of each class of the data.

    A label of the scheme matches the class that equals it, or else the one that is written the
    same: ``3`` in a control text matches ``"3"`` in the data. A class of the data that the scheme
    does not name is an error. A class of the scheme without data causes a warning, and gets no
    probability.

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> bind_classes(parse("m {2 n {1 3}}"), ["1", "2", "3"])
    array([1, 0, 2])
    """
    positions = {_kind_and_value(label): i for i, label in enumerate(scheme.classes)}
    by_text: dict[str, list[int]] = {}
    for i, label in enumerate(scheme.classes):
        by_text.setdefault(str(label), []).append(i)
    labels = normalize_labels(classes)
    bound, missing = [], []
    for label in labels:
        same_text = by_text.get(str(label), [])
        position = positions.get(_kind_and_value(label))
        if position is None and len(same_text) == 1:
            position = same_text[0]
        if position is None:
            missing.append(label)
        else:
            bound.append(position)
    if missing:
        raise SchemeError(
            f"the scheme does not name {_list_classes(missing)}; it names "
            f"{_list_classes(scheme.classes)}. Add the missing classes, or use the labels of the "
            "data in the scheme."
        )
    if len(set(bound)) < len(bound):
        raise SchemeError(
            f"two classes of the data match the same class of the scheme; the data has "
            f"{_list_classes(labels)}"
        )
    if len(bound) < len(scheme.classes):
        absent = [scheme.classes[i] for i in sorted(set(range(len(scheme.classes))) - set(bound))]
        warn_caller(
            f"{_list_classes(absent)} of the scheme "
            + ("has no samples and gets" if len(absent) == 1 else "have no samples and get")
            + " no probability",
            ControlWarning,
        )
    return np.array(bound, dtype=np.intp)


def _kind_and_value(label: Label) -> tuple[bool, Label]:
    # Python treats 1, 1.0 and True as equal, and the data may too; "1" is different.
    return isinstance(label, str), label


def _list_classes(labels: Sequence[Label]) -> str:
    shown = [repr(label) for label in labels[:_MOST_NAMED]]
    more = len(labels) - len(shown)
    word = "class" if len(labels) == 1 else "classes"
    return f"{word} {', '.join(shown)}" + (f" and {more} more" if more else "")
