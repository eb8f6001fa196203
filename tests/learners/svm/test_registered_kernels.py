"""A kernel that is registered in a test works everywhere, without a line in the package."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.svm import SVC

import polytomy as pt
from polytomy.learners.svm import kernels

X, Y = load_iris(return_X_y=True)


def laplacian(function, A, B):
    return np.exp(-function.gamma * np.abs(A[:, np.newaxis] - B).sum(axis=2))


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(kernels.KERNELS, "laplacian", kernels.Kernel(("gamma",), values=laplacian))


@pytest.mark.parametrize("samples", [X, csr_array(X)], ids=["dense", "sparse"])
def test_machines_are_those_of_the_precomputed_kernel(samples):
    classifier = pt.PolytomyClassifier(SVC(kernel="laplacian", gamma=0.5), random_state=0)
    classifier.fit(samples, Y)
    K = laplacian_kernel(X, gamma=0.5)
    theirs = SVC(kernel="precomputed", decision_function_shape="ovo").fit(K, Y)
    found = [each.estimator.decision_function(samples) for each in classifier.composition_.binaries]
    # scikit-learn's values are positive for the first class of a pair.
    np.testing.assert_allclose(-np.column_stack(found), theirs.decision_function(K), atol=1e-6)


def test_it_is_saved_and_loaded_but_not_exported(tmp_path):
    machine = SVC(kernel="laplacian", gamma=0.5)
    classifier = pt.PolytomyClassifier(machine, random_state=0).fit(X, Y)
    assert classifier.score(X, Y) > 0.95
    pt.save(classifier, tmp_path / "model.zip")
    np.testing.assert_array_equal(
        pt.load(tmp_path / "model.zip").predict_proba(X), classifier.predict_proba(X)
    )
    with pytest.raises(pt.PolytomyError, match="kernel linear, rbf, poly or sigmoid"):
        pt.to_onnx(classifier)
