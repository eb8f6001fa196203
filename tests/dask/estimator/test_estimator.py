"""Laws of training on a cluster of two processes: its results are those of one machine."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from cluster_cases import DyingOnceNB, fail_to_read, pass_on_after_dying
from needs import needs_posix

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

from polytomy.dask import DaskPolytomyClassifier  # noqa: E402


@pytest.fixture
def client(cluster_client):
    with cluster_client.as_current():
        yield cluster_client


def make_samples(n_rows=240, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    X = rng.normal(size=(n_rows, 3)) + np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]])[y]
    return X, y


def as_dask(X, y, size=70):
    return da.from_array(X, (size, X.shape[1])), da.from_array(y, size)


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest"])
@pytest.mark.parametrize(
    "estimator", [SVC(gamma=0.5), LogisticRegression(), LinearSVC()], ids=lambda each: str(each)
)
def test_a_fit_on_a_cluster_equals_a_fit_in_memory(client, estimator, scheme):
    X, y = make_samples()
    dX, dy = as_dask(X, y)
    far = DaskPolytomyClassifier(estimator, scheme, random_state=3).fit(dX, dy)
    near = pt.PolytomyClassifier(estimator, scheme, random_state=3).fit(X, y)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-12)
    assert far.out_of_fold_score_ == pytest.approx(near.out_of_fold_score_, abs=1e-9)


@pytest.mark.parametrize("final_calibration", ["bias", None])
@pytest.mark.parametrize("estimator", [SVC(gamma=0.5), GaussianNB(), LinearSVC()], ids=str)
def test_a_held_out_part_is_that_of_a_fit_in_memory(client, estimator, final_calibration):
    X, y = make_samples()
    kept = np.flatnonzero((y != 3) | (np.arange(len(y)) % 5 == 0))  # the last class is rare
    X, y = X[kept], y[kept]
    options = {"cv": 0.1, "final_calibration": final_calibration, "random_state": 3}
    far = DaskPolytomyClassifier(estimator, **options).fit(*as_dask(X, y))
    near = pt.PolytomyClassifier(estimator, **options).fit(X, y)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-7)
    rows, expected = far.composition_.out_of_fold, near.composition_.out_of_fold
    assert (rows is None) == (final_calibration is None)
    if rows is not None:
        np.testing.assert_array_equal(rows.rows, expected.rows)
        np.testing.assert_array_equal(rows.weight, expected.weight)


def test_early_stopping_on_folds_is_that_of_a_fit_in_memory(client):
    X, y = make_samples(90, 3)
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.5, max_leaf_nodes=4, early_stopping=True, n_iter_no_change=2
    )
    options = {"validation": "folds", "cv": 3, "random_state": 0}
    far = DaskPolytomyClassifier(boosting, **options).fit(*as_dask(X, y))
    near = pt.PolytomyClassifier(boosting, **options).fit(X, y)
    np.testing.assert_allclose(far.to_local().predict_proba(X), near.predict_proba(X))


def test_many_rows_have_one_part_held_out(client, monkeypatch):
    from polytomy.calibration import folds as hold_out

    X, y = make_samples()
    monkeypatch.setattr(hold_out, "MANY_ROWS", 200)
    far = DaskPolytomyClassifier(GaussianNB(), random_state=3).fit(*as_dask(X, y))
    assert len(far.composition_.out_of_fold.rows) == pytest.approx(0.2 * len(y), abs=2)


def test_machines_in_several_tasks_equal_those_in_memory(client, monkeypatch):
    from polytomy.dask import fit_steps

    X, y = make_samples()
    near = pt.PolytomyClassifier(SVC(gamma=0.5), random_state=3).fit(X, y)
    monkeypatch.setattr(fit_steps, "_ENOUGH", 1)
    monkeypatch.setattr(fit_steps, "_MOST_TOGETHER", 1)
    far = DaskPolytomyClassifier(SVC(gamma=0.5), random_state=3).fit(*as_dask(X, y))
    np.testing.assert_allclose(far.decisions(X), near.decisions(X), rtol=0, atol=1e-12)
    # The final calibration learns from scores in single precision.
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-7)


def test_gamma_is_that_of_all_rows(client):
    X, y = make_samples()
    far = DaskPolytomyClassifier(SVC(), random_state=0).fit(*as_dask(X, y))
    expected = 1 / (3 * X.var())
    assert far.binaries_[0].estimator.kernel.gamma == pytest.approx(expected, rel=1e-13)


def test_results_depend_neither_on_the_workers_nor_on_the_partitions(client):
    X, y = make_samples()
    classifier = DaskPolytomyClassifier(SVC(gamma=1.0), "one-vs-one", random_state=0)
    expected = classifier.fit(*as_dask(X, y, 240)).predict_proba(X)
    found = classifier.fit(*as_dask(X, y, 31)).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with distributed.Client(**options, set_as_default=False) as alone:
        classifier = clone(classifier).set_params(client=alone)
        found = classifier.fit(*as_dask(X, y, 70)).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced-per-partition", {1: 3.0}])
def test_weights_count_as_in_memory(client, class_weight):
    X, y = make_samples()
    weight = np.random.default_rng(1).integers(3, size=len(y)).astype(float)
    options = {"class_weight": class_weight, "random_state": 0}
    far = DaskPolytomyClassifier(LogisticRegression(), **options)
    far.fit(*as_dask(X, y), da.from_array(weight, 70))
    near = pt.PolytomyClassifier(LogisticRegression(), **options).fit(X, y, weight)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-9)


def test_frames_with_categories_empty_partitions_and_text_labels(client):
    X, y = make_samples(n_classes=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue"])[(X[:, 0] > 0).astype(int)]
    frame["label"] = np.array(["ash", "elm", "oak"])[y]
    parts = [dask.delayed(part) for part in (frame[:100], frame[100:100], frame[100:])]
    data = dd.from_delayed(parts, meta=frame.iloc[:0])
    # The categories are not known: each partition has those of its own rows.
    data["colour"] = data["colour"].astype("category")
    frame["colour"] = frame["colour"].astype("category")
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"
    )
    estimator = make_pipeline(columns, LogisticRegression())
    far = DaskPolytomyClassifier(estimator, "one-vs-rest", random_state=0)
    far.fit(data.drop(columns="label"), data["label"])
    near = pt.PolytomyClassifier(estimator, "one-vs-rest", random_state=0)
    near.fit(frame.drop(columns="label"), frame["label"])
    assert far.feature_names_in_.tolist() == ["a", "b", "c", "colour"]
    found = far.predict_proba(data.drop(columns="label")).compute()
    assert found.columns.tolist() == ["ash", "elm", "oak"]
    np.testing.assert_array_equal(found.index, frame.index)
    expected = near.predict_proba(frame.drop(columns="label"))
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)


def test_delayed_sparse_parts_and_chunks_of_unknown_size(client):
    from scipy.sparse import csr_array

    X, y = make_samples()
    near = pt.PolytomyClassifier(LinearSVC(), random_state=0).fit(csr_array(X), y)
    bounds = [slice(0, 90), slice(90, 240)]
    parts = [dask.delayed(csr_array)(X[each]) for each in bounds]
    labels = [dask.delayed(np.array)(y[each]) for each in bounds]
    far = DaskPolytomyClassifier(LinearSVC(), random_state=0).fit(parts, labels)
    found = np.concatenate(dask.compute(*far.predict_proba(parts)))
    expected = near.predict_proba(csr_array(X))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    dX, dy = as_dask(X, y)
    is_kept = dX[:, 0] < 1
    far.fit(dX[is_kept], dy[is_kept])
    near.fit(X[X[:, 0] < 1], y[X[:, 0] < 1])
    np.testing.assert_array_equal(far.predict(dX[is_kept]), near.predict(X[X[:, 0] < 1]))


def test_designs_are_made_from_a_sample(client):
    X, y = make_samples()
    seen = []

    def design(samples, labels):
        seen.append((samples, labels))
        return "one-vs-rest"

    far = DaskPolytomyClassifier(GaussianNB(), design, random_state=0, design_rows=40)
    far.fit(*as_dask(X, y))
    samples, labels = seen.pop()
    assert 38 <= len(samples) <= 42
    np.testing.assert_array_equal(np.unique(labels), np.unique(y))
    rows = [int(np.flatnonzero((sample == X).all(axis=1))[0]) for sample in samples]
    assert rows == sorted(rows)
    np.testing.assert_array_equal(y[rows], labels)
    far.set_params(design_rows=len(y)).fit(*as_dask(X, y))
    np.testing.assert_array_equal(seen[0][0], X)


def test_shared_scalers_learn_from_the_sample(client):
    X, y = make_samples()
    X = X * [1.0, 100.0, 0.01] + 5
    options = {"shared_preprocessing": True, "random_state": 0}
    estimator = make_pipeline(StandardScaler(), SVC())
    far = DaskPolytomyClassifier(estimator, **options).fit(*as_dask(X, y))
    near = pt.PolytomyClassifier(estimator, **options).fit(X, y)
    np.testing.assert_allclose(far.preprocessing_[0].mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-6)
    few = DaskPolytomyClassifier(estimator, design_rows=50, **options).fit(*as_dask(X, y))
    assert few.preprocessing_[0].n_samples_seen_ == pytest.approx(50, abs=4)


def test_a_local_classifier_a_file_a_pickle_and_a_clone(client, tmp_path):
    X, y = make_samples()
    far = DaskPolytomyClassifier(SVC(gamma=0.5), random_state=0, client=client)
    far.fit(*as_dask(X, y))
    expected = far.predict_proba(X)
    near = far.to_local()
    assert type(near) is pt.PolytomyClassifier
    np.testing.assert_array_equal(near.predict_proba(X), expected)
    pt.save(far, tmp_path / "model.polytomy")
    np.testing.assert_array_equal(pt.load(tmp_path / "model.polytomy").predict_proba(X), expected)
    again = pickle.loads(pickle.dumps(far))
    assert again.client is None
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert clone(far).client is client
    assert far.with_solver("voting").client is client


def test_trained_models_take_part(client):
    X, y = make_samples(n_classes=3)
    scheme = pt.parse("given 0 / 1 2; new 0 1 / 2; last 0 2 / 1; {0 1 2}")
    model = GaussianNB().fit(X, y > 0)
    options = {"models": {"given": model}, "final_calibration": "bias", "random_state": 0}
    options["class_weight"] = {0: 2.0, 1: 0.0}
    far = DaskPolytomyClassifier(LogisticRegression(), scheme, **options).fit(*as_dask(X, y))
    near = pt.PolytomyClassifier(LogisticRegression(), scheme, **options).fit(X, y)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-9)


@needs_posix
def test_workers_that_are_killed_while_they_read_or_train_cost_only_time(client, tmp_path):
    X, y = make_samples()
    read, train = tmp_path / "read", tmp_path / "train"
    parts = [dask.delayed(X[:100]), dask.delayed(pass_on_after_dying)(X[100:], str(read))]
    labels = [dask.delayed(y[:100]), dask.delayed(y[100:])]
    far = DaskPolytomyClassifier(DyingOnceNB(str(train)), random_state=0).fit(parts, labels)
    assert read.exists()
    assert train.exists()
    near = pt.PolytomyClassifier(GaussianNB(), random_state=0).fit(X, y)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), rtol=0, atol=1e-12)


_SCHEDULER = """
import sys
from distributed import LocalCluster

