"""Training the model of a partition with more than two sides."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from polytomy.calibration.calibrators import fit_vector_scaling
from polytomy.calibration.folds import Folds
from polytomy.errors import ArgumentError
from polytomy.learners import sides as sides_learner
from polytomy.learners.problems import SidesProblem
from polytomy.learners.workload import FitArguments, TrainingOptions

GENERATOR = np.random.default_rng(0)
SIDES = np.arange(150) % 3
X = GENERATOR.normal(size=(150, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[SIDES]
PROBLEM = SidesProblem("m", np.arange(120), SIDES[:120], 3)
FOLDS = Folds.from_numbers(np.arange(150) // 3 % 5)


def train_sides(estimator, X, problem, options=None, folds=None):
    """The binaries of the sides, and their scores."""
    options = TrainingOptions() if options is None else options
    trained = sides_learner.train_sides(estimator, X, problem, options, folds=folds, seed=0)
    return [each.binary for each in trained], [each.scores for each in trained]


def chances(binaries, samples=X):
    return np.column_stack([(1 + binary.decisions(samples)) / 2 for binary in binaries])


def test_probabilities_are_those_of_the_estimator_itself():
    binaries, held_out = train_sides(LogisticRegression(), X, PROBLEM)
    expected = LogisticRegression().fit(X[:120], SIDES[:120]).predict_proba(X)
    np.testing.assert_allclose(chances(binaries), expected, atol=1e-14)
    assert held_out == [None] * 3
    assert [binary.name for binary in binaries] == ["m/0", "m/1", "m/2"]


def held_out_values(estimator, method):
    """The values of rows that the estimator was fitted without."""
    values = np.empty((150, 3))
    for fold in range(FOLDS.n_folds):
        rows = np.flatnonzero(FOLDS.fold_of[:120] != fold)
        model = clone(estimator).fit(X[rows], SIDES[rows])
        test = FOLDS.fold_of == fold
        values[test] = getattr(model, method)(X[test])
    return values


@pytest.mark.parametrize("estimator", [RidgeClassifier(), SVC(gamma=0.5)])
@pytest.mark.parametrize("calibration", ["auto", "sigmoid", "temperature"])
def test_decision_values_are_scaled_as_folds_that_were_held_out_tell(estimator, calibration):
    options = TrainingOptions(calibration=calibration)
    binaries, held_out = train_sides(estimator, X, PROBLEM, options, FOLDS)
    values = held_out_values(estimator, "decision_function")
    is_common = calibration == "temperature"
    scaling = fit_vector_scaling(values[:120], SIDES[:120], common_slope=is_common)
    whole = clone(estimator).fit(X[:120], SIDES[:120])
    expected = scaling.apply(whole.decision_function(X))
    np.testing.assert_allclose(chances(binaries), expected, atol=1e-12)
    # All rows are scored out of fold, also those outside the problem.
    scores = np.column_stack(held_out)
    np.testing.assert_allclose(scores, 2 * scaling.apply(values) - 1, atol=1e-6)


def test_probabilities_are_held_out_too():
    _, held_out = train_sides(LogisticRegression(), X, PROBLEM, folds=FOLDS)
    expected = held_out_values(LogisticRegression(), "predict_proba")
    scores = np.column_stack(held_out)
    np.testing.assert_allclose(scores, 2 * expected - 1, atol=1e-6)


def test_without_calibration_decision_values_go_through_the_softmax():
    binaries, _ = train_sides(RidgeClassifier(), X, PROBLEM, TrainingOptions(calibration=None))
    whole = RidgeClassifier().fit(X[:120], SIDES[:120])
    np.testing.assert_allclose(chances(binaries), softmax(whole.decision_function(X), axis=1))


def test_weights_reach_the_estimator_and_zero_leaves_samples_out():
    weight = np.where(np.arange(150) % 2, 2.0, 0.0)
    options = TrainingOptions(arguments=FitArguments(weight))
    binaries, _ = train_sides(LogisticRegression(), X, PROBLEM, options)
    rows = np.arange(1, 120, 2)
    model = LogisticRegression().fit(X[rows], SIDES[rows], sample_weight=weight[rows])
    np.testing.assert_allclose(chances(binaries), model.predict_proba(X), atol=1e-12)


def test_sides_can_be_given_the_same_total_weight():
    problem = PROBLEM.keep((PROBLEM.sides > 0) | (PROBLEM.rows < 30))
    options = TrainingOptions(class_weight="balanced-per-partition")
    binaries, _ = train_sides(LogisticRegression(), X, problem, options)
    model = LogisticRegression(class_weight="balanced").fit(X[problem.rows], problem.sides)
    np.testing.assert_allclose(chances(binaries), model.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("present", [(), (1,), (0, 2)])
@pytest.mark.parametrize("folds", [None, FOLDS])
@pytest.mark.parametrize("estimator", [LogisticRegression(), SVC()])
def test_sides_without_samples_get_no_probability(present, folds, estimator):
    problem = PROBLEM.keep(np.isin(PROBLEM.sides, present))
    binaries, held_out = train_sides(estimator, X, problem, folds=folds)
    found = chances(binaries)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    absent = [side for side in range(3) if side not in present]
    if present:
        np.testing.assert_array_equal(found[:, absent], 0.0)
    else:
        np.testing.assert_allclose(found, 1 / 3)
    if folds is not None:
        assert all(np.isfinite(each).all() for each in held_out)


class OnlyTwo(ClassifierMixin, BaseEstimator):
    """A classifier that says that it separates two classes."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def test_an_estimator_of_two_classes_is_refused_with_a_way_out():
    words = 'Partition "m" has 3 sides, but OnlyTwo separates only two classes. Use @one-vs-one'
    with pytest.raises(ArgumentError, match=words):
        train_sides(OnlyTwo(), X, PROBLEM)


def test_calibrators_of_binaries_are_refused():
    with pytest.raises(ArgumentError, match='calibration="isotonic" is for binary partitions'):
        train_sides(SVC(), X, PROBLEM, TrainingOptions(calibration="isotonic"))


def test_a_precomputed_kernel_takes_the_columns_of_the_problem():
    gram = X @ X.T
    problem = PROBLEM.keep(PROBLEM.rows % 4 > 0)
    binaries, held_out = train_sides(SVC(kernel="precomputed"), gram, problem, folds=FOLDS)
    linear, expected = train_sides(SVC(kernel="linear"), X, problem, folds=FOLDS)
    np.testing.assert_allclose(chances(binaries, gram), chances(linear), atol=1e-6)
    np.testing.assert_allclose(held_out[0], expected[0], atol=1e-5)


def test_a_fold_that_cannot_be_fitted_leaves_the_answers_uncalibrated():
    # One fold has a single sample to train on, too few for this estimator.
    rows = np.array([0, 1, 2, 3, 4, 5])
    problem = SidesProblem("m", rows, SIDES[rows], 3)
    folds = Folds.from_numbers(np.array([0, 0, 0, 1, 1, 1] + [2] * 144))
    options = TrainingOptions(calibration="sigmoid")
    binaries, held_out = train_sides(LinearDiscriminantAnalysis(), X, problem, options, folds)
    assert binaries[0].shortcoming.startswith('Partition "m" cannot be calibrated: a fold cannot')
    assert held_out == [None] * 3


def test_more_neighbours_than_samples_are_an_error_in_training():
    with pytest.raises(ArgumentError, match="n_neighbors=121 of KNeighborsClassifier"):
        train_sides(KNeighborsClassifier(121), X, PROBLEM)
