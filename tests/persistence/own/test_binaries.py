"""Trained binaries and their calibrators in saved models."""

import dataclasses
import io
import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from persistence.own.round_trips import LABELS, X, Y, assert_same_after_reload, reload
from persistence.own.saved_archives import array_to_bytes, pack, unpack
from polytomy import PolytomyClassifier
from polytomy.calibration import SigmoidCalibrator, TemperatureCalibrator, UncalibratedMap
from polytomy.errors import CalibrationWarning
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.persistence.own.binaries import logistic_calibrator, read_binary, write_binary
from polytomy.persistence.own.fields import Fields


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature", None])
def test_calibrators_answer_the_same(calibration, tmp_path):
    classifier = PolytomyClassifier(LinearSVC(), calibration=calibration, random_state=0)
    assert_same_after_reload(classifier.fit(X, LABELS), tmp_path)


@pytest.mark.parametrize(
    "calibration", [LogisticRegression(), IsotonicRegression(out_of_bounds="clip")], ids=str
)
def test_calibrators_of_users_answer_the_same(calibration, tmp_path):
    pytest.importorskip("skops")
    classifier = PolytomyClassifier(SVC(), calibration=calibration, random_state=0)
    again = reload(classifier.fit(X, Y), tmp_path)
    np.testing.assert_array_equal(again.decisions(X), classifier.decisions(X))


def test_what_is_known_about_the_training_is_kept(tmp_path):
    # A single sample of a class cannot be divided into folds.
    rows = np.concatenate([np.arange(51), np.arange(100, 150)])
    classifier = PolytomyClassifier(
        LinearSVC(), "one-vs-rest", final_calibration=None, random_state=0
    )
    with pytest.warns(CalibrationWarning, match="calibrat"):
        classifier.fit(X[rows], Y[rows])
    again = reload(classifier, tmp_path)
    assert any(binary.shortcoming for binary in again.binaries_)
    for first, second in zip(classifier.binaries_, again.binaries_, strict=True):
        assert (second.shortcoming, second.seconds) == (first.shortcoming, first.seconds)


def test_a_constant_binary_keeps_its_answer_and_its_seconds():
    binary = TrainedBinary(
        "a", Output.CONSTANT, constant=-0.25, shortcoming="it has one side", seconds=1.5
    )
    written = json.loads(json.dumps(write_binary(binary, None, None)))
    again = read_binary(Fields(written, "binary a"), None, None)
    assert dataclasses.asdict(again) == dataclasses.asdict(binary)


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("none", UncalibratedMap),
        ("sigmoid", SigmoidCalibrator),
        ("temperature", TemperatureCalibrator),
    ],
)
def test_a_logistic_calibrator_has_its_slope_and_intercept(kind, type_):
    slope, intercept = (1.0, 0.0) if kind == "none" else (2.0, -0.5)
    calibrator = logistic_calibrator(kind, slope, intercept)
    assert type(calibrator) is type_
    expected = 1 / (1 + np.exp(-slope * 1.5 - intercept))
    np.testing.assert_allclose(calibrator.predict(np.array([1.5])), [expected], rtol=1e-15)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("output",), "pickle", "is not one of probability, log-odds"),
        (("output",), "probability", "estimator of .* is not an estimator with predict_proba"),
        (("classes", "values"), [1], "is not two labels"),
        (("positive_index",), 2, "is not an integer from 0 to 1"),
        (("seconds",), "long", "seconds of .* is not a finite number"),
        (("calibrator",), None, "calibrator of .* is not a map of a margin to probabilities"),
        (("calibrator", "kind"), "magic", "is not one of none, sigmoid"),
        (("calibrator", "slope"), "1", "slope of .* is not a finite number"),
        (("calibrator",), {"kind": "provided", "number": 0}, "is not an integer from 0 to -1"),
        ((), {"name": "a", "output": "constant", "constant": 2}, "is not from -1 to 1"),
        (("columns",), {"start": 0, "shape": [3]}, "is not that of the binary a"),
    ],
)
def test_each_field_is_checked(svm_model, path, value, words, assert_field_is_checked):
    assert_field_is_checked(svm_model, ("binaries", 0, *path), value, words)


@pytest.mark.parametrize(
    ("path", "value"), [(("knots", "shape"), [1]), (("probabilities", "start"), 0)]
)
def test_an_isotonic_calibrator_is_a_map_to_probabilities(
    scaled_model, path, value, assert_field_is_checked
):
    # The first floats of the file are means of features, above one.
    where = ("binaries", 0, "calibrator", *path)
    assert_field_is_checked(scaled_model, where, value, "is not a map to probabilities")


@pytest.mark.parametrize("column", [30, 2**31 - 1])
def test_columns_of_a_precomputed_kernel_lie_within_the_features(column, save_to_bytes, refusal):
    pytest.importorskip("skops")
    kernel = X[::5] @ X[::5].T
    classifier = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(kernel, Y[::5])
    description, members = unpack(save_to_bytes(classifier))
    integers = np.load(io.BytesIO(members["integers.npy"])).astype(np.int64)
    integers[description["binaries"][0]["columns"]["start"]] = column
    changed = pack(description, {**members, "integers.npy": array_to_bytes(integers)})
    assert refusal(changed) == "n_features of the model is not that of the binary one-vs-one-00"
