"""Numerical routines by subject, each as a readable reference and its compiled twin."""
