"""Numerical routines by subject: a readable reference and its compiled twin for each."""
