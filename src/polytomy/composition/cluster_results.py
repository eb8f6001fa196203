"""Waiting for results from a Dask cluster, but not forever if it has no workers left.

This module imports Dask only when it is used.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from polytomy.errors import ClusterError, PolytomyWarning

__all__ = ["gather", "gather_as_completed", "no_workers_error"]

_Value = TypeVar("_Value")

# Seconds without workers before a fit is given up, unless Dask's configuration sets another limit,
# and before a warning. New workers on a busy cluster may take minutes to start.
_LONGEST_WAIT, _WAIT_BEFORE_WARNING = 300.0, 20.0
_SETTING = "distributed.scheduler.no-workers-timeout"
_SECONDS_BETWEEN_LOOKS = 1.0


def gather(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures; raise a ClusterError after too long without workers."""

    async def gather_all() -> list[Any]:
        waiting = client.gather(list(futures), asynchronous=True)
        return await _unless_without_workers(client, waiting)

    results: list[Any] = client.sync(gather_all)
    return results


def gather_as_completed(client: Any, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the indices and results of futures as they finish; if one fails, cancel the others.

    Raises a ClusterError if the cluster has no workers for too long.
    """
    from distributed import as_completed

    number_of = {future.key: number for number, future in enumerate(futures)}
    completed = as_completed(list(futures), loop=client.loop)

    async def take_finished() -> list[Any]:
        first = await _unless_without_workers(client, anext(completed))
        return [first, *completed.next_batch(block=False)]

    try:
        while not completed.is_empty():
            batch = client.sync(take_finished)
            for future, result in zip(batch, gather(client, batch), strict=True):
                yield number_of[future.key], result
    except BaseException:
        if client.status == "running":
            client.cancel(list(futures), force=True)
        raise


async def _unless_without_workers(client: Any, waiting: Awaitable[_Value]) -> _Value:
    """Return the result of an awaitable, or raise a ClusterError if there are no workers."""
    work = asyncio.ensure_future(waiting)
    watch = asyncio.ensure_future(_watch_workers(client))
    try:
        await asyncio.wait([work, watch], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            watch.result()  # raises
        return await work
    finally:
        watch.cancel()
        work.cancel()


async def _watch_workers(client: Any) -> None:
    """Raise a ClusterError as soon as the cluster has had no workers for too long."""
    longest = _find_longest_wait()
    last_seen, is_warned = monotonic(), False
    while True:
        await asyncio.sleep(min(_SECONDS_BETWEEN_LOOKS, longest / 4))
        with suppress(OSError):  # the code that waits for the results reports a lost scheduler
            if await client.scheduler.ncores():
                last_seen, is_warned = monotonic(), False
        seconds = monotonic() - last_seen
        if seconds > longest:
            raise no_workers_error(longest)
        if seconds > _WAIT_BEFORE_WARNING and not is_warned:
            warnings.warn(
                f"The Dask cluster has no workers. Waiting {longest:.0f} seconds for one; "
                f'dask.config.set({{"{_SETTING}": …}}) changes that.',
                PolytomyWarning,
                stacklevel=2,
            )
            is_warned = True


def _find_longest_wait() -> float:
    from dask.utils import parse_timedelta

    from dask import config

    given = config.get(_SETTING, None)
    return _LONGEST_WAIT if given is None else float(parse_timedelta(given))


def no_workers_error(seconds: float) -> ClusterError:
    """Return the error for a cluster that has had no workers for this long."""
    return ClusterError(
        f"the Dask cluster has had no workers for {seconds:.0f} seconds. Start some, for example "
        'with "dask worker ADDRESS" or cluster.scale(2), and repeat the call. To wait longer, set '
        f'dask.config.set({{"{_SETTING}": "1 hour"}}).'
    )
