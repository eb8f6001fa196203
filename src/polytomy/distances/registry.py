"""All distances by name, and the parameter ``distance`` that chooses one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.model_distances import centroid, separability
from polytomy.distances.sample_distances import energy, hausdorff, robust_hausdorff
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.class_samples import group_samples

DistanceArgument: TypeAlias = str | ClassDistances | ArrayLike | Callable[[Any, Any], Any]

DISTANCES: dict[str, Callable[..., ClassDistances]] = {
    "hausdorff": hausdorff,
    "robust-hausdorff": robust_hausdorff,
    "centroid": centroid,
    "energy": energy,
    "separability": separability,
}


def compute_distances(distance: DistanceArgument, X: Any, y: ArrayLike) -> ClassDistances:
    """Return the distances between the classes of the data.

    Parameters
    ----------
    distance : one of DISTANCES, ClassDistances, matrix or function
        A matrix has the classes in the order of the sorted labels. A function takes X and y and
        returns any of the others.
    X, y : the data; if ClassDistances are given, only the classes in `y` are kept

    Examples
    --------
    >>> print(compute_distances("hausdorff", [[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"]))
    hausdorff  a  b
            a  0  7
            b  7  0
    >>> print(compute_distances([[0, 3], [3, 0]], None, ["a", "b", "a"]))
    distance  a  b
           a  0  3
           b  3  0
    """
    if isinstance(distance, str):
        if distance not in DISTANCES:
            raise ArgumentError(
                Argument("distance", distance),
                f" is not one of {', '.join(DISTANCES)}.{did_you_mean(distance, DISTANCES)}",
            )
        return DISTANCES[distance](X, y)
    if callable(distance) and not isinstance(distance, ClassDistances):
        found = distance(X, y)
        if callable(found) and not isinstance(found, ClassDistances):
            raise ArgumentError(
                Argument("distance", distance),
                f" returned {found!r}, not distances between classes.",
            )
        return compute_distances(found, X, y)
    # From here on, only the labels matter.
    labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    classes = group_samples(np.zeros((len(labels), 1)), y).classes
    if isinstance(distance, ClassDistances):
        return distance.reordered(classes)
    return ClassDistances(classes, distance)
