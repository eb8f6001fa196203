import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_array
from scipy.spatial.distance import cdist

from polytomy.distances import METRICS, hausdorff, robust_hausdorff
from polytomy.errors import ArgumentError, DataError
from polytomy.routines.compiled import distances as compiled_distances
from polytomy.routines.reference import distances as reference_distances

TWINS = [reference_distances.hausdorff_matrix, compiled_distances.hausdorff_matrix]


def clouds(seed, n_classes=4, n_features=3, offset=0.0, most=40):
    random = np.random.default_rng(seed)
    return [
        offset + random.normal(random.normal(size=n_features), 1 + random.random(),
                               (random.integers(1, most), n_features))
        for _ in range(n_classes)
    ]  # fmt: skip


def joined(parts):
    y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return np.concatenate(parts), y


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_equals_that_of_scipy(metric):
    random = np.random.default_rng(1)
    X = random.random((30, 4)) + 0.1
    if metric in {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}:
        X = X > 0.5
        X[:, :2] = [True, False]
    y = random.integers(3, size=30)
    options = {}
    if metric == "seuclidean":
        options["V"] = X.var(axis=0, ddof=1)
    if metric == "mahalanobis":
        options["VI"] = np.linalg.inv(np.cov(X.T))
    found = hausdorff(X, y, metric=metric)
    for i in range(3):
        for j in range(i):
            far = cdist(X[y == i], X[y == j], metric=metric, **options)
            expected = max(far.min(axis=1).max(), far.min(axis=0).max())
            assert found[i, j] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("kind", [csr_array, csc_matrix])
def test_sparse_data_has_the_same_distances(kind, offset):
    random = np.random.default_rng(2)
    X = random.random((60, 20)) * (random.random((60, 20)) < 0.2) + offset
    X[7] = X[3]
    y = random.integers(4, size=60)
    expected = hausdorff(X, y).matrix
    np.testing.assert_allclose(hausdorff(kind(X), y).matrix, expected, rtol=1e-11)


def test_blocks_do_not_change_the_answer(monkeypatch):
    X, y = joined(clouds(5))
    before = hausdorff(X, y, metric="cityblock"), hausdorff(csr_array(X), y)
    monkeypatch.setattr("polytomy.distances.computing._BLOCK_BYTES", 64)
    after = hausdorff(X, y, metric="cityblock"), hausdorff(csr_array(X), y)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a.matrix, b.matrix, rtol=1e-13)


@pytest.mark.parametrize("distance", [hausdorff, robust_hausdorff])
def test_an_unknown_metric_is_refused_with_a_similar_one(distance):
    with pytest.raises(ArgumentError, match=r'metric="euclid" is not .*Did you mean .euclidean'):
        distance([[0.0], [1.0]], [0, 1], metric="euclid")


def test_a_metric_that_is_not_defined_for_the_samples_is_refused():
    with pytest.raises(DataError, match='metric="cosine" is not defined for some of these'):
        hausdorff([[0.0, 0.0], [1.0, 1.0]], [0, 1], metric="cosine")


def test_sparse_data_has_one_metric_only():
    with pytest.raises(ArgumentError, match='metric="cityblock" needs dense data'):
        hausdorff(csr_array(np.eye(2)), [0, 1], metric="cityblock")
