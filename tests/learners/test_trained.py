"""Trained binaries: what they answer, whatever the estimator offers, and adopted models."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.calibration.calibrators import IsotonicCalibrator, SigmoidCalibrator, UncalibratedMap
from polytomy.errors import ArgumentError, SchemeError
from polytomy.learners.trained import (
    Output,
    TrainedBinary,
    adopt_fitted,
    choose_output,
    decisions_from_scores,
    is_fitted,
    match_sides,
    without_calibration,
)

X = np.array([[-2.0], [-1.0], [0.5], [1.0], [3.0]])
ABOVE = np.array([False, False, True, True, True])


class Model:
    """A model that is not a scikit-learn estimator: a threshold at zero."""

    def __init__(self, labels=(-1, 1), classes=None):
        self.labels = labels
        if classes is not None:
            self.classes_ = classes

    def __repr__(self):
        return "Model()"

    def predict(self, X):
        return np.asarray(self.labels)[(X[:, 0] > 0).astype(int)]


class Margins(Model):
    def decision_function(self, X):
        return X[:, 0]


class TestTrainedBinary:
    def test_probabilities_are_answered_unchanged(self):
        model = LogisticRegression().fit(X, np.where(ABOVE, 1, -1))
        binary = TrainedBinary("p", Output.PROBABILITY, model)
        proba = model.predict_proba(X)
        np.testing.assert_allclose(binary.decisions(X), proba[:, 1] - proba[:, 0])

    def test_margins_are_answered_through_the_calibrator(self):
        sigmoid = SigmoidCalibrator().fit([-1, -1, 1, 1], [False, False, True, True])
        binary = TrainedBinary("p", Output.MARGIN, Margins(), sigmoid)
        # The slope is log 3, so that P = 3^x / (1 + 3^x).
        expected = 2 * 3 ** X[:, 0] / (1 + 3 ** X[:, 0]) - 1
        np.testing.assert_allclose(binary.decisions(X), expected)

    def test_log_odds_are_those_of_the_probabilities(self):
        model = LogisticRegression().fit(X, ABOVE)
        binary = TrainedBinary("p", Output.LOG_ODDS, model, UncalibratedMap(), (False, True))
        np.testing.assert_allclose(binary.scores(X), model.decision_function(X))
        np.testing.assert_allclose(binary.decisions(X), 2 * model.predict_proba(X)[:, 1] - 1)

    def test_log_odds_of_a_certain_model_are_finite(self):
        model = DummyClassifier(strategy="constant", constant=1).fit(X, [0, 0, 1, 1, 1])
        binary = TrainedBinary("p", Output.LOG_ODDS, model, UncalibratedMap(), (0, 1))
        np.testing.assert_allclose(binary.scores(X), logit(1 - 2.0**-52), rtol=1e-12)

    def test_labels_are_answered_as_certainties(self):
        binary = TrainedBinary("p", Output.LABEL, Model())
        np.testing.assert_array_equal(binary.decisions(X), [-1, -1, 1, 1, 1])

    def test_a_constant_answer_does_not_depend_on_the_sample(self):
        binary = TrainedBinary("p", Output.CONSTANT, constant=-1.0)
        np.testing.assert_array_equal(binary.decisions(X), [-1] * 5)
        np.testing.assert_array_equal(binary.decisions([[1], [2]]), [-1] * 2)

    @pytest.mark.parametrize("output", [Output.PROBABILITY, Output.LOG_ODDS, Output.MARGIN])
    def test_swapping_the_classes_changes_the_sign(self, output):
        model = LogisticRegression().fit(X, ABOVE)
        calibrator = None if output is Output.PROBABILITY else UncalibratedMap()
        one, other = (
            TrainedBinary("p", output, model, calibrator, (False, True), positive_index)
            for positive_index in (0, 1)
        )
        np.testing.assert_allclose(one.decisions(X), -other.decisions(X), atol=1e-15)

    def test_a_pickled_binary_gives_the_same_answers(self):
        model = SVC().fit(X, np.where(ABOVE, 1, -1))
        binary = TrainedBinary("p", Output.MARGIN, model, UncalibratedMap())
        again = pickle.loads(pickle.dumps(binary))
        np.testing.assert_array_equal(again.decisions(X), binary.decisions(X))

    def test_margins_may_be_a_column(self):
        class Column(Model):
            def decision_function(self, X):
                return X

        binary = TrainedBinary("p", Output.MARGIN, Column(), UncalibratedMap())
        np.testing.assert_allclose(binary.decisions(X), 2 * expit(X[:, 0]) - 1)

    def test_an_output_of_the_wrong_shape_is_refused(self):
        model = LogisticRegression().fit(X, [0, 0, 1, 1, 2])
        with pytest.raises(ArgumentError) as caught:
            TrainedBinary("p", Output.MARGIN, model, UncalibratedMap()).decisions(X)
        assert str(caught.value) == (
            'The decision_function of binary "p" returned an array of shape (5, 3); a two-class '
            "model returns one value for each sample."
        )
        with pytest.raises(ArgumentError) as caught:
            TrainedBinary("p", Output.PROBABILITY, model).decisions(X)
        assert str(caught.value) == (
            'The predict_proba of binary "p" returned an array of shape (5, 3); a two-class model '
            "returns two columns."
        )

    def test_a_prediction_that_is_neither_class_is_refused(self):
        binary = TrainedBinary("p", Output.LABEL, Model(labels=("x", "y")), classes=("a", "y"))
        with pytest.raises(ArgumentError) as caught:
            binary.decisions(X)
        assert str(caught.value) == (
            'Binary "p" predicts x, which is neither of its two classes, a y.'
        )


def test_calibrating_many_binaries_at_once_is_calibrating_each_alone():
    isotonic = IsotonicCalibrator().fit([-1, 0, 1, 2], [False, True, False, True])
    binaries = [
        TrainedBinary("a", Output.MARGIN, Margins(), UncalibratedMap()),
        TrainedBinary("b", Output.LABEL, Model()),
        TrainedBinary("c", Output.CONSTANT, constant=1.0),
        TrainedBinary("d", Output.MARGIN, Margins(), isotonic),
    ]
    scores = np.column_stack([binary.scores(X) for binary in binaries])
    before = scores.copy()
    np.testing.assert_array_equal(
        decisions_from_scores(binaries, scores),
        np.column_stack([binary.decisions(X) for binary in binaries]),
    )
    np.testing.assert_array_equal(scores, before)


class TestIsFitted:
    def test_an_estimator_is_fitted_after_its_fit(self):
        estimator = make_pipeline(StandardScaler(), SVC())
        assert not is_fitted(estimator)
        assert is_fitted(estimator.fit(X, ABOVE))
        assert not is_fitted(SVC)

    def test_a_model_that_cannot_be_cloned_counts_as_fitted(self):
        class Trainable(Model):
            def fit(self, X, y):
                self.classes_ = np.unique(y)

            def get_params(self, deep=True):
                return {}

        class Foreign(Model):
            def fit(self, X, y):
                raise AssertionError("a model that cannot be cloned must not be trained")

        assert is_fitted(Model())
        assert is_fitted(Foreign())
        model = Trainable()
        assert not is_fitted(model)
        model.fit(X, ABOVE)
        assert is_fitted(model)


def test_the_output_depends_on_the_estimator_and_on_the_calibration():
    estimators = LogisticRegression(), DummyClassifier(), RidgeClassifier(), Model()
    outputs = {
        calibration: [choose_output(each, calibration) for each in estimators]
        for calibration in ("auto", None, "sigmoid")
    }
    own = [Output.PROBABILITY, Output.PROBABILITY, Output.MARGIN, Output.LABEL]
    assert outputs["auto"] == outputs[None] == own
    assert outputs["sigmoid"] == [Output.MARGIN, Output.LOG_ODDS, Output.MARGIN, Output.LABEL]
    with pytest.raises(ArgumentError) as caught:
        choose_output(3, "auto")
    assert str(caught.value) == (
        "3 has no predict_proba, decision_function or predict, and needs one of them."
    )


class TestAdoptFitted:
    @pytest.mark.parametrize(
        ("labels", "negative", "positive"),
        [
            ((-1, 1), ["a", "b"], ["c"]),
            ((-1.0, 1.0), ["a"], ["c"]),
            ((0, 1), ["a"], ["b", "c"]),
            ((False, True), ["a"], ["b"]),
            (("a", "b"), ["a"], ["b"]),
            ((3, 7), [3], [7]),
            ((3, 7), ["3"], ["7"]),
            ((0, 1), [0], [1]),
        ],
    )
    def test_labels_in_the_order_of_the_sides_are_accepted(self, labels, negative, positive):
        model = LogisticRegression().fit(X, np.array(labels)[ABOVE.astype(int)])
        binary = adopt_fitted(model, negative, positive, name="m")
        assert binary.output is Output.PROBABILITY
        np.testing.assert_allclose(binary.decisions(X), 2 * model.predict_proba(X)[:, 1] - 1)

    @pytest.mark.parametrize("labels", [("a", "b"), (0, 1)])
    def test_labels_of_single_classes_tell_the_sides_in_either_order(self, labels):
        model = LogisticRegression().fit(X, np.array(labels)[ABOVE.astype(int)])
        turned = adopt_fitted(model, [labels[1]], [labels[0]], name="m")
        np.testing.assert_allclose(turned.decisions(X), 2 * model.predict_proba(X)[:, 0] - 1)

    def test_margins_go_through_the_logistic_function(self):
        model = SVC().fit(X, ABOVE)
        binary = adopt_fitted(model, ["a"], ["b"], name="m")
        assert binary.output is Output.MARGIN
        np.testing.assert_allclose(binary.decisions(X), 2 * expit(model.decision_function(X)) - 1)

    def test_a_model_that_only_predicts_answers_with_certainties(self):
        binary = adopt_fitted(Model(("a", "b"), ("a", "b")), ["b"], ["a"], name="m")
        np.testing.assert_array_equal(binary.decisions(X), [1, 1, -1, -1, -1])

    def test_a_model_without_classes_has_the_sides_minus_and_plus_one(self):
        binary = adopt_fitted(Margins(), ["a"], ["b", "c"], name="m")
        np.testing.assert_allclose(binary.decisions(X), 2 * expit(X[:, 0]) - 1)
        hard = adopt_fitted(Model(), ["a"], ["b", "c"], name="m")
        np.testing.assert_array_equal(hard.decisions(X), [-1, -1, 1, 1, 1])

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (SVC(), 'Model "m", SVC(), is not fitted. Fit it first.'),
            (
                Model(classes=("a", "b", "c")),
                'Model "m" has the classes a b c; a binary has exactly two.',
            ),
            (Model(classes=(1,)), 'Model "m" has the classes 1; a binary has exactly two.'),
            (
                Model(classes=("b", "c")),
                'Model "m" has the classes b c, which are not the sides of its partition, '
                "a / c d. Fit it on -1 and 1, or on 0 and 1.",
            ),
            (
                Model(classes=(1, 2)),
                'Model "m" has the classes 1 2, which are not the sides of its partition, '
                "a / c d. Fit it on -1 and 1, or on 0 and 1.",
            ),
        ],
    )
    def test_a_model_without_the_sides_of_its_partition_is_refused(self, model, words):
        with pytest.raises(SchemeError) as caught:
            adopt_fitted(model, ["a"], ["c", "d"], name="m")
        assert str(caught.value) == words


@pytest.mark.parametrize(
    ("classes", "negative", "positive", "expected"),
    [
        (["a", "b"], ["a"], ["b"], (("a", "b"), 1)),
        (["a", "b"], ["b"], ["a"], (("a", "b"), 0)),
        ([0, 1], [1], [0], ((0, 1), 0)),
        ([0, 1], ["a"], ["b"], ((0, 1), 1)),
        ([False, True], [1], [0], ((False, True), 1)),
        ([3.0, 7.0], ["7"], ["3"], None),
        ([3, 7], ["7"], ["3"], ((3, 7), 0)),
    ],
)
def test_sides_match_by_value_then_as_text(classes, negative, positive, expected):
    model = Model(classes=np.array(classes))
    if expected is None:
        with pytest.raises(SchemeError, match="which are not the sides of its partition, 7 / 3"):
            match_sides(model, negative, positive, "m")
    else:
        assert match_sides(model, negative, positive, "m") == expected


def test_a_binary_without_calibration_forgets_its_calibrator():
    sigmoid = SigmoidCalibrator().fit([-1, -1, 1, 1], [False, False, True, True])
    margins = without_calibration(TrainedBinary("p", Output.MARGIN, Margins(), sigmoid))
    np.testing.assert_allclose(margins.decisions(X), 2 * expit(X[:, 0]) - 1)
    labels = without_calibration(TrainedBinary("p", Output.LABEL, Model(), sigmoid))
    np.testing.assert_array_equal(labels.decisions(X), [-1, -1, 1, 1, 1])
