"""Decision values as graphs: linear functions and kernels of scaled samples."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from polytomy.errors import ArgumentError
from polytomy.export.decision_values import dense, kernel_values, linear_values, scale_samples
from polytomy.learners.scaling import Scaling
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.onnx_graph import Graph

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(12, 3)) + 1000.0
SCALING = Scaling(np.array([0.5, 2.0, 1.0]), np.full(3, 1000.0), np.array([0.0, 1.0, 0.0]))


def test_samples_are_scaled_feature_by_feature(compute):
    found = compute(lambda graph, x: scale_samples(x, SCALING), X)
    expected = [0.5, 2.0, 1.0] * (X - 1000.0) + [0.0, 1.0, 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert scale_samples(X, None) is X


def test_scaling_is_folded_into_linear_functions(compute):
    weights, intercepts = RANDOM.normal(size=(2, 3)), [0.25, -3.0]
    scalings = [SCALING, None]
    found = compute(lambda graph, x: linear_values(x, list(weights), intercepts, scalings), X)
    expected = [SCALING.apply(X) @ weights[0] + 0.25, X @ weights[1] - 3.0]
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        KernelFunction("linear"),
        KernelFunction("rbf", gamma=0.3),
        KernelFunction("poly", gamma=0.1, degree=3, coef0=1.0),
        KernelFunction("sigmoid", gamma=0.1, coef0=-1.0),
    ],
    ids=lambda function: function.kind,
)
def test_kernels_have_the_values_of_their_functions(compute, function):
    samples, vectors = X - 1000.0, RANDOM.normal(size=(5, 3))
    found = compute(lambda graph, x: kernel_values(graph, x, function, vectors), samples)
    np.testing.assert_allclose(found, function.matrix(samples, vectors), atol=1e-12)


def test_vectors_that_are_too_long_for_exact_distances_are_refused():
    graph = Graph()
    samples, vectors = graph.input("X", np.float64, ["n", 1]), np.array([[0.0], [1000.0]])
    with pytest.raises(ArgumentError, match="must be at most 10000 for exact kernel values"):
        kernel_values(graph, samples, KernelFunction("rbf", gamma=1.0), vectors)


def test_a_sparse_matrix_becomes_an_array_of_doubles():
    found = dense(csr_matrix(np.eye(2, dtype=np.float32)))
    assert (found.tolist(), found.dtype) == ([[1.0, 0.0], [0.0, 1.0]], np.float64)
