"""Work on the next blocks of a file while the caller is busy with the current one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

__all__ = ["read_ahead"]

_Block = TypeVar("_Block")
_Result = TypeVar("_Result")


def read_ahead(
    work: Callable[[_Block], _Result], blocks: Iterable[_Block], n_threads: int
) -> Iterator[tuple[_Block, _Result]]:
    """Yield each block with the result of its work, in order.

    Other threads do the work, on as many blocks beyond the current one as there are threads. An
    error in a block is raised after the blocks before it are yielded, as without reading ahead.

    Parameters
    ----------
    work : function of a block; must be thread-safe
    blocks : read in the calling thread
    n_threads : int
        With 0, nothing is read ahead, and the calling thread does the work.

    Examples
    --------
    >>> list(read_ahead(str.upper, ["a", "b", "c"], 2))
    [('a', 'A'), ('b', 'B'), ('c', 'C')]
    """
    if n_threads == 0:
        for block in blocks:
            yield block, work(block)
        return
    waiting: deque[tuple[_Block, Callable[[], _Result]]] = deque()
    error: Exception | None = None
    remaining = iter(blocks)
    with ThreadPoolExecutor(n_threads) as pool:
        while error is None:
            try:
                block = next(remaining)
            except StopIteration:
                break
            except Exception as raised:
                error = raised
                break
            waiting.append((block, _start(pool, work, block)))
            if len(waiting) > n_threads:
                block, get_result = waiting.popleft()
                yield block, get_result()
        while waiting:
            block, get_result = waiting.popleft()
            yield block, get_result()
    if error is not None:
        raise error


def _start(
    pool: ThreadPoolExecutor, work: Callable[[_Block], _Result], block: _Block
) -> Callable[[], _Result]:
    """Start the work on a block in another thread, and return a function that waits for it."""
    try:
        return pool.submit(work, block).result
    except RuntimeError:
        # There are no more threads, or the interpreter is shutting down: the caller does the work.
        return partial(work, block)
