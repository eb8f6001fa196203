"""Scalers as range files of svm-scale."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.persistence import load, write_libsvm


def _scaled_by_svm_scale(text, X):
    """Scale as svm-scale.c does: ranges are mapped on [lower, upper], feature by feature."""
    head, bounds, *rows = text.splitlines()
    assert head == "x"
    lower, upper = map(float, bounds.split())
    scaled = np.empty_like(X)
    assert [int(row.split()[0]) for row in rows] == list(range(1, X.shape[1] + 1))
    for column, row in enumerate(rows):
        low, high = map(float, row.split()[1:])
        scaled[:, column] = lower + (upper - lower) * (X[:, column] - low) / (high - low)
    return scaled


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler(),
        MinMaxScaler((2, 5)),
        MaxAbsScaler(),
        make_pipeline(MaxAbsScaler(), StandardScaler()),
    ],
)
def test_svm_scale_scales_as_the_scaler_does(scaler, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((len(X), 1), 3.0)])  # a feature that never changes
    classifier = PolytomyClassifier(
        SVC(gamma=0.2), solver="libsvm", final_calibration=None, random_state=0
    )
    steps = [step for _, step in scaler.steps] if isinstance(scaler, Pipeline) else [scaler]
    pipeline = make_pipeline(*steps, classifier).fit(X, y)
    write_libsvm(pipeline, tmp_path / "m.model", range_file=tmp_path / "m.range")
    samples = X + np.arange(5)
    scaled = _scaled_by_svm_scale((tmp_path / "m.range").read_text(), samples)
    np.testing.assert_allclose(scaled, pipeline[:-1].transform(samples), rtol=0, atol=1e-12)
    answers = load(tmp_path / "m.model", n_features=5).predict_proba(scaled)
    np.testing.assert_allclose(answers, pipeline.predict_proba(samples), rtol=0, atol=1e-10)
