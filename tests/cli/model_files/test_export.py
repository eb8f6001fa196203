"""The command export."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import polytomy as pt


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """Return samples of three classes, in a directory with models trained on them."""
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 2 * y[:, np.newaxis]
    pt.save(pt.PolytomyClassifier(SVC(), random_state=0).fit(X, y), "m.polytomy")
    pt.save(
        pt.PolytomyClassifier(LogisticRegression(), solver="divergence").fit(X, y), "d.polytomy"
    )
    return X


def run_onnx(path, X):
    """Return the probabilities that onnxruntime computes with a model file."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["probabilities"], {"X": X})[0]


def test_the_exported_model_gives_the_same_probabilities(polytomy, samples):
    outcome = polytomy("export", "m.polytomy", "-o", "m.onnx")
    n_bytes = Path("m.onnx").stat().st_size
    assert outcome == (
        0,
        f"m.onnx: {n_bytes} bytes; input X of 2 features in float32, "
        "outputs label and probabilities\n",
        "",
    )
    expected = pt.load("m.polytomy").predict_proba(samples)
    np.testing.assert_allclose(run_onnx("m.onnx", samples.astype("f")), expected, atol=1e-5)


def test_the_summary_can_be_json(polytomy, samples):
    line = "export m.polytomy --dtype float64 -o model.onnx --json"
    assert json.loads(polytomy(*line.split()).out) == {
        "file": "model.onnx",
        "bytes": Path("model.onnx").stat().st_size,
        "input": "X",
        "type": "float64",
        "features": 2,
        "outputs": ["label", "probabilities"],
    }
    expected = pt.load("m.polytomy").predict_proba(samples)
    np.testing.assert_allclose(run_onnx("model.onnx", samples), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("m.polytomy -o m.bin", "m.bin: the name must end in .onnx"),
        ("m.polytomy -o no/m.onnx", "no does not exist"),
        ("d.polytomy -o m.onnx", "solver divergence cannot be exported"),
        ("m.polytomy -o m.onnx --dtype half", "--dtype"),
    ],
)
def test_a_failure_writes_nothing(polytomy, samples, line, words):
    outcome = polytomy("export", *line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert sorted(path.name for path in Path().iterdir()) == ["d.polytomy", "m.polytomy"]
