"""Candidates whose votes are clearly worse are dropped before they are calibrated."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from polytomy import PolytomyClassifier, SchemeSearchCV, plots

GRID = {"C": [0.001, 1.0, 10.0], "gamma": [0.01, 0.1, 30.0]}
N_FOLDS = 3


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(240, centers=4, cluster_std=3.0, random_state=1)
    return X, np.array(["ash", "birch", "cedar", "elm"])[y]


def search(blobs, scoring="accuracy", estimator=None, **options):
    estimator = SVC(tol=1e-6) if estimator is None else estimator
    options = {"param_grid": GRID, "cv": N_FOLDS, "random_state": 0} | options
    return SchemeSearchCV(estimator, ["one-vs-one"], scoring=scoring, **options).fit(*blobs)


def scores_by_fold(found):
    names = [f"split{fold}_test_score" for fold in range(N_FOLDS)]
    return np.column_stack([found.cv_results_[name] for name in names])


@pytest.mark.parametrize("scoring", ["accuracy", "log_loss"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_choice_and_all_scores_are_those_without_dropping(blobs, scoring, class_weight):
    estimator = SVC(tol=1e-6, class_weight=class_weight)
    screened = search(blobs, scoring, estimator)
    whole = search(blobs, scoring, estimator, drop_losers=False)
    assert screened.best_params_ == whole.best_params_
    assert screened.best_score_ == pytest.approx(whole.best_score_, rel=1e-4)
    own, expected = scores_by_fold(screened), scores_by_fold(whole)
    is_measured = np.isfinite(own)
    assert (is_measured.sum(axis=1) == screened.cv_results_["n_folds"]).all()
    np.testing.assert_allclose(own[is_measured], expected[is_measured], rtol=1e-4)


def test_a_dropped_candidate_has_no_folds_and_the_reason(blobs):
    found = search(blobs)
    results = found.cv_results_
    is_out = results["n_folds"] == 0
    assert is_out.any()
    assert results["is_dropped"][is_out].all()
    assert np.isnan(results["mean_test_score"][is_out]).all()
    assert not results["is_pareto"][is_out].any()
    assert results["rank"][is_out].min() > results["rank"][~is_out].max()
    names = set(results["candidate"][~is_out])
    for reason in results["reason"][is_out]:
        head, _, best = reason.partition("(")
        assert head == "dropped before fold 1 "
        assert best.removesuffix(" had more votes right)") in names
    # The chosen candidate has all folds, even if it is the only one left.
    assert results["n_folds"][found.best_index_] == found.n_splits_ == N_FOLDS
    axes = plots.grid(found)
    assert len(axes.texts) == np.count_nonzero(~is_out)


def test_screening_does_not_depend_on_jobs(blobs):
    one, two = (search(blobs, n_jobs=n_jobs).cv_results_ for n_jobs in (1, 2))
    for name in one:
        if "time" not in name and name not in ("is_pareto", "params"):
            np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.parametrize(
    "options",
    [
        {"drop_losers": False},
        {"budget": 1000.0},
        {"scoring": "log_loss"},
        {"param_grid": {"kernel": [lambda X, Y: X @ Y.T], "C": [1e-9, 1.0]}},
    ],
    ids=["all kept", "budget", "score", "kernel"],
)
def test_nothing_is_dropped_before_the_first_fold(blobs, options):
    assert (search(blobs, **options).cv_results_["n_folds"] > 0).all()


def test_as_many_candidates_as_a_pool_needs_are_kept(blobs):
    found = search(blobs, pool=7)
    assert (found.cv_results_["n_folds"] == N_FOLDS).sum() >= len(found.pool_) == 7


def test_few_samples_drop_nothing(blobs):
    X, y = blobs
    found = search((X[:28], y[:28]))
    assert (found.cv_results_["n_folds"] == N_FOLDS).all()


def test_a_solver_chosen_automatically_needs_no_calibration(blobs):
    automatic, named = (
        search(
            blobs, estimator=PolytomyClassifier(SVC(), calibration=None, solver=solver)
        ).cv_results_
        for solver in ("auto", "least-squares")
    )
    for fold in range(N_FOLDS):
        name = f"split{fold}_test_score"
        np.testing.assert_array_equal(automatic[name], named[name])
