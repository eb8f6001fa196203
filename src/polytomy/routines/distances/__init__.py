"""Distances between sets of points."""
