"""Graphs that are run by onnxruntime."""

import pytest

from onnx_sessions import run_model


@pytest.fixture(scope="session")
def run():
    """Return a function that runs a model on samples and returns its outputs by name."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    return run_model


@pytest.fixture(scope="session")
def compute(run):
    """Return a function that runs a formula as a graph on an array and returns the result."""
    from polytomy.onnx_graph import Graph

    def run_formula(formula, array):
        graph = Graph()
        result = formula(graph, graph.input("X", array.dtype, ["n", *array.shape[1:]]))
        # onnx infers the shape and checks it.
        graph.output("Y", result, "float64", ["n", None])
        return run(graph.to_model("formula", {}), array)["Y"]

    return run_formula
