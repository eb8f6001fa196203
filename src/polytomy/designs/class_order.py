"""The order of the classes, for designs that use one: "adjacent", both chains and "tree"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from polytomy.inputs.label_order import (
    has_natural_order,
    match_class_order,
    order_labels,
    sort_naturally,
)
from polytomy.scheme import Label
from polytomy.scheme.labels import normalize_label

__all__ = ["has_natural_order", "match_class_order", "order_classes", "sort_naturally"]


def order_classes(
    classes: Iterable[Any],
    class_order: Iterable[Any] | None = None,
    designs: Sequence[str] = (),
) -> list[Label]:
    """Return classes in order, for designs that use one.

    Parameters
    ----------
    classes : labels of the data
    class_order : all labels in order, optional
        By default numbers, including numbers written as text, are sorted by value, and all other
        labels are left as they are.
    designs : names of the designs that use the order
        If there are any, and the labels are text without an order, a warning names them.

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
    return order_labels(labels, designs)
