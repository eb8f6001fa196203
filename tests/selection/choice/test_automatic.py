"""The scheme that scheme="auto" chooses."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from grouped_samples import Watcher, twins
from polytomy import PolytomyClassifier
from polytomy.calibration.folds import choose_folds
from polytomy.errors import ArgumentError, CalibrationWarning, SchemeError
from polytomy.learners.workload import TrainingOptions
from polytomy.selection.candidates import automatic_candidates
from polytomy.selection.choice import choose_scheme


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def source(y, **parameters):
    return TrainingOptions(**{"random_state": 0, **parameters}).of_labels(y)


def compare_alone(X, y, estimator, names):
    """Return the out-of-fold losses of each design, and the samples its models train on."""
    found = {}
    for name in names:
        alone = PolytomyClassifier(estimator, name, random_state=0, keep_out_of_fold=True)
        proba = alone.fit(X, y).out_of_fold_proba_
        sizes = [
            np.isin(y, alone.classes_[[*each.negative, *each.positive]]).sum()
            for each in alone.composition_.dichotomies
            if each.is_counted
        ]
        found[name] = -np.log(proba[np.arange(len(y)), y]), sum(sizes)
    return found


def blobs(spread):
    return make_blobs(200, centers=5, cluster_std=spread, random_state=1)


def intervals():
    """Return eight classes in a row, which are hard to tell from their neighbours."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 3))
    number = X[:, 0] + X[:, 1] ** 2 + 0.3 * generator.normal(size=400)
    return X, np.digitize(number, np.quantile(number, np.arange(1, 8) / 8))


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (SVC(), blobs(1.0)),
        (SVC(), blobs(3.0)),
        (SVC(), blobs(8.0)),
        (SVC(), intervals()),
        (GaussianNB(), blobs(3.0)),
        (GaussianNB(), intervals()),
    ],
)
def test_a_scheme_takes_the_place_of_one_vs_one_only_if_it_is_clearly_better(estimator, data):
    X, y = data
    names = [
        each.name
        for each in automatic_candidates(8, is_multi_class=isinstance(estimator, GaussianNB))
    ]
    found = compare_alone(X, y, estimator, names)
    gaps = {name: losses - found["one-vs-one"][0] for name, (losses, _) in found.items()}
    better = [
        name
        for name, gap in gaps.items()
        if gap.mean() < -2 * gap.std() / np.sqrt(np.isfinite(gap).sum())
    ]
    most = 1.01 * min((found[name][0].mean() for name in better), default=0.0)
    good = {name: found[name][1] for name in better if found[name][0].mean() <= most}
    chosen = choose_scheme(X, y, estimator, "auto", source(y, final_calibration="auto"))
    if good:
        assert good[chosen] == min(good.values())
    else:
        assert chosen == "one-vs-one"


def test_classes_in_a_row_are_found_to_be_ordered():
    X, y = intervals()
    assert PolytomyClassifier(SVC(), "auto", random_state=0).fit(X, y).scheme_.n_partitions == 7


class Counted(DecisionTreeClassifier):
    """Notes how many classes it was fitted to."""

    seen: ClassVar[set[int]] = set()

    def fit(self, X, y, sample_weight=None):
        self.seen.add(len(np.unique(y)))
        return super().fit(X, y, sample_weight)


def test_estimators_for_many_classes_are_compared_as_one_model_and_with_several_sides():
    X, y = load_digits(return_X_y=True)
    Counted.seen.clear()
    PolytomyClassifier(Counted(), "auto", cv=2, random_state=0).fit(X[:300], y[:300])
    assert Counted.seen == {2, 4, 10}


def test_a_calibration_for_two_sides_leaves_only_binary_schemes():
    X, y = load_iris(return_X_y=True)
    Counted.seen.clear()
    options = {"calibration": "isotonic", "cv": 2, "random_state": 0}
    PolytomyClassifier(Counted(), "auto", **options).fit(X, y)
    assert Counted.seen == {2}


def test_trees_get_a_code_of_several_sides():
    X, y = load_digits(return_X_y=True)
    trees = PolytomyClassifier(DecisionTreeClassifier(), "auto", random_state=0)
    assert {each.n_sides for each in trees.fit(X[::6], y[::6]).scheme_.partitions} == {4}


def test_every_dichotomy_is_trained_once_for_all_candidates():
    X, y = make_blobs(60, centers=3, cluster_std=4.0, random_state=0)
    sides = []

    class Sides(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            sides.append((tuple(X[:, 0]), tuple(y)))
            return super().fit(X, y, sample_weight)

    choose_scheme(X, y, Sides(), "auto", source(y, cv=choose_folds(0.3, len(y))))
    assert len(sides) == len(set(sides))


def test_labels_that_no_scheme_takes_are_refused(iris):
    X, y = iris
    labels = np.array(["setosa", "versicolor", "\ud800"])[y]
    with pytest.raises(SchemeError, match="is not valid text: it has a lone surrogate"):
        PolytomyClassifier(GaussianNB(), "auto").fit(X, labels)


@pytest.mark.parametrize("solver", ["voting", "hamming", "greedy"])
def test_a_solver_without_probabilities_gets_a_scheme_that_it_takes(solver, iris):
    X, y = iris
    classifier = PolytomyClassifier(GaussianNB(), "auto", solver=solver, random_state=0)
    assert classifier.fit(X, y).score(X, y) > 0.9


def test_where_nothing_can_be_held_out_the_default_scheme_is_taken():
    X, y = np.eye(4), np.arange(4)
    with pytest.warns(CalibrationWarning):
        classifier = PolytomyClassifier(GaussianNB(), "auto", random_state=0).fit(X, y)
    assert classifier.scheme_.n_partitions == 6


def test_the_chosen_scheme_is_the_fitted_one():
    X, y = load_digits(n_class=5, return_X_y=True)
    classifier = PolytomyClassifier(GaussianNB(), "auto", random_state=0).fit(X[::3], y[::3])
    again = PolytomyClassifier(GaussianNB(), classifier.scheme_, random_state=0)
    again.fit(X[::3], y[::3])
    np.testing.assert_array_equal(classifier.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("n_classes", [1, 2])
def test_below_three_classes_there_is_only_one_scheme(n_classes, iris):
    X, y = iris
    few = np.isin(y, np.unique(y)[:n_classes])
    classifier = PolytomyClassifier(GaussianNB(), "auto").fit(X[few], y[few])
    assert classifier.score(X[few], y[few]) > 0.99


def test_a_batch_is_not_enough_to_choose_from(iris):
    X, y = iris
    with pytest.raises(ArgumentError, match=r"itself, in PolytomyClassifier\.fit"):
        PolytomyClassifier(GaussianNB(), "auto").partial_fit(X, y, classes=np.unique(y))


def test_candidates_can_be_compared_on_a_precomputed_kernel(iris):
    X, y = iris
    kernel = X @ X.T
    by_kernel = PolytomyClassifier(SVC(kernel="precomputed"), "auto", random_state=0)
    by_kernel.fit(kernel, y)
    assert by_kernel.score(kernel, y) > 0.9


def test_splits_and_groups_keep_twins_together():
    X, y, groups = twins()
    folds = [(np.flatnonzero(groups % 4 != k), groups % 4 == k) for k in range(4)]
    Watcher.was_seen = ()
    PolytomyClassifier(Watcher(), "auto", cv=folds, random_state=0).fit(X, y)
    by_group = PolytomyClassifier(Watcher(), "auto", cv=GroupKFold(4), random_state=0)
    by_group.fit(X, y, groups=groups)
    assert Watcher.was_seen
    assert not any(Watcher.was_seen)
