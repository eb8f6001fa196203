"""Energy distances between classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.metrics import SampleMetric, check_metric
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import Rows, check_two_classes, group_samples
from polytomy.inputs.seeds import RandomState, as_generator

__all__ = ["energy"]


def energy(
    X: Any,
    y: ArrayLike,
    *,
    metric: str = "euclidean",
    max_samples: int | None = 1000,
    random_state: RandomState = 0,
) -> ClassDistances:
    """Return the energy distances between the classes (Székely and Rizzo 2013).

    The energy distance is the square root of ``2 E|a − b| − E|a − a'| − E|b − b'|``, with means
    over all pairs of samples. It compares whole distributions, and is zero only if they are equal.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    metric : name of a metric of scipy.spatial.distance.cdist; a negative sum is replaced by zero
    max_samples : size of the random subsample of each class, or None to use all samples; the work
        grows with its square
    random_state : int, generator or None, for the subsample

    Examples
    --------
    >>> energy([[0.0], [2.0]], ["a", "b"])["a", "b"]
    2.0
    """
    check_metric(metric)
    most = None if max_samples is None else as_count("max_samples", max_samples)
    samples = check_two_classes(group_samples(X, y))
    random = as_generator(random_state)
    if most is not None:
        samples = samples.take(np.flatnonzero(samples.draw_ranks(random) < most))
    parts = list(samples)
    distance = SampleMetric(metric, samples)
    means = np.array([[_mean_distance(distance, a, b) if j <= i else 0.0
                       for j, b in enumerate(parts)] for i, a in enumerate(parts)])  # fmt: skip
    means += np.tril(means, -1).T
    own = np.diag(means)
    matrix = np.sqrt(np.maximum(2 * means - own - own[:, np.newaxis], 0))
    return ClassDistances(samples.classes, matrix, "energy")


def _mean_distance(distance: SampleMetric, A: Rows, B: Rows) -> float:
    total = sum(float(distances.sum()) for _, distances in distance.blocks(A, B))
    return float(total / (A.shape[0] * B.shape[0]))
