"""Laws of lazy answers, computed in this process."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import polytomy as pt

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pytest.importorskip("distributed")

from polytomy.dask import DaskPolytomyClassifier  # noqa: E402

# Answers use nothing that Dask is about to remove.
pytestmark = pytest.mark.filterwarnings("error::FutureWarning")

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
LABELS = np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def as_fitted(samples=X, labels=LABELS, scheme="one-vs-rest"):
    """Return a classifier that could have been fitted on a cluster, and the local one."""
    near = pt.PolytomyClassifier(GaussianNB(), scheme, random_state=0).fit(samples, labels)
    far = DaskPolytomyClassifier(GaussianNB(), scheme, random_state=0)
    for name in ("classes_", "class_order_", "n_features_in_", "feature_names_in_", "composition_"):
        if hasattr(near, name):
            setattr(far, name, getattr(near, name))
    return far, near


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_log_proba", "decision_function"]
)
def test_answers_are_lazy_and_typed_as_their_input(method):
    far, near = as_fitted()
    expected = getattr(near, method)(X)
    lazy = getattr(far, method)(da.from_array(X, (40, 3)))
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == expected.dtype
    assert lazy.shape == expected.shape
    np.testing.assert_array_equal(lazy.compute(), expected)
    parts = getattr(far, method)([dask.delayed(X[:40]), dask.delayed(X[:0]), dask.delayed(X[40:])])
    np.testing.assert_array_equal(np.concatenate(dask.compute(*parts)), expected)
    np.testing.assert_array_equal(getattr(far, method)(X), expected)
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(len(X)) + 1000)
    far, near = as_fitted(frame)
    lazy = getattr(far, method)(dd.from_pandas(frame, npartitions=3))
    found = lazy.compute()
    np.testing.assert_array_equal(found.index, frame.index)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    if expected.ndim == 1:
        assert found.name == "prediction"
        assert lazy.dtype == found.dtype
    else:
        assert lazy.dtypes.tolist() == found.dtypes.tolist()
        assert lazy.columns.tolist() == found.columns.tolist()


def test_columns_have_the_names_of_classes():
    frame = pd.DataFrame(X, columns=NAMES)
    far, _ = as_fitted(frame, scheme="one-vs-one")
    data = dd.from_pandas(frame, npartitions=2)
    assert far.predict_proba(data).columns.tolist() == ["setosa", "versicolor", "virginica"]


def test_chunks_of_unknown_size_and_empty_chunks_are_answered():
    far, near = as_fitted()
    data = da.from_array(X, (50, 4))
    kept = data[data[:, 0] > 5.5]
    np.testing.assert_array_equal(
        far.predict_proba(kept).compute(), near.predict_proba(X[X[:, 0] > 5.5])
    )
    nothing = data[data[:, 0] > 100.0]
    assert far.predict_proba(nothing).compute().shape == (0, 3)
    assert far.predict(nothing).compute().shape == (0,)


def test_two_classes_have_one_decision_value():
    far, near = as_fitted(X[y > 0], LABELS[y > 0], "one-vs-one")
    found = far.decision_function(da.from_array(X, (50, 4)))
    assert found.ndim == 1
    np.testing.assert_array_equal(found.compute(), near.decision_function(X))


def test_the_score_is_the_accuracy():
    far, near = as_fitted()
    weight = np.random.default_rng(0).random(150)
    expected = near.score(X, LABELS, weight)
    data = [da.from_array(each, 60) for each in (LABELS, weight)]
    assert far.score(da.from_array(X, (60, 4)), *data) == pytest.approx(expected)


def test_samples_with_other_features_are_refused_before_anything_is_computed():
    far, _ = as_fitted()
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        far.predict(da.from_array(X[:, :3]))
    frame = pd.DataFrame(X, columns=NAMES)
    far, _ = as_fitted(frame)
    with pytest.raises(ValueError, match="The feature names should match"):
        far.predict(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=2))


def test_workers_get_no_out_of_fold_scores():
    far, near = as_fitted()
    assert near.composition_.out_of_fold is not None
    (model,) = [
        task
        for key, task in far.predict(da.from_array(X)).__dask_graph__().items()
        if str(key).startswith("polytomy model")
    ]
    model = getattr(model, "value", model)
    assert model.composition_.out_of_fold is None
    assert far.composition_.out_of_fold is not None


def test_there_are_probabilities_only_if_the_solver_gives_them():
    assert not hasattr(DaskPolytomyClassifier(solver="voting"), "predict_proba")
    assert hasattr(DaskPolytomyClassifier(LogisticRegression()), "predict_proba")


def test_priors_and_costs_decide_about_lazy_labels():
    far, near = (
        each.with_prior([0.2, 0.3, 0.5]).with_cost(None, 0.1, "unknown") for each in as_fitted()
    )
    for method in "predict", "predict_proba":
        lazy = getattr(far, method)(da.from_array(X, (50, 4)))
        expected = getattr(near, method)(X)
        assert lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(), expected)
    assert "unknown" in near.predict(X)


def test_all_other_answers_need_samples_in_memory():
    far, near = as_fitted()
    assert str(far.explain(X[:2])) == str(near.explain(X[:2]))
    np.testing.assert_array_equal(far.estimate_prior(X), near.estimate_prior(X))
    np.testing.assert_array_equal(far.predict_set(X), near.predict_set(X))
    for method in "explain", "estimate_prior", "predict_set", "predict_top_k":
        with pytest.raises(pt.ArgumentError, match=f"{method} needs samples in memory"):
            getattr(far, method)(da.from_array(X, (50, 4)))


def test_all_other_answers_can_be_mapped_over_the_blocks():
    far, near = as_fitted()
    lazy = da.from_array(X, (50, 4)).map_blocks(far.to_local().predict_cost, dtype=np.float64)
    np.testing.assert_array_equal(lazy.compute(), near.predict_cost(X))
