"""From the answers of binary classifiers to class probabilities."""

from polytomy.solvers.methods import METHODS, Method, find_method
from polytomy.solvers.solving import decode, solve
from polytomy.solvers.voting import LOSSES

__all__ = ["LOSSES", "METHODS", "Method", "decode", "find_method", "solve"]
