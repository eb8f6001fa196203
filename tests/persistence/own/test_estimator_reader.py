"""Fitted estimators read from JSON and arrays."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from persistence.own.round_trips import LABELS, TREE, X, Y, assert_same_after_reload
from persistence.own.saved_archives import array_to_bytes, pack, unpack
from polytomy import PolytomyClassifier
from polytomy.learners.borders import BorderMachine
from polytomy.persistence.own.estimator_reader import EstimatorReader, features_of
from polytomy.persistence.own.estimator_writer import EstimatorWriter, machines_in
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.persistence.own.vector_pools import SupportPools

PLAIN = [
    SVC(),
    SVC(C=10, kernel="poly", degree=2, coef0=1),
    SVC(kernel="sigmoid", gamma=0.01, class_weight="balanced"),
    NuSVC(nu=0.2),
    SVC(kernel="linear"),
    LinearSVC(C=0.5),
    LogisticRegression(C=3),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    RidgeClassifier(alpha=2.0),
    Perceptron(),
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(MinMaxScaler((0, 2)), LinearSVC()),
    make_pipeline(MaxAbsScaler(), "passthrough", LogisticRegression()),
    make_pipeline("passthrough", StandardScaler(), "passthrough", LinearSVC()),
    make_pipeline(StandardScaler(with_mean=False, with_std=False), RidgeClassifier()),
    make_pipeline(StandardScaler(), make_pipeline(MaxAbsScaler(), SVC(gamma=0.3))),
    make_pipeline(make_pipeline(StandardScaler()), MinMaxScaler(), LogisticRegression()),
]


def _written_and_read(estimator):
    numbers = NumberWriter()
    pools = SupportPools(machines_in([estimator]))
    writer = EstimatorWriter(numbers, pools)
    written = writer.write(estimator)
    matrices = [numbers.matrix(each) for each in pools.matrices]
    reader = NumberReader(numbers.all_floats(), numbers.all_integers())
    vectors = [reader.matrix(Fields(each, "a pool")) for each in matrices]
    return EstimatorReader(reader, vectors, writer.skops_objects).read(Fields(written, "it"))


@pytest.mark.parametrize("estimator", PLAIN, ids=str)
@pytest.mark.parametrize("labels", [np.where(Y == 1, 1, -1), np.where(Y == 1, "yes", "no")])
def test_what_was_written_predicts_the_same(estimator, labels):
    estimator.fit(X, labels)
    again = _written_and_read(estimator)
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    np.testing.assert_array_equal(again.decision_function(X), estimator.decision_function(X))
    assert again.classes_.dtype == estimator.classes_.dtype
    assert features_of(again) == features_of(estimator) == 4
    assert repr(again) == repr(estimator)


@pytest.mark.parametrize("estimator", PLAIN, ids=str)
def test_classifiers_of_plain_estimators_answer_the_same(estimator, tmp_path):
    classifier = PolytomyClassifier(estimator, TREE, random_state=0).fit(X, LABELS)
    again = assert_same_after_reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_names_of_features_are_kept():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    again = _written_and_read(StandardScaler().fit(frame))
    assert again.get_feature_names_out().tolist() == ["a", "b", "c", "d"]


def test_border_classifiers_answer_the_same():
    random = np.random.default_rng(0)
    machine = BorderMachine(*random.normal(size=(2, 5, 4)))
    again = _written_and_read(machine)
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


def test_the_number_of_features_is_that_of_the_first_step():
    scaler = StandardScaler().fit(X)
    assert features_of(scaler) == 4
    assert features_of(make_pipeline("passthrough", scaler, SVC())) == 4
    assert features_of(make_pipeline("passthrough")) is None
    assert features_of(None) is None


_MACHINE = ("binaries", 0, "estimator")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ((*_MACHINE, "kind"), "code", "is not one of machine, borders, linear"),
        ((*_MACHINE, "kernel"), ["rbf", "1", 0, 0], "is not a kernel with its gamma, degree"),
        ((*_MACHINE, "kernel"), ["rbf", 10**400, 0, 0], "is not a kernel with its gamma, degree"),
        ((*_MACHINE, "kernel"), ["cosine", 1.0, 0, 0.0], 'kind="cosine" is '),
        ((*_MACHINE, "kernel"), ["poly", 1.0, 2**31 - 1, 0.0], "degree=2147483647 is not a degree"),
        ((*_MACHINE, "kernel"), ["poly", 1.0, -1, 0.0], "degree=-1 is not a degree from 0 to 1000"),
        ((*_MACHINE, "kernel"), ["linear", 0, 0, 0.0], "a support vector machine with this kernel"),
        ((*_MACHINE, "pool"), 7, "pool of .* is not an integer from 0 to"),
        ((*_MACHINE, "rows", "shape"), [1], "is not as long as its rows"),
        ((*_MACHINE, "rows", "shape"), [1, 1], "is not one-dimensional"),
        ((*_MACHINE, "intercept"), None, "intercept of .* is not a finite number"),
        ((*_MACHINE, "specification"), "linear-svc", "is not one of SVC, NuSVC"),
        (
            (*_MACHINE, "specification"),
            "svc kernel=poly",
            "support vector machine with this kernel",
        ),
        ((*_MACHINE, "specification"), "svc probability=True", "vector machine with this kernel"),
        ((*_MACHINE, "specification"), "svc degree=10000000000", "vector machine with this kernel"),
        ((*_MACHINE, "classes", "values"), [0, 1, 2], "is not two labels"),
        ((*_MACHINE, "random_state"), -1, "random_state of .* is not an integer from 0 to 42949"),
        ((*_MACHINE, "feature_names"), ["a"], "feature_names of .* is not 4 names"),
        (_MACHINE, {"kind": "borders", "borders": {"start": 0, "shape": [0, 4]}}, "gradients of"),
        (_MACHINE, {"kind": "other", "number": 0}, "number of .* is not an integer from 0 to -1"),
    ],
)
def test_each_field_of_a_machine_is_checked(svm_model, path, value, words, assert_field_is_checked):
    assert_field_is_checked(svm_model, path, value, words)


_STEPS = ("binaries", 0, "estimator", "steps")
_SCALER = (*_STEPS, 0, "step")
_LINEAR = (*_STEPS, 1, "step")
_DEEP = {"kind": "pipeline", "steps": [{"name": "a", "step": {"kind": "linear"}}]}
for _ in range(10):
    _DEEP = {"kind": "pipeline", "steps": [{"name": "a", "step": _DEEP}]}


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ((*_SCALER, "type"), "Pickle", "is not one of StandardScaler"),
        ((*_SCALER, "parameters"), {"dict": [["a", 1]]}, "parameters of StandardScaler"),
        ((*_SCALER, "parameters"), {"dict": [["copy", "x"]]}, "parameters of StandardScaler"),
        ((*_SCALER, "n_features"), 3, "mean_ of .* is not of 3 features"),
        ((*_SCALER, "arrays"), {}, "mean_ of .* is missing"),
        ((*_SCALER, "arrays", "scale_"), None, "scale_ of .* is missing"),
        ((*_SCALER, "n_samples"), "many", "n_samples of .* is not a finite number"),
        ((*_LINEAR, "coefficients", "shape"), [1, 3], "for one number of features"),
        ((*_LINEAR, "coefficients", "shape"), [4, 1], "coefficients of .* is not a row"),
        ((*_LINEAR, "coefficients", "shape"), [], "coefficients of .* is not a row"),
        ((*_LINEAR, "intercept", "shape"), [0], "intercept of .* is not one number"),
        ((*_LINEAR, "specification"), "svc", "is not one of LogisticRegression"),
        ((*_STEPS, 1, "name"), "standardscaler", "is not a list of steps with different names"),
        ((*_STEPS, 1, "name"), "a__b", "is not a list of steps with different names"),
        ((*_STEPS, 1, "name"), "memory", "is not a list of steps with different names"),
        (_STEPS, [], "is not a list of steps"),
        (("binaries", 0, "estimator"), _DEEP, "is nested too deeply"),
        (_SCALER, {"kind": "other", "number": 0}, "kind of .* is not one of machine"),
    ],
)
def test_each_field_of_a_pipeline_is_checked(
    scaled_model, path, value, words, assert_field_is_checked
):
    assert_field_is_checked(scaled_model, path, value, words)


def test_a_classifier_cannot_stand_before_the_last_step(scaled_model, refusal):
    description, members = unpack(scaled_model)
    steps = description["binaries"][0]["estimator"]["steps"]
    steps[0]["step"] = steps[1]["step"]
    words = "is not a list of scalers that ends in a classifier"
    assert words in refusal(pack(description, members))


def test_labels_that_a_ridge_classifier_cannot_have_are_refused(save_to_bytes, refusal):
    description, members = unpack(save_to_bytes(PolytomyClassifier(RidgeClassifier()).fit(X, Y)))
    description["binaries"][0]["estimator"]["classes"]["type"] = "|O"
    words = "is not labels of a RidgeClassifier"
    assert words in refusal(pack(description, members))


def test_a_scaler_that_divides_by_zero_is_refused(piped_model, refusal):
    description, members = unpack(piped_model)
    start = description["pipeline"]["steps"][0]["arrays"]["scale_"]["start"]
    floats = np.load(io.BytesIO(members["floats.npy"]))
    floats[start] = 0.0
    words = refusal(pack(description, {**members, "floats.npy": array_to_bytes(floats)}))
    assert words == "scale_ of arrays of a step of the pipeline is not free of zeros"
