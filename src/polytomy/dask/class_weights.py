"""The weight of each class, from the parameter ``class_weight`` and the sizes of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.dask.layout import Layout
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.weights import class_weights
from polytomy.model.decisions import ClassFrequencies

__all__ = ["balance_classes", "find_frequencies", "weights_by_class"]


def weights_by_class(
    class_weight: Mapping[Any, float] | str | None, layout: Layout
) -> dict[Any, float] | None:
    """Return the weight of each label; None if all are one."""
    if class_weight is None or class_weight == BALANCED_PER_PARTITION:
        return None
    labels = layout.classes.tolist()
    if isinstance(class_weight, Mapping):
        # One sample of each class, to check the weights.
        weights = class_weights(class_weight, layout.classes, np.arange(len(labels)), None)
        assert weights is not None
        return dict(zip(labels, weights.tolist(), strict=True))
    return dict(zip(labels, balance_classes(layout).tolist(), strict=True))


def balance_classes(layout: Layout) -> NDArray[np.float64]:
    """Return weights that give all classes the same total; zero for a class without weight."""
    totals = layout.class_weights
    share = totals.sum() / len(totals)
    weights = np.zeros_like(totals)
    np.divide(share, totals, out=weights, where=totals > 0)
    return weights


def find_frequencies(
    layout: Layout, by_class: Mapping[Any, float] | None, *, balances_sides: bool
) -> ClassFrequencies:
    """Return how frequent the classes are, with and without their weights.

    If both sides of each problem were balanced, all classes count the same.
    """
    n_classes, of_data = len(layout.classes), layout.class_weights
    of_model = of_data
    if by_class is not None:
        of_model = of_data * np.array(list(by_class.values()))
    if balances_sides:
        of_model = of_data * balance_classes(layout)
    return ClassFrequencies.from_weights(np.arange(n_classes), n_classes, of_data, of_model)
