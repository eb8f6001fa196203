"""Names that an option accepts, for options that more than one package checks.

Options of a single package declare their names there: solvers in `polytomy.solvers.methods`,
designs in `polytomy.designs.registry`, distances in `polytomy.distances.option`.
"""

from __future__ import annotations

__all__ = [
    "BALANCED",
    "BALANCED_PER_PARTITION",
    "CALIBRATIONS",
    "CLASS_WEIGHTS",
    "PRECISIONS",
]

PRECISIONS = ("float64", "float32")
"""Precision of predictions, and of the input and output of exported models."""

CALIBRATIONS = ("auto", "sigmoid", "isotonic", "temperature")
"""Calibration of decision values. In Python, None and calibrators are allowed too."""

BALANCED = "balanced"
BALANCED_PER_PARTITION = "balanced-per-partition"
CLASS_WEIGHTS = (BALANCED, BALANCED_PER_PARTITION)
"""Class weights. In Python, None and dicts of labels and weights are allowed too."""
