"""The command `polytomy export`."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from typer.testing import CliRunner

import polytomy as pt
from onnx_sessions import run_model
from polytomy.cli import exporting
from polytomy.errors import ArgumentError

onnx = pytest.importorskip("onnx")


@pytest.fixture
def export(tmp_path, monkeypatch):
    """Return a function that runs the command in a folder with a model of three classes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 2 * y[:, np.newaxis]
    pt.save(pt.PolytomyClassifier(SVC(), random_state=0).fit(X, y), "m.polytomy")
    pt.save(
        pt.PolytomyClassifier(LogisticRegression(), solver="divergence").fit(X, y), "d.polytomy"
    )
    app = typer.Typer()
    exporting.register(app)

    def call(*arguments):
        return CliRunner().invoke(app, list(arguments), catch_exceptions=True)

    call.samples = X
    return call


def test_the_file_is_the_model(export):
    outcome = export("m.polytomy", "-o", "m.onnx")
    assert outcome.exit_code == 0
    n_bytes = Path("m.onnx").stat().st_size
    assert outcome.stdout == (
        f"m.onnx: {n_bytes} bytes; input X of 2 features in float32, "
        "outputs label and probabilities\n"
    )
    found = run_model(onnx.load("m.onnx"), export.samples.astype(np.float32))
    expected = pt.load("m.polytomy").predict_proba(export.samples)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


def test_the_summary_can_be_read_by_programs(export):
    outcome = export("m.polytomy", "--onnx", "--dtype", "float64", "-o", "model", "--json")
    assert json.loads(outcome.stdout) == {
        "file": "model",
        "bytes": Path("model").stat().st_size,
        "input": "X",
        "type": "float64",
        "features": 2,
        "outputs": ["label", "probabilities"],
    }
    found = run_model(onnx.load("model"), export.samples)
    expected = pt.load("m.polytomy").predict_proba(export.samples)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["m.polytomy", "-o", "m.bin"], "m.bin: the name must end in .onnx, or give --onnx"),
        (["d.polytomy", "-o", "m.onnx"], 'solver="divergence" cannot be exported'),
        (
            ["m.polytomy", "-o", "m.onnx", "--dtype", "half"],
            'dtype must be "float32" or "float64"; got "half"',
        ),
    ],
)
def test_a_failure_writes_nothing(export, arguments, words):
    outcome = export(*arguments)
    assert isinstance(outcome.exception, ArgumentError)
    assert words in str(outcome.exception)
    assert not Path(arguments[2]).exists()
