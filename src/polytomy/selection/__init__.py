"""Choosing a scheme and solver for the data: candidates race on held-out folds."""
