"""Machines answer the same in onnxruntime, or say why they cannot be exported."""

import numpy as np
import pytest
from sklearn.svm import SVC

import polytomy as pt
from onnx_sessions import run_model

pytest.importorskip("onnxruntime")


def beside_a_constant(constant, scale):
    """Three classes in two features of this scale, and a feature that is the same everywhere."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 8)
    X = scale * (rng.normal(size=(24, 2)) + y[:, np.newaxis])
    return np.column_stack([X, np.full(24, constant)]), y


@pytest.mark.filterwarnings("ignore:.*stopped early")
@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0])
@pytest.mark.parametrize("constant", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("degree", [2, 4])
def test_polynomials_of_a_constant_feature_are_exported_exactly_or_not_at_all(
    degree, constant, scale
):
    X, y = beside_a_constant(constant, scale)
    machine = SVC(kernel="poly", degree=degree, gamma="auto", max_iter=20_000)
    classifier = pt.PolytomyClassifier(machine, "one-vs-one", final_calibration=None).fit(X, y)
    try:
        model = pt.to_onnx(classifier, dtype="float64")
    except pt.ArgumentError:
        assert constant > 1.0
        with pytest.raises(pt.ArgumentError, match="rounding changes them"):
            pt.to_onnx(classifier, dtype="float64")
        return
    found = run_model(model, X)["probabilities"]
    np.testing.assert_allclose(found, classifier.predict_proba(X), rtol=0, atol=1e-6)
