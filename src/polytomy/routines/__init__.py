"""Numerical routines by subject, each with a readable reference and a compiled twin."""
