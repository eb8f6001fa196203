"""Results of a cluster are waited for as long as it has workers, or may get some."""

import threading
import time

import pytest

from polytomy.errors import ClusterError, PolytomyWarning

distributed = pytest.importorskip("distributed")

from dask import config  # noqa: E402
from polytomy.dask import cluster as cluster_results  # noqa: E402
from polytomy.dask.cluster import (  # noqa: E402
    explaining_faults,
    gather,
    gather_as_completed,
)

SETTING = "distributed.scheduler.no-workers-timeout"
NO_WORKERS = (
    "the Dask cluster has had no workers for 0 seconds. Start some, for example with "
    '"dask worker ADDRESS" or cluster.scale(2), and repeat the call. To wait longer, set '
    'dask.config.set({"distributed.scheduler.no-workers-timeout": "1 hour"}).'
)


@pytest.fixture
def empty_cluster():
    options = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=False, **options) as cluster:
        yield cluster


@pytest.fixture
def client(empty_cluster):
    with distributed.Client(empty_cluster, set_as_default=False) as client:
        yield client


def test_a_cluster_without_workers_is_given_up(client):
    with config.set({SETTING: "200ms"}):
        with pytest.raises(ClusterError) as caught:
            gather(client, [client.submit(abs, -1)])
        assert str(caught.value) == NO_WORKERS
        with pytest.raises(ClusterError) as caught:
            list(gather_as_completed(client, client.map(abs, [-1, -2])))
        assert str(caught.value) == NO_WORKERS


def test_what_the_scheduler_gives_up_is_told_in_the_same_words(client):
    error = distributed.scheduler.NoValidWorkerError("key", set(), set(), {}, 0.2)
    with pytest.raises(ClusterError) as caught, explaining_faults(client):
        raise error
    assert str(caught.value) == NO_WORKERS
    assert caught.value.__cause__ is error


def test_workers_that_come_late_are_waited_for(empty_cluster, client, monkeypatch):
    monkeypatch.setattr(cluster_results, "_WAIT_BEFORE_WARNING", 0.1)
    monkeypatch.setattr(cluster_results, "_SECONDS_BETWEEN_LOOKS", 0.05)
    futures = client.map(abs, [-1, -2, -3])
    threading.Timer(0.4, empty_cluster.scale, [1]).start()
    with pytest.warns(PolytomyWarning, match="no workers. Waiting 300 seconds for one") as told:
        assert sorted(gather_as_completed(client, futures)) == [(0, 1), (1, 2), (2, 3)]
    assert len(told) == 1


def test_the_error_of_one_task_cancels_the_others(empty_cluster, client):
    empty_cluster.scale(1)
    futures = [client.submit(int, "no number"), client.submit(time.sleep, 0.5)]
    with pytest.raises(ValueError, match="no number"):
        list(gather_as_completed(client, futures))
    assert futures[1].cancelled()
