"""Learners: how the binaries of a scheme are trained, and how many of them answer at once."""
