"""Classifiers made of border samples."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from polytomy import parse
from polytomy.learners.borders import BorderMachine
from polytomy.persistence.libagf_files import NamedModel, compose_models

MACHINE = BorderMachine(np.array([[1.0]]), np.array([[0.5]]))
X = np.array([[-3.0], [1.0], [2.0]])


def compose(text, scaler=None):
    scheme = parse(text)
    models = {partition.binary: NamedModel("m", MACHINE) for partition in scheme.partitions}
    return compose_models(scheme, models, scaler, None, "m")


def test_the_answer_of_border_samples_is_the_tangent_of_their_value():
    (partition,) = parse("m {0 1}").partitions
    binary = NamedModel("m", MACHINE).make_binary(partition, 1)
    np.testing.assert_allclose(binary.decisions(X), np.tanh(0.5 * (X[:, 0] - 1)), atol=1e-15)


def test_labels_are_text_if_some_are_text():
    classifier = compose("m {b 1}").with_solver("greedy")
    assert classifier.classes_.tolist() == ["1", "b"]
    # The +1 side is the class 1, which comes first in the order of labels.
    assert classifier.predict(X).tolist() == ["b", "b", "1"]


def test_a_scaler_comes_before_the_classifier():
    scaler = StandardScaler().fit([[0.0], [4.0]])
    bare, scaled = compose("m {0 1}"), compose("m {0 1}", scaler)
    np.testing.assert_array_equal(scaled.predict_proba(X), bare.predict_proba((X - 2.0) / 2.0))
