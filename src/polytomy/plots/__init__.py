"""Plots of fitted classifiers, schemes, distances and searches, with matplotlib (extra ``plots``).

Displays are created by ``from_estimator`` or ``from_predictions``, like those of scikit-learn, and
store what they drew in ``ax_`` and ``figure_``. Functions return the axes. All of them draw on the
given axes, or on a new figure.
"""

from polytomy.plots.binary_reliability import BinaryReliabilityDisplay
from polytomy.plots.coding import code
from polytomy.plots.confusion import ConfusionMatrixDisplay
from polytomy.plots.distances import distances
from polytomy.plots.explanations import explanation
from polytomy.plots.grid import grid
from polytomy.plots.pareto import ParetoDisplay, pareto
from polytomy.plots.reliability import ReliabilityDisplay
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
