"""How far apart classes are in the data."""

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.energy import energy
from polytomy.distances.hausdorff import hausdorff, robust_hausdorff
from polytomy.distances.metrics import METRICS
from polytomy.distances.moments import centroid
from polytomy.distances.option import DISTANCES, distances_from
from polytomy.distances.separability import separability

__all__ = [
    "DISTANCES",
    "METRICS",
    "ClassDistances",
    "centroid",
    "distances_from",
    "energy",
    "hausdorff",
    "robust_hausdorff",
    "separability",
]
