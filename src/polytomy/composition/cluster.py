"""Running group tasks on a Dask cluster, whose workers may die at any moment.

Nothing is scattered: every block of rows is the result of a task, so the scheduler can compute it
again if its worker is lost. This module imports Dask only when it is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

from polytomy.binary.options import TrainingListener
from polytomy.composition.cluster_results import gather_as_completed, no_workers_error
from polytomy.composition.group_tasks import GroupResult, GroupTask, train_group
from polytomy.composition.row_blocks import join_blocks, take_scored
from polytomy.errors import ClusterError

__all__ = [
    "explaining_faults",
    "join_sample",
    "name_task",
    "pass_on",
    "run_groups",
    "sending_data",
]

_Value = TypeVar("_Value")


def run_groups(
    client: Any,
    tasks: Sequence[GroupTask],
    blocks: Mapping[int, Any],
    sample: Any,
    listener: TrainingListener,
) -> list[GroupResult]:
    """Train groups of dichotomies on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    tasks : GroupTasks
    blocks : future of the RowBlock of each class
    sample : future of the rows that every binary scores, or None
    listener : TrainingListener, called in this process
    """
    futures = []
    with sending_data():
        for task in tasks:
            has_all = len(task.classes) == len(blocks)
            futures.append(
                client.submit(
                    train_group,
                    task,
                    [blocks[k] for k in task.classes],
                    None if has_all else sample,
                    key=name_task(f"train {task.names[0]}"),
                )
            )
    results: list[GroupResult] = [None] * len(tasks)  # type: ignore[list-item]
    for number, result in gather_as_completed(client, futures):
        results[number] = result
        for name in tasks[number].names:
            listener.trained(name)
    for note in dict.fromkeys(note for result in results for note in result.notes):
        listener.note(note)
    return results


def join_sample(client: Any, blocks: Mapping[int, Any]) -> Any:
    """Return the future of the rows of all blocks that every binary scores.

    They are taken on the workers that have the blocks, so that no worker has to hold all blocks.
    """
    key = [name_task("take rows to score") for _ in blocks]
    taken = client.map(take_scored, list(blocks.values()), key=key)
    return client.submit(join_blocks, taken, key=name_task("rows to score"))


def pass_on(value: _Value) -> _Value:
    """Return the value unchanged; a task of this function holds data sent to the cluster."""
    return value


def name_task(words: str) -> str:
    """Return a unique key for a task; a dashboard shows the words."""
    return f"{words}-{uuid4().hex}"


@contextmanager
def sending_data() -> Iterator[None]:
    """Silence Dask's warning about large data within tasks.

    It recommends scattering the data, but scattered data is lost if its worker dies.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


@contextmanager
def explaining_faults(client: Any) -> Iterator[None]:
    """Raise a ClusterError in place of Dask's own errors if a cluster fails."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError
    from distributed.scheduler import NoValidWorkerError

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
