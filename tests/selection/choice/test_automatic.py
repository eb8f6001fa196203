"""The scheme that scheme="auto" chooses."""

from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from grouped_samples import Watcher, twins
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.selection.candidates import default_candidates
from polytomy.selection.choice import choose_runner, choose_scheme
from polytomy.selection.race import RaceSetup, comparison_folds, find_metric, run_race


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def source(y, **parameters):
    return TrainingOptions(**{"random_state": 0, **parameters}).of_labels(y)


@pytest.mark.parametrize(
    "cv",
    [2, 3, 7, KFold(4, shuffle=True, random_state=0), [(np.arange(12), np.arange(12, 24))] * 2],
    ids=["2", "3", "7", "KFold(4)", "2 splits"],
)
def test_the_race_has_the_folds_of_cv(cv):
    # Nothing is decided, and so nobody dropped, on fewer than 30 held-out samples.
    X, y = make_blobs(24, centers=3, cluster_std=4.0, random_state=0)
    n_folds = cv if isinstance(cv, int) else 4 if isinstance(cv, KFold) else len(cv)
    n_started = 0

    @contextmanager
    def count_folds(n_partitions):
        nonlocal n_started
        n_started += 1
        yield TrainingListener()

    choose_scheme(X, y, GaussianNB(), "least-squares", source(y, cv=cv), progress=count_folds)
    assert n_started == n_folds


@pytest.mark.parametrize("cv", [2, 3, 8])
def test_a_number_of_folds_holds_out_an_equal_part_of_the_data_each_time(cv):
    X, y = make_blobs(24, centers=3, cluster_std=4.0, random_state=0)
    sizes = set()

    class Sizes(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            sizes.add(len(y))
            return super().fit(X, y, sample_weight)

    choose_scheme(X, y, Sizes(), "least-squares", source(y, cv=cv))
    # Eight samples per class: a fold trains one-vs-rest on all but a part of the 24 samples.
    assert max(sizes) == 24 - 24 // cv


def test_the_scheme_is_the_winner_of_a_race_of_the_default_candidates():
    X, y = make_blobs(200, centers=4, cluster_std=3.0, random_state=1)
    for solver, score in ("least-squares", "joint_log_loss"), ("voting", "uncertainty_coefficient"):
        race = run_race(
            default_candidates(4, solver),
            RaceSetup(X, y, GaussianNB(), source(y, cv=3)),
            comparison_folds(3, X, y, 0),
            [find_metric(score)],
            is_lenient=True,
        )
        found = choose_scheme(X, y, GaussianNB(), solver, source(y, cv=3))
        assert found == choose_runner(race).candidate.scheme


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
