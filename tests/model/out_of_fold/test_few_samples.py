"""A handful of samples of each class: the final calibration must not harm what it cannot judge."""

import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt

N_CLASSES = 5


def ring(n_of_class, seed, radius):
    """Samples of classes whose centres lie on a circle."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(N_CLASSES) / N_CLASSES
    y = np.repeat(np.arange(N_CLASSES), n_of_class)
    centres = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return centres[y] + rng.normal(size=(len(y), 2)), y


def fit(estimator, scheme, samples, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.CalibrationWarning)
        return pt.PolytomyClassifier(estimator, scheme, random_state=0, **options).fit(*samples)


@pytest.mark.parametrize("n_of_class", [1, 2, 3, 5])
@pytest.mark.parametrize("scheme", ["one-vs-one", "adjacent", "orthogonal"])
@pytest.mark.parametrize(
    "estimator",
    [SVC(), DecisionTreeClassifier(random_state=0), GaussianNB()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_class_is_the_one_without_a_final_calibration(estimator, scheme, n_of_class):
    samples, (X, _) = ring(n_of_class, 0, radius=2.0), ring(40, 1, radius=2.0)
    plain, *calibrated = (
        fit(estimator, scheme, samples, solver="least-squares", final_calibration=each)
        for each in (None, "auto", "bias")
    )
    before = plain.predict_proba(X)
    for each in calibrated:
        # Ties of the solver may be broken by rounding errors.
        winners = np.argmax(each.predict_proba(X), axis=1)
        assert np.all(before.max(axis=1) - before[np.arange(len(X)), winners] < 1e-9)


@pytest.mark.parametrize("n_of_class", [2, 3, 5])
@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "adjacent"])
def test_well_separated_classes_are_told_apart(scheme, n_of_class):
    X, y = ring(40, 1, radius=12.0)
    for seed in range(3):
        classifier = fit(SVC(), scheme, ring(n_of_class, seed, radius=12.0))
        assert classifier.score(X, y) == 1.0
        assert classifier.out_of_fold_score_["accuracy"] == 1.0


@pytest.mark.parametrize("n_of_class", [2, 3, 5])
def test_the_score_promises_no_more_than_new_samples_show(n_of_class):
    X, y = ring(100, 100, radius=2.0)
    classifiers = [
        fit(SVC(), "one-vs-one", ring(n_of_class, seed, radius=2.0)) for seed in range(20)
    ]
    promised = np.mean([each.out_of_fold_score_["accuracy"] for each in classifiers])
    found = np.mean([each.score(X, y) for each in classifiers])
    # Twenty sets of at least ten samples: the mean of all has a standard error of at most 0.035.
    assert promised < found + 0.07


def test_one_sample_of_each_class_has_no_score_and_a_warning():
    with pytest.warns(pt.CalibrationWarning, match="no final calibration"):
        classifier = pt.PolytomyClassifier(SVC(), random_state=0).fit(*ring(1, 0, radius=12.0))
    assert not hasattr(classifier, "out_of_fold_score_")
    X, y = ring(40, 1, radius=12.0)
    assert classifier.score(X, y) == SVC().fit(*ring(1, 0, radius=12.0)).score(X, y)
