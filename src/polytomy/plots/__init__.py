"""Plots of fitted classifiers, schemes, distances and searches, with matplotlib (extra ``plots``).

Displays are created by ``from_estimator`` or ``from_predictions``, like those of scikit-learn, and
store what they drew in ``ax_`` and ``figure_``. Functions return the axes. All of them draw on the
given axes, or on a new figure.
"""

from polytomy.plots.answers import BinaryReliabilityDisplay, ReliabilityDisplay, explanation
from polytomy.plots.matrices import ConfusionMatrixDisplay, code, distances
from polytomy.plots.searches import ParetoDisplay, grid, pareto
from polytomy.plots.trees import TreeDisplay, tree

__all__ = [
    "BinaryReliabilityDisplay",
    "ConfusionMatrixDisplay",
    "ParetoDisplay",
    "ReliabilityDisplay",
    "TreeDisplay",
    "code",
    "distances",
    "explanation",
    "grid",
    "pareto",
    "tree",
]
