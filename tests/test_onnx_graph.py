"""Graphs of formulas compute the same as NumPy."""

import sys

import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.export import to_onnx
from polytomy.onnx_graph import Graph


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(5, 3))


def test_arithmetic_is_that_of_arrays(compute, X):
    W = np.random.default_rng(1).normal(size=(3, 2))
    found = compute(lambda graph, x: 1.0 - (x * x + 2.0) @ W / np.array([2.0, -4.0]), X)
    np.testing.assert_allclose(found, 1 - (X**2 + 2) @ W / [2, -4], rtol=1e-15, atol=1e-15)


def test_an_array_on_the_left_is_one_operand(compute, X):
    row = np.arange(3.0)
    np.testing.assert_array_equal(compute(lambda graph, x: row - x, X), row - X)


def test_sums_maxima_and_parts(compute, X):
    found = compute(
        lambda graph, x: graph.join([x.sum(axis=1), x.max(axis=1), x.take(np.array([2, 0]), 1)]), X
    )
    expected = np.column_stack([X.sum(axis=1), X.max(axis=1), X[:, 2], X[:, 0]])
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


def test_a_row_is_repeated_for_every_sample(compute, X):
    row = np.array([7.0, -1.0])
    np.testing.assert_array_equal(compute(lambda graph, x: graph.repeat(row, x), X), [row] * 5)


@pytest.mark.parametrize("n_times", [0, 1, 6])
def test_a_loop_counts_its_steps_and_passes_its_value_on(compute, X, n_times):
    weights = np.arange(1.0, 8.0)

    def step(body, number, value):
        return value * 2.0 + body.constant(weights).take(number, axis=0)

    expected = X
    for weight in weights[:n_times]:
        expected = 2 * expected + weight
    found = compute(lambda graph, x: graph.loop(n_times, x, step), X)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_picking_all_columns_in_order_adds_no_node():
    graph = Graph()
    X = graph.input("X", np.float64, ["n", 3])
    assert graph.pick(X, np.arange(3), 3) is X
    assert graph.pick(X, np.arange(2), 3) is not X


def test_a_model_that_is_too_large_is_refused():
    graph = Graph()
    graph.constant(np.ones(3))
    # A view of a single number, which takes no memory.
    large = np.broadcast_to(1.0, (2**14, 2**14))
    with pytest.raises(ArgumentError, match="larger than 2 GiB, the limit of the ONNX format"):
        graph.constant(large)


def test_without_onnx_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ArgumentError, match=r'needs onnx.*pip install "polytomy\[onnx\]"'):
        to_onnx(None)
