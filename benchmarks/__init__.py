"""Benchmarks that compare polytomy with other packages, in speed and in results."""
