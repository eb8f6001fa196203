"""Runs compiled functions on blocks of samples, on all threads.

The caller takes blocks one after the other, and so do the threads of a pool, if they get to it: a
thread that the system holds up delays the rest by no more than its block. Unlike the thread pools
of Numba, this one survives a fork and may be used from several threads at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from numba import config

__all__ = ["run_in_blocks"]

_BLOCKS_PER_THREAD = 8

_pools: dict[int, ThreadPoolExecutor] = {}


def run_in_blocks(
    function: Callable[..., None], n_samples: int, *arguments: Any, least: int
) -> None:
    """Call ``function(*arguments, first, last)`` for blocks that make up all samples.

    The environment variable NUMBA_NUM_THREADS sets the number of threads.

    Parameters
    ----------
    function : compiled function that gives up the interpreter lock
    n_samples : int
    *arguments : what the function takes besides the first sample of the block and the one after
        its last; what it writes must not overlap for different blocks
    least : int
        As many samples as are worth a block of their own.

    Examples
    --------
    >>> blocks = []
    >>> run_in_blocks(lambda *block: blocks.append(block), 50, "any argument", least=100)
    >>> blocks
    [('any argument', 0, 50)]
    """
    n_threads: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    n_blocks = min(_BLOCKS_PER_THREAD * n_threads, -(-n_samples // least))
    bounds = (block * n_samples // n_blocks for block in range(n_blocks + 1 if n_blocks else 0))
    pending = list(pairwise(bounds))

    def work() -> None:
        while pending:
            try:
                first, last = pending.pop()
            except IndexError:  # another thread was faster
                return
            function(*arguments, first, last)

    helpers = [_pool(n_threads).submit(work) for _ in range(min(n_threads, n_blocks) - 1)]
    try:
        work()
    finally:
        pending.clear()
        started = [helper for helper in helpers if not helper.cancel()]
        for helper in started:
            helper.result()


def _pool(n_threads: int) -> ThreadPoolExecutor:
    if n_threads not in _pools:
        _pools[n_threads] = ThreadPoolExecutor(n_threads - 1, "polytomy")
    return _pools[n_threads]


if hasattr(os, "register_at_fork"):
    # The child has none of the parent's threads.
    os.register_at_fork(after_in_child=_pools.clear)
