"""Both evaluators add what the kernel function itself gives, in either precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from polytomy.learners.svm import evaluation as evaluators
from polytomy.learners.svm.evaluation import DenseEvaluator, SparseEvaluator
from polytomy.learners.svm.kernels import KernelFunction

KERNELS = [
    KernelFunction("linear"),
    KernelFunction("rbf", gamma=0.3),
    KernelFunction("poly", gamma=0.5, degree=2, coef0=1.0),
    KernelFunction("sigmoid", gamma=0.1, coef0=0.2),
]
FORMS = {"dense": np.asarray, "sparse": csr_array}


def make_evaluator(kernel, vectors, *others):
    kind = DenseEvaluator if isinstance(vectors, np.ndarray) else SparseEvaluator
    return kind(kernel, vectors, *others)


def some_rows(rng, n_rows, n_features):
    X = rng.normal(size=(n_rows, n_features))
    X[rng.uniform(size=X.shape) < 0.4] = 0.0
    return X


def some_weights(rng, n_vectors):
    """Coefficients of three machines, about half of them zero."""
    dense = rng.normal(size=(n_vectors, 3)) * (rng.uniform(size=(n_vectors, 3)) < 0.5)
    by_vector = csr_array(dense)
    triple = by_vector.indptr.astype(np.intp), by_vector.indices.astype(np.intp), by_vector.data
    return triple, dense


@pytest.mark.parametrize("vectors_are", FORMS)
@pytest.mark.parametrize("samples_are", FORMS)
@given(st.integers(0, 2**32), st.sampled_from(KERNELS), st.sampled_from([3, 40]))
@settings(max_examples=20, deadline=None)
def test_sums_over_the_vectors_are_added_to_the_scores(
    vectors_are, samples_are, seed, kernel, n_features
):
    rng = np.random.default_rng(seed)
    stored, samples = some_rows(rng, 12, n_features), some_rows(rng, 5, n_features)
    rows = rng.permutation(12)[:9]
    weights, coefficients = some_weights(rng, 9)
    evaluator = make_evaluator(kernel, FORMS[vectors_are](stored), rows, weights, np.float64)
    scores = rng.normal(size=(5, 3))
    expected = scores + kernel.matrix(samples, stored[rows]) @ coefficients
    evaluator.add_scores(FORMS[samples_are](samples), scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n_features", [3, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_rbf_values_are_accurate_far_from_the_origin(n_features, dtype):
    rng = np.random.default_rng(1)
    kernel = KernelFunction("rbf", gamma=0.5 / n_features)
    vectors, samples = (rng.normal(size=(n, n_features)) for n in (10, 6))
    weights, coefficients = some_weights(rng, 10)
    evaluator = make_evaluator(kernel, vectors + 1e4, np.arange(10), weights, dtype)
    scores = np.zeros((6, 3))
    evaluator.add_scores(samples + 1e4, scores)
    expected = kernel.matrix(samples, vectors) @ coefficients
    # Samples are rounded by 1e-12; single precision adds 1e-7 of values around one.
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("vectors_are", "samples_are"), [("dense", "sparse"), ("sparse", "dense")])
def test_converting_samples_block_by_block_gives_the_same(vectors_are, samples_are, monkeypatch):
    rng = np.random.default_rng(2)
    vectors, samples = some_rows(rng, 8, 4), FORMS[samples_are](some_rows(rng, 20, 4))
    weights, _ = some_weights(rng, 8)
    evaluator = make_evaluator(
        KERNELS[1], FORMS[vectors_are](vectors), np.arange(8), weights, np.float64
    )
    whole, in_blocks = np.zeros((2, 20, 3))
    evaluator.add_scores(samples, whole)
    monkeypatch.setattr(evaluators, "_BLOCK_BYTES", 3 * 4 * 8)  # three samples at a time
    evaluator.add_scores(samples, in_blocks)
    np.testing.assert_allclose(in_blocks, whole, rtol=0, atol=1e-14)
