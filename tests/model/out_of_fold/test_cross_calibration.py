"""Answers to rows that neither models nor calibrators have learnt from."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from polytomy import PolytomyClassifier
from polytomy.calibration.calibrators import IsotonicCalibrator, SigmoidCalibrator
from polytomy.model.out_of_fold import cross_decisions

X, Y = load_iris(return_X_y=True)


def fitted(calibration):
    classifier = PolytomyClassifier(LinearSVC(), calibration=calibration, random_state=0)
    return classifier.fit(X, Y).composition_


def test_an_isotonic_map_answers_to_a_fold_as_learnt_from_the_others():
    composition = fitted("isotonic")
    scores = composition.out_of_fold
    found = cross_decisions(scores, composition.binaries, composition.dichotomies)
    assert not np.allclose(found, scores.decisions(composition.binaries))
    for column, each in enumerate(composition.dichotomies):
        values = scores.scores[:, column].astype(float)
        is_inside = np.isin(scores.class_indices, (*each.negative, *each.positive))
        for fold in range(5):
            others = is_inside & (scores.fold_of != fold)
            map_ = IsotonicCalibrator().fit(
                values[others], np.isin(scores.class_indices[others], each.positive)
            )
            own = scores.fold_of == fold
            np.testing.assert_allclose(found[own, column], 2 * map_.predict(values[own]) - 1)


@pytest.mark.parametrize("calibration", ["sigmoid", "temperature"])
def test_two_numbers_are_not_learnt_again(calibration):
    composition = fitted(calibration)
    scores = composition.out_of_fold
    found = cross_decisions(scores, composition.binaries, composition.dichotomies)
    np.testing.assert_array_equal(found, scores.decisions(composition.binaries))


def test_a_calibrator_of_the_user_is_left_as_it_was():
    composition = fitted(LogisticRegression())
    before = [binary.decisions(X) for binary in composition.binaries]
    cross_decisions(composition.out_of_fold, composition.binaries, composition.dichotomies)
    for binary, expected in zip(composition.binaries, before, strict=True):
        np.testing.assert_array_equal(binary.decisions(X), expected)


def test_a_map_that_is_given_noise_finds_none_of_it():
    random = np.random.default_rng(0)
    noise, labels = random.normal(size=(120, 3)), random.integers(0, 3, 120)
    classifier = PolytomyClassifier(LinearSVC(), calibration="isotonic", random_state=0)
    score = classifier.fit(noise, labels).out_of_fold_score_
    assert score["log_loss"] > np.log(3) - 0.02


def test_sigmoids_are_learnt_again_for_sets():
    composition = fitted("sigmoid")
    scores = composition.out_of_fold
    parts = scores, composition.binaries, composition.dichotomies
    found = cross_decisions(*parts, every=True)
    (first, *_) = composition.dichotomies
    is_inside = np.isin(scores.class_indices, (*first.negative, *first.positive))
    others, own = is_inside & (scores.fold_of != 0), scores.fold_of == 0
    values = scores.scores[:, 0].astype(float)
    map_ = SigmoidCalibrator().fit(
        values[others], np.isin(scores.class_indices[others], first.positive)
    )
    np.testing.assert_allclose(found[own, 0], 2 * map_.predict(values[own]) - 1)
    assert composition.final.conformity is None
    ready = composition.with_conformity()
    assert ready.final.conformity is not None
    assert composition.final.conformity is None  # a composition does not change
    assert ready.with_conformity() is ready


def test_maps_that_have_learnt_nothing_or_much_are_not_learnt_again():
    composition = fitted(None)
    parts = composition.out_of_fold, composition.binaries, composition.dichotomies
    found = cross_decisions(*parts, every=True)
    np.testing.assert_array_equal(found, composition.out_of_fold.decisions(composition.binaries))


@pytest.mark.parametrize(
    ("last", "calibrator"), [(None, type(None)), (LinearSVC(), SigmoidCalibrator)]
)
def test_an_estimator_that_has_its_methods_once_fitted_is_trained(last, calibrator):
    classes = np.arange(90) % 3
    X = np.random.default_rng(0).normal(size=(90, 2)) + 4 * classes[:, np.newaxis]
    stack = StackingClassifier([("tree", DecisionTreeClassifier(random_state=0))], last)
    classifier = PolytomyClassifier(stack, "one-vs-one", random_state=0).fit(X, classes)
    assert {type(each.calibrator) for each in classifier.binaries_} == {calibrator}
    assert classifier.score(X, classes) > 0.9
