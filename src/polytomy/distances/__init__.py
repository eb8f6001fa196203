"""Distances between classes in the data."""

from typing import Any

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.model_distances import centroid, separability
from polytomy.distances.registry import DISTANCES, compute_distances
from polytomy.distances.sample_distances import METRICS, energy, hausdorff, robust_hausdorff
from polytomy.inputs.renamed import find_renamed

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


def __getattr__(name: str) -> Any:
    return find_renamed(__name__, name, {"distances_from": compute_distances})
