"""Distances between classes in the data."""

from typing import Any

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.energy import energy
from polytomy.distances.hausdorff import hausdorff, robust_hausdorff
from polytomy.distances.metrics import METRICS
from polytomy.distances.moments import centroid
from polytomy.distances.option import DISTANCES, compute_distances
from polytomy.distances.separability import separability
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
