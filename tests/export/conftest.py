"""Graphs that are run by onnxruntime."""

import pytest


@pytest.fixture(scope="session")
def run():
    """Return a function that runs a model on samples and returns its outputs by name."""
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")

    def run_model(model, X):
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        outputs = session.run(None, {session.get_inputs()[0].name: X})
        # What a model says of its outputs is what runtimes make room for.
        for output, described in zip(outputs, session.get_outputs(), strict=True):
            lengths = [each for each in described.shape if isinstance(each, int)]
            assert list(output.shape[-len(lengths) :] if lengths else ()) == lengths
            assert output.ndim == len(described.shape)
        return dict(zip(names, outputs, strict=True))

    return run_model


@pytest.fixture(scope="session")
def compute(run):
    """Return a function that writes a formula down, runs it on an array and returns the result."""
    from polytomy.export.graph import Graph

    def run_formula(formula, array):
        graph = Graph()
        result = formula(graph, graph.input("X", array.dtype, ["n", *array.shape[1:]]))
        # The shape is found out by onnx, which checks it.
        graph.output("Y", result, "float64", ["n", None])
        return run(graph.to_model("formula", {}), array)["Y"]

    return run_formula
