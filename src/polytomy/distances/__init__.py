"""Distances between classes in the data."""

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.computing import (
    DISTANCES,
    METRICS,
    centroid,
    compute_distances,
    energy,
    hausdorff,
    robust_hausdorff,
    separability,
)

__all__ = [
    "DISTANCES",
    "METRICS",
    "ClassDistances",
    "centroid",
    "compute_distances",
    "energy",
    "hausdorff",
    "robust_hausdorff",
    "separability",
]
