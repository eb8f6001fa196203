"""ONNX models run by onnxruntime."""

import pytest


def run_model(model, X):
    """Return the outputs of a model by name; skip the test if onnxruntime is not installed."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    outputs = session.run(None, {session.get_inputs()[0].name: X})
    # Runtimes allocate outputs of the declared shape, so it must be right.
    for output, described in zip(outputs, session.get_outputs(), strict=True):
        lengths = [each for each in described.shape if isinstance(each, int)]
        assert list(output.shape[-len(lengths) :] if lengths else ()) == lengths
        assert output.ndim == len(described.shape)
    return dict(zip(names, outputs, strict=True))
