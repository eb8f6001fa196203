import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from polytomy.errors import DataError
from polytomy.learners.scaling import Scaling, peel_scalers

SCALERS = {
    "standard": lambda: StandardScaler(),
    "centre": lambda: StandardScaler(with_std=False),
    "spread": lambda: StandardScaler(with_mean=False),
    "neither": lambda: StandardScaler(with_mean=False, with_std=False),
    "range": lambda: MinMaxScaler((-1, 3)),
    "size": lambda: MaxAbsScaler(),
    "nothing": lambda: "passthrough",
}
Y = np.arange(12) % 2


def some_rows(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = 300 + 5 * rng.normal(size=(12, 4))
    X[:, 3] = 7  # a constant feature
    return X


@given(st.integers(0, 2**32), st.lists(st.sampled_from(list(SCALERS)), max_size=3))
@settings(max_examples=50, deadline=None)
def test_the_map_is_what_the_scalers_do(seed, names):
    X = some_rows(seed)
    pipeline = make_pipeline(*(SCALERS[name]() for name in names), RidgeClassifier()).fit(X, Y)
    scaling, final = peel_scalers(pipeline)
    assert final is pipeline[-1]
    transformed = pipeline[:-1].transform(X) if names else X
    got = X if scaling is None else scaling.apply(X)
    np.testing.assert_allclose(got, transformed, rtol=1e-12, atol=1e-11)


def test_a_pipeline_within_a_pipeline_is_peeled_too():
    X = some_rows(0)
    inner = make_pipeline(MinMaxScaler(), RidgeClassifier())
    pipeline = make_pipeline(StandardScaler(), inner).fit(X, Y)
    scaling, final = peel_scalers(pipeline)
    assert final is inner[-1]
    expected = inner[0].transform(pipeline[0].transform(X))
    np.testing.assert_allclose(scaling.apply(X), expected, rtol=1e-12, atol=1e-12)


def test_an_estimator_alone_has_no_scaling():
    model = RidgeClassifier()
    assert peel_scalers(model) == (None, model)
    assert peel_scalers(make_pipeline(model)) == (None, model)


@pytest.mark.parametrize("step", [PCA(), MinMaxScaler(clip=True), make_pipeline(MinMaxScaler())])
def test_other_steps_are_not_peeled(step):
    inner = make_pipeline(StandardScaler(), step, RidgeClassifier())
    outer = make_pipeline(StandardScaler(), inner).fit(some_rows(0), Y)
    assert peel_scalers(inner) is None
    assert peel_scalers(outer) is None


def test_equal_maps_have_equal_keys():
    X = some_rows(0)
    keys = [
        peel_scalers(make_pipeline(StandardScaler(), RidgeClassifier()).fit(data, Y))[0].key
        for data in (X, X.copy(), X + 1)
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("name", ["spread", "size"])
def test_sparse_samples_stay_sparse(name):
    X = some_rows(0) * (np.arange(48).reshape(12, 4) % 3 > 0)
    pipeline = make_pipeline(SCALERS[name](), RidgeClassifier()).fit(csr_array(X), Y)
    scaling, _ = peel_scalers(pipeline)
    got = scaling.apply(csr_array(X))
    assert got.nnz == csr_array(X).nnz
    np.testing.assert_allclose(got.toarray(), pipeline[0].transform(X), rtol=1e-14)


def test_sparse_samples_that_would_become_dense_are_refused():
    X = some_rows(0)
    scaling, _ = peel_scalers(make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, Y))
    with pytest.raises(DataError) as error:
        scaling.apply(csr_array(X))
    assert str(error.value) == (
        "X is sparse, but a scaler of the binaries shifts its zeros. Give a dense array, or fit "
        "with MaxAbsScaler() or StandardScaler(with_mean=False)."
    )


def test_samples_are_scaled_feature_by_feature_in_a_graph(compute):
    X = np.random.default_rng(0).normal(size=(12, 3)) + 1000.0
    scaling = Scaling(np.array([0.5, 2.0, 1.0]), np.full(3, 1000.0), np.array([0.0, 1.0, 0.0]))
    found = compute(lambda graph, x: scaling.to_onnx(x), X)
    expected = [0.5, 2.0, 1.0] * (X - 1000.0) + [0.0, 1.0, 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-12)
