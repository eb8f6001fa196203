"""Distances between classes in the data."""

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.model_distances import centroid, separability
from polytomy.distances.registry import DISTANCES, compute_distances
from polytomy.distances.sample_distances import METRICS, energy, hausdorff, robust_hausdorff

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
