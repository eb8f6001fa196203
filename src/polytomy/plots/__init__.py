"""Plots of schemes, distances, explanations and searches, with matplotlib (the extra ``plots``).

Each function draws into the given axes or a new figure, and returns the axes.
"""

from polytomy.plots.coding import code
from polytomy.plots.distances import distances
from polytomy.plots.explanations import explanation
from polytomy.plots.grid import grid
from polytomy.plots.pareto import pareto
from polytomy.plots.trees import tree

__all__ = ["code", "distances", "explanation", "grid", "pareto", "tree"]
