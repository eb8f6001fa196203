"""Results of a cluster come as they finish; an error ends the work."""

import time

import pytest

distributed = pytest.importorskip("distributed")

from polytomy.dask.cluster import gather, gather_as_completed  # noqa: E402


@pytest.fixture
def client():
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_results_have_the_numbers_of_their_futures(client):
    futures = client.map(abs, [-1, -2, -3])
    assert sorted(gather_as_completed(client, futures)) == [(0, 1), (1, 2), (2, 3)]
    assert gather(client, futures) == [1, 2, 3]


def test_the_error_of_one_task_cancels_the_others(client):
    futures = [client.submit(int, "no number"), client.submit(time.sleep, 0.5)]
    with pytest.raises(ValueError, match="no number"):
        list(gather_as_completed(client, futures))
    assert futures[1].cancelled()
