"""What Dask raises becomes one clear error; what tasks raise stays what it is."""

from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from polytomy.errors import ArgumentError, ClusterError

distributed = pytest.importorskip("distributed")

from polytomy.dask.cluster import explaining_faults, name_task  # noqa: E402

LOST = (
    "the connection to the Dask scheduler at tcp://head:8786 was lost. Start the cluster again, "
    "make a new Client, and repeat the call."
)


def make_client(status="running"):
    return SimpleNamespace(status=status, scheduler=SimpleNamespace(address="tcp://head:8786"))


def cancelled(reason):
    return distributed.client.FutureCancelledError("key", reason)


def explain(error, status="running"):
    with explaining_faults(make_client(status)):
        raise error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (distributed.comm.CommClosedError("closed"), "running"),
        (cancelled("scheduler-connection-lost"), "running"),
        (cancelled("unknown"), "closed"),
        (CancelledError(), "closed"),
        (TimeoutError("no answer"), "connecting"),
        (RuntimeError("client is closed"), "closed"),
    ],
)
def test_a_lost_scheduler_is_told(error, status):
    with pytest.raises(ClusterError) as caught:
        explain(error, status)
    assert str(caught.value) == LOST
    assert caught.value.__cause__ is error


def test_a_task_that_kills_workers_is_named():
    error = distributed.KilledWorker(name_task("train a-b"), "worker", 3)
    with pytest.raises(ClusterError, match=r'the task "train a-b" was given up: .* died 4 times'):
        explain(error)


def test_cancelled_work_is_told_with_what_may_have_been_lost():
    with pytest.raises(ClusterError, match=r"cancelled on the cluster: key .* If data that was"):
        explain(cancelled("lost dependencies"))


def test_a_cluster_without_workers_is_told_once_dask_gives_up():
    error = distributed.scheduler.NoValidWorkerError("key", set(), set(), {}, 30)
    with pytest.raises(ClusterError, match=r"no workers for 30 seconds\. Start some"):
        explain(error)


@pytest.mark.parametrize(
    "error", [TimeoutError("disk"), OSError("disk"), ArgumentError("no"), KeyboardInterrupt()]
)
def test_errors_of_tasks_stay_what_they_are(error):
    with pytest.raises(type(error)) as caught:
        explain(error)
    assert caught.value is error
