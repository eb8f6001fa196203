"""Benchmarks of polytomy against other packages, which also compare the results."""
