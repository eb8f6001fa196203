"""The routines, compiled by Numba: each does what the function of its name in `reference` does."""
