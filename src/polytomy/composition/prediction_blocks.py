"""Blocks of samples to predict, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["blocks_of_rows"]

# Maximum size in bytes of the decision values of a block of samples.
_BLOCK_BYTES = 2**27
_SMALLEST_BLOCK = 256


def blocks_of_rows(n_rows: int, n_partitions: int, n_features: int = 0) -> Iterator[slice]:
    """Yield slices of rows whose decision values, and features, fit in bounded memory.

    Samples may have to be converted or pre-processed, so the features of a block count as well.

    Examples
    --------
    >>> list(blocks_of_rows(600, n_partitions=10**6))
    [slice(0, 256, None), slice(256, 512, None), slice(512, 600, None)]
    """
    size = max(_SMALLEST_BLOCK, _BLOCK_BYTES // (8 * max(1, n_partitions, n_features)))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))
