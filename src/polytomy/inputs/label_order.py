"""The order of class labels, for designs and metrics that use one.

Numbers, and numbers written as text, have a natural order, and ordered categories bring theirs. All
other text has only an alphabetical order, which is rarely the intended one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from polytomy.errors import Argument, ArgumentError, ClassOrderWarning, warn_caller
from polytomy.inputs.arguments import list_names

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_SHOWN = 5


def order_labels(labels: Sequence[Any], used_by: Sequence[str] = ()) -> list[Any]:
    """Return labels in their natural order: numbers written as text by value, others as they are.

    Parameters
    ----------
    labels : sorted labels
    used_by : what uses the order
        If not empty, and the labels are text without an order, a warning names it.

    Examples
    --------
    >>> order_labels(["10", "2", "9"])
    ['2', '9', '10']
    """
    if used_by and not has_natural_order(labels):
        names = " and ".join(f'"{name}"' for name in dict.fromkeys(used_by))
        shown = ", ".join(str(label) for label in labels[:_MOST_SHOWN])
        more = ", …" if len(labels) > _MOST_SHOWN else ""
        warn_caller(
            ClassOrderWarning(
                f"{names} {'needs' if len(set(used_by)) == 1 else 'need'} the classes in order, "
                f"and text labels have only their alphabetical order: {shown}{more}. Set ",
                Argument("class_order"),
                " to all labels, from first to last.",
            ),
            ClassOrderWarning,
        )
    return sort_naturally(labels)


def read_categories(y: Any) -> list[Any] | None:
    """Return the categories of an ordered column of pandas or polars in order, or None.

    Examples
    --------
    >>> import pandas as pd
    >>> read_categories(pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True))
    ['low', 'mid', 'high']
    >>> read_categories(["low", "high"])
    """
    dtype = getattr(y, "dtype", None)
    # The categories of an Enum of polars are always in order; it does not say so.
    if not getattr(dtype, "ordered", type(dtype).__name__ == "Enum"):
        return None
    categories = getattr(dtype, "categories", None)
    return None if categories is None else list(categories)


def find_class_order(
    classes: Sequence[Any], class_order: Iterable[Any] | None, categories: Sequence[Any] | None
) -> list[Any] | None:
    """Return the classes in order: as given, else as the categories of y are; None if unknown.

    Examples
    --------
    >>> find_class_order(["high", "low"], None, ["low", "mid", "high"])
    ['low', 'high']
    """
    if class_order is None and categories is not None:
        known = set(classes)
        in_order = [label for label in categories if label in known]
        class_order = in_order if len(in_order) == len(classes) else None
    return None if class_order is None else match_class_order(class_order, classes)


def has_natural_order(labels: Sequence[Any]) -> bool:
    """Return whether labels have an order of their own: numbers, or fewer than three labels.

    Examples
    --------
    >>> has_natural_order(["1", "10"]), has_natural_order(["low", "mid", "high"])
    (True, False)
    """
    return len(labels) < 3 or _are_numbers(labels) or not any(isinstance(x, str) for x in labels)


def sort_naturally(labels: Sequence[Any]) -> list[Any]:
    """Return numbers written as text in the order of their values, other labels unchanged."""
    if _are_numbers(labels):
        return sorted(labels, key=lambda label: (float(label), str(label)))
    return list(labels)


def _are_numbers(labels: Sequence[Any]) -> bool:
    return all(isinstance(label, str) and _NUMBER.fullmatch(label) for label in labels)


def match_class_order(
    class_order: Iterable[Any], labels: Sequence[Any], *, allows_more: bool = False
) -> list[Any]:
    """Return labels in the given order; ArgumentError unless it has each of them once.

    A label of the order matches the class that equals it, or else the one that is written the same,
    so that the order of numeric classes can be given on the command line.

    Parameters
    ----------
    class_order : labels from first to last
    labels : labels that it must have
    allows_more : whether it may have other labels, which are returned too

    Examples
    --------
    >>> match_class_order(["3", "1", "2"], [1, 2, 3])
    [3, 1, 2]
    """
    argument = Argument("class_order")
    if isinstance(class_order, str | bytes | set | frozenset) or not _is_iterable(class_order):
        raise ArgumentError(
            argument, f" must be a list of all labels, from first to last; got {class_order!r}."
        )
    by_value = {(isinstance(label, str), label): label for label in labels}
    by_text = {str(label): label for label in labels}
    found: list[Any] = []
    unknown: list[str] = []
    for each in class_order:
        key = _kind_and_value(each)
        label = by_value.get(key, by_text.get(str(each)))
        if label is not None:
            found.append(label)
        elif allows_more:
            found.append(key[1])
        else:
            unknown.append(repr(each.item() if hasattr(each, "item") else each))
    counts = Counter(found)
    missing = [repr(label) for label in labels if label not in counts]
    twice = [repr(label) for label, count in counts.items() if count > 1]
    problems = [
        f"{what} {list_names(names)}"
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
