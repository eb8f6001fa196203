"""The order of the classes, for designs that use one: "adjacent" and "tree".

Classes that are numbers are in order by themselves, and so is text that is written as numbers. All
other text has only an alphabetical order, which is rarely the one that is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from polytomy.errors import Argument, ArgumentError, ClassOrderWarning, warn_caller
from polytomy.scheme import Label
from polytomy.scheme.labels import normalize_label

__all__ = ["has_natural_order", "match_class_order", "order_classes", "sort_naturally"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_NAMED = 5


def order_classes(
    classes: Iterable[Any],
    class_order: Iterable[Any] | None = None,
    designs: Sequence[str] = (),
) -> list[Label]:
    """Return classes in their order, for designs that use one.

    Parameters
    ----------
    classes : labels of the data
    class_order : all labels in their order, optional
        By default numbers, also those written as text, are sorted by value, and all other labels
        are left as they are.
    designs : names of the designs that use the order
        If there are any, and the labels are text without an order, they are named in a warning.

    Examples
    --------
    >>> order_classes(["10", "2", "9"])
    ['2', '9', '10']
    >>> order_classes(["damp", "dry", "wet"], ["dry", "damp", "wet"])
    ['dry', 'damp', 'wet']
    """
    labels = [normalize_label(label) for label in classes]
    if class_order is not None:
        return match_class_order(class_order, labels)
    if designs and not has_natural_order(labels):
        names = " and ".join(f'"{name}"' for name in dict.fromkeys(designs))
        shown = ", ".join(str(label) for label in labels[:_MOST_NAMED])
        more = ", …" if len(labels) > _MOST_NAMED else ""
        warn_caller(
            ClassOrderWarning(
                f"{names} {'needs' if len(set(designs)) == 1 else 'need'} the classes in order, "
                f"and text labels have only their alphabetical order: {shown}{more}. Set ",
                Argument("class_order"),
                " to all labels, from first to last.",
            ),
            ClassOrderWarning,
        )
    return sort_naturally(labels)


def has_natural_order(labels: Sequence[Label]) -> bool:
    """Return whether labels are in order without being told: numbers, or fewer than three.

    Examples
    --------
    >>> has_natural_order(["1", "10"]), has_natural_order(["low", "mid", "high"])
    (True, False)
    """
    return len(labels) < 3 or _are_numbers(labels) or not any(isinstance(x, str) for x in labels)


def sort_naturally(labels: Sequence[Label]) -> list[Label]:
    """Return labels that are numbers written as text in the order of their values; others as is."""
    if _are_numbers(labels):
        return sorted(labels, key=lambda label: (float(label), str(label)))
    return list(labels)


def _are_numbers(labels: Sequence[Label]) -> bool:
    return all(isinstance(label, str) and _NUMBER.fullmatch(label) for label in labels)


def match_class_order(class_order: Iterable[Any], labels: Sequence[Label]) -> list[Label]:
    """Return labels in the given order; ArgumentError unless it has each of them once.

    A label of the order matches the class that equals it, or else the one that is written the
    same, so that a command line can order classes that are numbers.
    """
    argument = Argument("class_order")
    if isinstance(class_order, str | bytes | set | frozenset) or not _is_iterable(class_order):
        raise ArgumentError(
            argument, f" must be a list of all labels, from first to last; got {class_order!r}."
        )
    by_value = {(isinstance(label, str), label): label for label in labels}
    by_text = {str(label): label for label in labels}
    found: list[Label] = []
    unknown: list[str] = []
    for each in class_order:
        label = by_value.get(_kind_and_value(each), by_text.get(str(each)))
        if label is None:
            unknown.append(repr(each.item() if hasattr(each, "item") else each))
        else:
            found.append(label)
    counts = Counter(found)
    missing = [repr(label) for label in labels if label not in counts]
    twice = [repr(label) for label, count in counts.items() if count > 1]
    problems = [
        f"{what} {', '.join(names[:_MOST_NAMED])}"
        + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
        for what, names in (
            ("does not have", missing),
            ("has unknown labels:", unknown),
            ("repeats", twice),
        )
        if names
    ]
    if problems:
        raise ArgumentError(
            argument, f" {'; it '.join(problems)}. List each label of the data exactly once."
        )
    return found


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and getattr(value, "shape", None) != ()


def _kind_and_value(label: Any) -> tuple[bool, Any]:
    value = label.item() if hasattr(label, "item") else label
    try:
        hash(value)
    except TypeError:
        value = repr(value)
    return isinstance(value, str), value
