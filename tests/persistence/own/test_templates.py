"""Unfitted estimators as JSON."""

import json

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from polytomy.errors import ModelFileError
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberWriter
from polytomy.persistence.own.templates import check_step_names, read_template, write_template
from polytomy.persistence.own.vector_pools import SupportPools


@pytest.fixture
def writer():
    return EstimatorWriter(NumberWriter(), SupportPools([]))


def _read(written, skops_objects=()):
    return read_template(Fields(written, "it"), lambda fields: skops_objects[fields.raw("number")])


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(C=10, class_weight={-1: 2, 1: 1}),
        LogisticRegression(C=3),
        GaussianNB(),
        StandardScaler(with_mean=False),
        MinMaxScaler((-1, 2)),
        make_pipeline(MaxAbsScaler(), "passthrough", SVC()),
        make_pipeline(StandardScaler(), make_pipeline(MaxAbsScaler(), SVC(gamma=0.5))),
    ],
    ids=str,
)
def test_plain_estimators_read_back_with_their_parameters(estimator, writer):
    written = json.loads(json.dumps(write_template(estimator, writer)))
    assert repr(_read(written)) == repr(estimator)
    assert writer.skops_objects == []


@pytest.mark.parametrize(
    "estimator",
    [
        PolynomialFeatures(3),
        make_pipeline(StandardScaler(), PolynomialFeatures(3), SVC()),
        SVC(kernel=len),
        Pipeline([("svc", SVC())], verbose=True),
    ],
    ids=str,
)
def test_other_estimators_are_saved_with_skops_as_a_whole(estimator, writer):
    written = write_template(estimator, writer)
    assert writer.skops_objects == [estimator]
    assert _read(written, writer.skops_objects) is estimator


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"specification": "os.system"}, "it: .* another version of scikit-learn"),
        ({"specification": "svc C=-1"}, "it: .* another version of scikit-learn"),
        ({"scaler": "Pickle"}, "scaler of it is not one of StandardScaler, MinMaxScaler"),
        ({"scaler": "StandardScaler"}, "is not a dict of parameters of StandardScaler"),
        (
            {"scaler": "StandardScaler", "parameters": {"dict": [["with_mean", 3]]}},
            "is not a dict of parameters of StandardScaler",
        ),
        (
            {"scaler": "MinMaxScaler", "parameters": {"dict": [["feature_range", {"tuple": [0]}]]}},
            "is not a dict of parameters of MinMaxScaler",
        ),
        ({"pipeline": []}, "pipeline of it is not a list of steps with different names"),
        ({"pipeline": [["a", None], ["a", None]]}, "is not a list of steps with different names"),
        ({"pipeline": [["a"]]}, "pipeline of it is not a list of steps"),
        ({"pipeline": [["a", 3]]}, "a step of it is not an object"),
        ({"number": 0}, "it is not a scikit-learn estimator"),
    ],
)
def test_templates_that_are_none_are_refused(written, words):
    with pytest.raises(ModelFileError, match=words):
        _read(written, ["text"])


def test_pipelines_nested_without_end_are_refused():
    written = {"specification": "svc"}
    for _ in range(11):
        written = {"pipeline": [["a", written]]}
    with pytest.raises(ModelFileError, match="is nested too deeply"):
        _read(written)


@pytest.mark.parametrize("names", [[], ["a", "a"], ["a__b"], ["steps"], ["memory"], ["verbose"]])
def test_names_that_a_pipeline_cannot_have_are_refused(names):
    with pytest.raises(ModelFileError, match="names of it is not a list of steps with different"):
        check_step_names(names, Fields({}, "it"), "names")
    check_step_names(["a", "b"], Fields({}, "it"), "names")
