"""Rows of kernel values, from the entries of a shared matrix."""
