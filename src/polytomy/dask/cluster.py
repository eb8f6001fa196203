"""The client of a Dask cluster, its tasks and its faults.

Workers may die at any moment. Data is sent as tasks, which Dask can run again elsewhere, and is
never scattered. Waiting for results ends if there are no workers left, and Dask's own errors become
a `ClusterError` that says what to do.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any, TypeVar
from uuid import uuid4

from dask.utils import parse_timedelta
from distributed import Client, KilledWorker, as_completed, default_client
from distributed.comm import CommClosedError
from distributed.scheduler import NoValidWorkerError

import dask
from polytomy.errors import Argument, ArgumentError, ClusterError, PolytomyWarning

_Value = TypeVar("_Value")

# Seconds without workers before a fit is given up, unless Dask's configuration sets another limit,
# and before a warning. New workers on a busy cluster may take minutes to start.
_LONGEST_WAIT, _WAIT_BEFORE_WARNING = 300.0, 20.0
_SETTING = "distributed.scheduler.no-workers-timeout"
_SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_BATCHES = 1.0, 0.01


def find_client(client: Any) -> Client:
    """Return the given client, or else the one that was created last.

    Raises an ArgumentError if there is none, or if it is asynchronous.
    """
    if client is None:
        try:
            client = default_client()
        except ValueError as error:
            raise ArgumentError(
                "there is no Dask cluster. Create one with distributed.Client(), or set ",
                Argument("client"),
                ".",
            ) from error
    if not isinstance(client, Client):
        raise ArgumentError(
            Argument("client"), f" must be a distributed.Client; got {type(client).__name__}."
        )
    if client.asynchronous:
        raise ArgumentError(
            Argument("client"), " is asynchronous. Use a client with asynchronous=False."
        )
    if client.status != "running":
        raise ArgumentError(
            Argument("client"), f" is {client.status}. Create a new one, with distributed.Client()."
        )
    return client


def name_task(words: str) -> str:
    """Return a unique key for a task; a dashboard shows the words."""
    return f"{words}-{uuid4().hex}"


def pass_on(value: _Value) -> _Value:
    """Return the value unchanged; a task of this function holds data sent to the cluster."""
    return value


@contextmanager
def sending_data() -> Iterator[None]:
    """Silence Dask's warning about large data within tasks.

    It recommends scattering the data, but scattered data is lost if its worker dies.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


def gather(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures; raise a ClusterError after too long without workers."""
    found = dict(gather_as_completed(client, futures))
    return [found[number] for number in range(len(futures))]


def gather_as_completed(client: Any, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the indices and results of futures as they finish; if one fails, cancel the others.

    Raises a ClusterError if the cluster has no workers for too long.
    """
    number_of = {future.key: number for number, future in enumerate(futures)}
    completed = as_completed(list(futures), loop=client.loop)
    watch = _WorkerWatch(client)
    try:
        while not completed.is_empty():
            batch = completed.next_batch(block=False)
            if not batch:
                sleep(_SECONDS_BETWEEN_BATCHES)
                watch.look()
            for future, result in zip(batch, client.gather(batch), strict=True):
                yield number_of[future.key], result
    except BaseException:
        if client.status == "running":
            client.cancel(list(futures), force=True)
        raise


class _WorkerWatch:
    """Raises a ClusterError as soon as a cluster has had no workers for too long."""

    def __init__(self, client: Any) -> None:
        given = dask.config.get(_SETTING, None)
        self._client, self._is_warned = client, False
        self._longest = _LONGEST_WAIT if given is None else float(parse_timedelta(given))
        self._last_look = self._last_seen = monotonic()

    def look(self) -> None:
        """Look for workers, unless the last look was a moment ago."""
        now = monotonic()
        if now - self._last_look < min(_SECONDS_BETWEEN_LOOKS, self._longest / 4):
            return
        self._last_look = now
        with suppress(OSError):  # the futures tell if the scheduler is lost
            if self._client.ncores():
                self._last_seen, self._is_warned = now, False
        seconds = now - self._last_seen
        if seconds > self._longest:
            raise no_workers_error(self._longest)
        if seconds > _WAIT_BEFORE_WARNING and not self._is_warned:
            self._is_warned = True
            warnings.warn(
                f"The Dask cluster has no workers. Waiting {self._longest:.0f} seconds for one; "
                f'dask.config.set({{"{_SETTING}": …}}) changes that.',
                PolytomyWarning,
                stacklevel=2,
            )


def no_workers_error(seconds: float) -> ClusterError:
    """Return the error for a cluster that has had no workers for this long."""
    return ClusterError(
        f"the Dask cluster has had no workers for {seconds:.0f} seconds. Start some, for example "
        'with "dask worker ADDRESS" or cluster.scale(2), and repeat the call. To wait longer, set '
        f'dask.config.set({{"{_SETTING}": "1 hour"}}).'
    )


@contextmanager
def explaining_faults(client: Any) -> Iterator[None]:
    """Raise a ClusterError in place of Dask's own errors if a cluster fails."""
    address = client.scheduler.address
    lost = (
        f"the connection to the Dask scheduler at {address} was lost. Start the cluster again, "
        "make a new Client, and repeat the call."
    )
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f'the task "{_words_of(error.task)}" was given up: the worker that ran it died '
            f"{error.allowed_failures + 1} times. It probably ran out of memory. Give the workers "
            "more memory, or use a scheme with smaller problems, such as one-vs-one."
        ) from error
    except NoValidWorkerError as error:
        raise no_workers_error(error.timeout) from error
    except CancelledError as error:
        reason = _reason_of(error)
        if reason == "lost dependencies":
            raise ClusterError(
                "data that was scattered to a worker was lost with it, and cannot be computed "
                "again. Pass collections that Dask can compute again, such as those of "
                "dask.array.from_array or dask.dataframe.read_parquet."
            ) from error
        if client.status == "running" and not reason.startswith("scheduler"):
            raise ClusterError(f"the work was cancelled on the cluster: {error}") from error
        raise ClusterError(lost) from error
    except CommClosedError as error:
        raise ClusterError(lost) from error
    except (OSError, RuntimeError, TimeoutError) as error:
        if client.status == "running" or isinstance(error, ClusterError):
            raise  # the error comes from a task
        raise ClusterError(lost) from error


def _reason_of(error: CancelledError) -> str:
    """Return Dask's reason for cancelling futures."""
    groups = getattr(error, "error_groups", ())
    return str(groups[0].reason if groups else getattr(error, "reason", "unknown"))


def _words_of(key: Any) -> str:
    name = key[0] if isinstance(key, tuple) else key
    return str(name).rpartition("-")[0] or str(name)
