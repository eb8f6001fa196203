"""Parameters are checked before anything is trained."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from polytomy import PolytomyClassifier, SchemeSearchCV
from polytomy.errors import ArgumentError

X, Y = np.arange(12.0)[:, np.newaxis], np.repeat([0, 1, 2], 4)


class NeverFitted(ClassifierMixin, BaseEstimator):
    """Fails the test if it is trained."""

    def fit(self, X, y):
        raise AssertionError("trained before the parameters were checked")

    def predict(self, X):
        return np.zeros(len(X))


BAD = [
    ("solver", "lsq", "got 'lsq'. Did you mean \"least-squares\"?"),
    ("solver", 3, "a function of (scheme, decisions); got 3."),
    ("prediction_dtype", "float16", 'must be "float64" or "float32"; got \'float16\'.'),
    ("prediction_dtype", np.int32, 'must be "float64" or "float32"; got'),
    ("verbose", "loud", "must be a non-negative integer; got 'loud'."),
    ("verbose", -1, "got -1."),
    ("n_jobs", "two", "must be an integer other than 0 or None; got 'two'."),
    ("n_jobs", 0, "got 0."),
    ("n_jobs", 1.5, "got 1.5."),
    ("memory_budget", -1, "must be a non-negative number of bytes or None; got -1."),
    ("memory_budget", True, "got True."),
    ("random_state", -3, "got -3."),
    ("random_state", "seed", "got 'seed'."),
    ("class_weight", "balance", 'Did you mean "balanced"?'),
    ("class_weight", [1, 2, 3], "got [1, 2, 3]."),
    ("class_weight", True, "got True."),
    ("models", [1], "must be a dict of names and estimators or None; got [1]."),
    ("cv", 1, "1"),
    ("cv", "five", "five"),
    ("calibration", "platt", "platt"),
    ("calibration", 3, "3"),
]


@pytest.mark.parametrize(("name", "value", "words"), BAD)
def test_a_bad_parameter_is_refused_before_the_first_fit(name, value, words):
    classifier = PolytomyClassifier(NeverFitted(), **{name: value})
    with pytest.raises(ArgumentError) as caught:
        classifier.fit(X, Y)
    assert caught.value.parameter == name
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("cv", 1, "1"),
        ("budget", -1, "must be a non-negative number of seconds or None; got -1."),
        ("refit", "yes", "must be True or False; got 'yes'."),
        ("verbose", "loud", "got 'loud'."),
        ("n_jobs", "two", "got 'two'."),
        ("scoring", "f1", "got 'f1'."),
        ("scoring", "logloss", 'Did you mean "log_loss"?'),
        ("candidates", 3, "got 3."),
    ],
)
def test_a_bad_parameter_of_a_search_is_refused_before_the_first_fit(name, value, words):
    search = SchemeSearchCV(NeverFitted(), **{name: value})
    with pytest.raises(ArgumentError) as caught:
        search.fit(X, Y)
    assert caught.value.parameter == name
    assert words in str(caught.value)


def test_the_parameters_of_a_classifier_in_a_search_are_checked_too():
    search = SchemeSearchCV(PolytomyClassifier(NeverFitted(), memory_budget=-1), ["tree"])
    with pytest.raises(ArgumentError, match="memory_budget must be"):
        search.fit(X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {"verbose": False},
        {"prediction_dtype": np.float32},
        {"prediction_dtype": np.dtype("float64")},
        {"memory_budget": np.float64(1e6)},
        {"n_jobs": np.int64(-1)},
        {"random_state": np.random.RandomState(0)},
        {"random_state": np.int64(3)},
    ],
)
def test_values_of_numpy_and_scikit_learn_are_allowed(options):
    classifier = PolytomyClassifier("logistic-regression", **options).fit(X, Y)
    assert classifier.score(X, Y) > 0.5


def test_only_estimator_and_scheme_are_positional():
    with pytest.raises(TypeError, match="positional"):
        PolytomyClassifier(None, "tree", "greedy")
    with pytest.raises(TypeError, match="positional"):
        SchemeSearchCV(None, ["tree"], "accuracy")
