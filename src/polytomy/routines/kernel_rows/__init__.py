"""Rows of kernel values, computed from the entries of one matrix for many problems."""
