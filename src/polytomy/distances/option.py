"""The option ``distance``: from its value to distances of classes."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.energy import energy
from polytomy.distances.hausdorff import hausdorff, robust_hausdorff
from polytomy.distances.moments import centroid
from polytomy.distances.separability import separability
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples

__all__ = ["DISTANCES", "DistanceArgument", "distances_from"]

DistanceArgument: TypeAlias = str | ClassDistances | ArrayLike | Callable[[Any, Any], Any]

DISTANCES: dict[str, Callable[..., ClassDistances]] = {
    "hausdorff": hausdorff,
    "robust-hausdorff": robust_hausdorff,
    "centroid": centroid,
    "energy": energy,
    "separability": separability,
}


def distances_from(argument: DistanceArgument, X: Any, y: ArrayLike) -> ClassDistances:
    """Return the distances that the value of the option ``distance`` describes.

    Parameters
    ----------
    argument : name of a measure, ClassDistances, matrix or callable
        A matrix has the classes in the order of the sorted labels. A callable gets X and y and
        returns any of the others.
    X, y : the data; with ClassDistances, y chooses among their classes

    Examples
    --------
    >>> distances_from("centroid", [[0.0], [2.0], [7.0], [9.0]], [0, 0, 1, 1])
    <ClassDistances: centroid, 2 classes>
    >>> distances_from([[0, 3], [3, 0]], None, ["a", "b", "a"])["a", "b"]
    3.0
    """
    if isinstance(argument, str):
        if argument not in DISTANCES:
            near = get_close_matches(argument, DISTANCES, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(
                f"distance={argument!r} is not one of {', '.join(DISTANCES)}.{hint}"
            )
        return DISTANCES[argument](X, y)
    if callable(argument) and not isinstance(argument, ClassDistances):
        answer = argument(X, y)
        if callable(answer) and not isinstance(answer, ClassDistances):
            raise ArgumentError(f"distance={argument!r} returned {answer!r}, which is no distances")
        return distances_from(answer, X, y)
    # Only the labels count from here on.
    labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    classes = group_samples(np.zeros((len(labels), 1)), y).classes
    if isinstance(argument, ClassDistances):
        return argument.reordered(classes)
    return ClassDistances(classes, argument)
