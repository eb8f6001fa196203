"""The scheme that scheme="auto" chooses."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from grouped_samples import Watcher, twins
from polytomy import PolytomyClassifier
from polytomy.calibration.folds import choose_folds
from polytomy.errors import ArgumentError, CalibrationWarning, SchemeError
from polytomy.learners.workload import TrainingOptions
from polytomy.selection.candidates import default_candidates
from polytomy.selection.choice import choose_scheme


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def source(y, **parameters):
    return TrainingOptions(**{"random_state": 0, **parameters}).of_labels(y)


def losses_of(X, y, names, **parameters):
    """Return the out-of-fold log-loss of each design, and the samples its binaries train on."""
    found = {}
    for name in names:
        alone = PolytomyClassifier(SVC(), name, random_state=0, **parameters).fit(X, y)
        sizes = [
            np.isin(y, alone.classes_[[*each.negative, *each.positive]]).sum()
            for each in alone.composition_.dichotomies
        ]
        found[name] = alone.out_of_fold_score_["log_loss"], sum(sizes)
    return found


@pytest.mark.parametrize("spread", [1.0, 3.0, 8.0])
def test_the_lowest_out_of_fold_loss_wins_or_a_cheaper_scheme_within_one_percent(spread):
    X, y = make_blobs(200, centers=5, cluster_std=spread, random_state=1)
    found = losses_of(X, y, [each.name for each in default_candidates(5)])
    lowest = min(loss for loss, _ in found.values())
    good = {name: pair for name, pair in found.items() if pair[0] <= 1.01 * lowest}
    chosen = choose_scheme(X, y, SVC(), "auto", source(y, final_calibration="auto"))
    assert chosen in good
    assert found[chosen][1] == min(cost for _, cost in good.values())


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
    with pytest.raises(ArgumentError, match="which only fit has"):
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
