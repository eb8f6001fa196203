"""The client of a Dask cluster, its tasks and its faults.

Workers may die at any moment. Data is sent as tasks, which Dask can run again elsewhere, and is
never scattered. Dask's own errors become a `ClusterError` that says what to do.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, KilledWorker, as_completed, default_client
from distributed.comm import CommClosedError
from distributed.scheduler import NoValidWorkerError

from polytomy.errors import Argument, ArgumentError, ClusterError

_Value = TypeVar("_Value")


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
    """Return the results of futures, in their order."""
    found = dict(gather_as_completed(client, futures))
    return [found[number] for number in range(len(futures))]


def gather_as_completed(client: Any, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the indices and results of futures as they finish; if one fails, cancel the others."""
    number_of = {future.key: number for number, future in enumerate(futures)}
    try:
        for batch in as_completed(futures, loop=client.loop).batches():
            for future, result in zip(batch, client.gather(batch), strict=True):
                yield number_of[future.key], result
    except BaseException:
        if client.status == "running":
            client.cancel(list(futures), force=True)
        raise


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
        raise ClusterError(
            f"the Dask cluster has had no workers for {error.timeout:.0f} seconds. Start some, for "
            'example with "dask worker ADDRESS" or cluster.scale(2), and repeat the call.'
        ) from error
    except CancelledError as error:
        if client.status == "running" and "scheduler" not in str(error):
            raise ClusterError(
                f"the work was cancelled on the cluster: {error}. If data that was scattered to a "
                "worker was lost with it, pass collections that Dask can compute again, such as "
                "those of dask.array.from_array or dask.dataframe.read_parquet."
            ) from error
        raise ClusterError(lost) from error
    except CommClosedError as error:
        raise ClusterError(lost) from error
    except (OSError, RuntimeError, TimeoutError) as error:
        if client.status == "running" or isinstance(error, ClusterError):
            raise  # the error comes from a task
        raise ClusterError(lost) from error


def _words_of(key: Any) -> str:
    name = key[0] if isinstance(key, tuple) else key
    return str(name).rpartition("-")[0] or str(name)
