"""Laws of joblib's backend "dask": the workers train, and what they lose is sent again."""

import os

import joblib
import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import polytomy as pt
from cluster_cases import DyingOnceNB, ProcessNB


@pytest.fixture
def client(cluster_client):
    with cluster_client.as_current():
        yield cluster_client


def make_samples():
    rng = np.random.default_rng(5)
    y = rng.integers(4, size=200)
    return rng.normal(size=(200, 3)) + 2 * np.eye(4)[y][:, :3], y


@pytest.mark.parametrize("final_calibration", ["auto", None])
@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest"])
def test_machines_that_workers_train_are_those_of_this_process(client, scheme, final_calibration):
    X, y = make_samples()
    classifier = pt.PolytomyClassifier(
        SVC(), scheme, final_calibration=final_calibration, random_state=0
    )
    near = classifier.fit(X, y).predict_proba(X)
    with joblib.parallel_config("dask"):
        far = classifier.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-12)
    names = client.cluster.scheduler.task_prefixes
    assert any(name.startswith(f"train {scheme}") for name in names)
    machines = [binary.estimator for binary in classifier.binaries_]
    assert len({id(machine.pool) for machine in machines}) == 1


def test_workers_train_all_estimators(client):
    X, y = make_samples()
    with joblib.parallel_config("dask"):
        far = pt.PolytomyClassifier(ProcessNB(), random_state=0).fit(X, y)
    assert os.getpid() not in {estimator.process_ for estimator in far.estimators_}


def test_a_worker_that_is_killed_costs_only_time(client, tmp_path):
    X, y = make_samples()
    near = pt.PolytomyClassifier(GaussianNB(), random_state=0).fit(X, y).predict_proba(X)
    dying = DyingOnceNB(str(tmp_path / "marker"))
    with joblib.parallel_config("dask"):
        far = pt.PolytomyClassifier(dying, random_state=0).fit(X, y).predict_proba(X)
    assert (tmp_path / "marker").exists()
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-12)


def test_weights_and_splitters_count_on_a_cluster_too(client):
    X, y = make_samples()
    weight = np.random.default_rng(0).integers(3, size=len(y)).astype(float)
    for cv in (3, KFold(3, shuffle=True, random_state=0)):
        classifier = pt.PolytomyClassifier(GaussianNB(), cv=cv, random_state=0)
        near = classifier.fit(X, y, weight).predict_proba(X)
        with joblib.parallel_config("dask"):
            far = classifier.fit(X, y, weight).predict_proba(X)
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-12)
