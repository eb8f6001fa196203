"""A stratified sample of the rows, for designs from data and for transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.dask.grouping import GroupedPart
from polytomy.dask.layout import Layout
from polytomy.inputs.rows import stack_rows, take_rows

__all__ = ["Sample", "choose_rows", "divide_quota", "join_samples", "pick_rows"]


class Sample(NamedTuple):
    """Some rows of the data, in their order.

    Attributes
    ----------
    X : samples
    y : their labels
    weight : their weights, or None
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None


def divide_quota(sizes: Sequence[int], most_rows: int) -> list[int]:
    """Return how many rows of each class to take, in proportion to its size but at least one.

    Examples
    --------
    >>> divide_quota([900, 99, 1], 100), divide_quota([3, 2], 100)
    ([90, 10, 1], [3, 2])
    """
    total = sum(sizes)
    if total <= most_rows:
        return list(sizes)
    return [min(size, max(1, round(most_rows * size / total))) for size in sizes]


def choose_rows(
    layout: Layout, most_rows: int, seed: int
) -> dict[int, dict[int, NDArray[np.intp]]]:
    """Return a random choice of rows, stratified by class; all rows if there are not more.

    It depends on the order of the rows and on the seed, but not on how the rows are divided.

    Returns
    -------
    for each part, for the position of each label in it, the chosen rows of the label
    """
    chosen: dict[int, dict[int, NDArray[np.intp]]] = {}
    sizes = layout.class_sizes
    for k, quota in enumerate(divide_quota(sizes, most_rows)):
        positions = np.arange(sizes[k])
        if quota < sizes[k]:
            generator = np.random.default_rng([seed, k])
            positions = np.sort(generator.choice(sizes[k], quota, replace=False))
        for part, own in layout.locate(k, positions).items():
            chosen.setdefault(part, {})[int(layout.places[part, k])] = own
    return dict(sorted(chosen.items()))


def pick_rows(part: GroupedPart, chosen: Mapping[int, NDArray[np.intp]]) -> Sample:
    """Return some rows of a part, in their order.

    Parameters
    ----------
    part : GroupedPart
    chosen : for the position of each label, which of its rows to take
    """
    places = [part.starts[label] + own for label, own in chosen.items()]
    samples = np.concatenate(places)
    samples = samples[np.argsort(part.rows[samples])]
    labels = part.labels[np.searchsorted(part.starts, samples, side="right") - 1]
    weight = None if part.weight is None else part.weight[samples]
    return Sample(take_rows(part.X, samples), labels, weight)


def join_samples(samples: Sequence[Sample]) -> Sample:
    """Return the rows of samples of consecutive parts."""
    weights = [each.weight for each in samples if each.weight is not None]
    return Sample(
        stack_rows([each.X for each in samples]),
        np.concatenate([each.y for each in samples]),
        np.concatenate(weights) if weights else None,
    )
