"""Fitted estimators written as JSON and arrays, or left to skops."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

from persistence.own.round_trips import X, Y
from polytomy.learners.borders import BorderMachine
from polytomy.persistence.own.estimator_writer import (
    EstimatorWriter,
    changed_parameters,
    machines_in,
)
from polytomy.persistence.own.number_arrays import NumberWriter
from polytomy.persistence.own.vector_pools import SupportPools

TARGET = np.where(Y == 0, -1, 1)


def _write(estimator):
    writer = EstimatorWriter(NumberWriter(), SupportPools(machines_in([estimator])))
    return writer.write(estimator), writer.skops_objects


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (SVC(), "machine"),
        (LinearSVC(), "linear"),
        (LogisticRegression(), "linear"),
        (StandardScaler(), "scaler"),
        (make_pipeline(StandardScaler(), SVC()), "pipeline"),
        (make_pipeline(StandardScaler(), make_pipeline(MaxAbsScaler(), LinearSVC())), "pipeline"),
    ],
)
def test_plain_estimators_are_written_by_kind(estimator, kind):
    written, skops_objects = _write(estimator.fit(X, TARGET))
    assert written["kind"] == kind
    assert skops_objects == []


def test_border_classifiers_are_written_as_two_arrays():
    written, _ = _write(BorderMachine(np.ones((2, 3)), np.zeros((2, 3))))
    assert written["kind"] == "borders"
    assert written["borders"]["shape"] == written["gradients"]["shape"] == [2, 3]


def _nested(n_levels):
    pipeline = make_pipeline(LinearSVC())
    for _ in range(n_levels - 1):
        pipeline = make_pipeline(pipeline)
    return pipeline


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        SGDClassifier(average=True),
        LogisticRegression(random_state=np.random.RandomState(0)),
        make_pipeline(PolynomialFeatures(), LinearSVC()),
        Pipeline([("svc", LinearSVC())], verbose=True),
        _nested(11),
    ],
    ids=lambda each: type(each).__name__,
)
def test_other_estimators_are_left_to_skops(estimator):
    estimator.fit(X, TARGET)
    written, skops_objects = _write(estimator)
    assert written == {"kind": "other", "number": 0}
    assert len(skops_objects) == 1
    assert skops_objects[0] is estimator


def test_a_seed_is_not_part_of_the_specification():
    estimator = SGDClassifier(alpha=0.5, random_state=7).fit(X, TARGET)
    written, _ = _write(estimator)
    assert (written["specification"], written["random_state"]) == ("sgd-classifier alpha=0.5", 7)
    assert estimator.random_state == 7


def test_machines_are_found_at_the_ends_of_pipelines():
    machine = SVC().fit(X, TARGET)
    outer = Pipeline([("a", StandardScaler()), ("b", Pipeline([("c", machine)]))])
    assert machines_in([LinearSVC(), outer]) == [machine]


def test_only_parameters_that_differ_from_the_defaults_are_listed():
    assert changed_parameters(MinMaxScaler((0, 2), clip=True)) == {
        "feature_range": (0, 2),
        "clip": True,
    }
    assert changed_parameters(make_pipeline(SVC())).keys() == {"steps"}