with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=':0',
                  host="127.0.0.1", protocol="tcp") as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@needs_posix
def test_a_lost_scheduler_is_one_clear_error(tmp_path):
    X, y = make_samples()
    process = subprocess.Popen(
        [sys.executable, "-c", _SCHEDULER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        address = process.stdout.readline().strip()
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            distributed.Client(address, set_as_default=False) as client,
        ):
            # The scheduler is in the process that dies.
            dying = DyingOnceNB(marker=str(tmp_path / "scheduler"))
            far = DaskPolytomyClassifier(dying, random_state=0, client=client)
            with pytest.raises(pt.ClusterError) as caught:
                far.fit(*as_dask(X, y))
        assert str(caught.value) == (
            f"the connection to the Dask scheduler at {address} was lost. Start the cluster again, "
            "make a new Client, and repeat the call."
        )
        assert not hasattr(far, "composition_")
    finally:
        process.kill()
        process.wait()


def test_an_error_in_the_data_is_raised_at_the_first_attempt(client, tmp_path):
    part = dask.delayed(fail_to_read)(tmp_path / "attempts")
    with pytest.raises(ValueError, match="line 3 has 5 fields"):
        DaskPolytomyClassifier(GaussianNB(), client=client).fit(
            [part], [dask.delayed(np.arange)(2)]
        )
    assert (tmp_path / "attempts").read_text() == "read\n"


def test_errors_of_training_are_those_of_a_fit_in_memory(client):
    X, y = make_samples()
    far = DaskPolytomyClassifier(LogisticRegression(C=-1.0), random_state=0)
    with pytest.raises(ValueError, match="The 'C' parameter of LogisticRegression"):
        far.fit(*as_dask(X, y))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"cv": [([0], [1])]},
            "cv must be a number of folds, .*splitters need all rows in one place.; got",
        ),
        ({"cv": 1.5}, "cv must be a number of folds, two or more"),
        ({"cv": True}, "cv must be a number of folds, two or more"),
        ({"design_rows": 0}, "design_rows must be a positive integer; got 0"),
        ({"estimator": SVC(kernel="precomputed")}, "Use PolytomyClassifier"),
        ({"client": "tcp://here"}, "client must be a distributed.Client; got str"),
    ],
)
def test_unsuitable_parameters_are_refused_at_once(parameters, words):
    X, y = make_samples()
    far = DaskPolytomyClassifier(**{"estimator": GaussianNB(), **parameters})
    with pytest.raises(pt.ArgumentError, match=words):
        far.fit(*as_dask(X, y))


def test_a_comparison_of_designs_is_refused_before_the_data_is_read():
    X, y = as_dask(*make_samples())
    with pytest.raises(pt.ArgumentError, match=r'^scheme="limited" compares designs in one proc'):
        DaskPolytomyClassifier(GaussianNB(), "limited", max_sides=3).fit(X, y)
