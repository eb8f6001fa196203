"""Candidates with parameters score as classifiers that are trained one by one."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, designs
from polytomy.learners.workload import FitArguments, TrainingOptions
from polytomy.selection.candidates import (
    candidates_from,
    expand_candidates,
    is_trained_without_calibration,
)
from polytomy.selection.measuring import FoldMeasurer
from polytomy.selection.race import comparison_folds, find_metric
from polytomy.selection.runners import RaceSetup, Runner

SCHEME = designs.one_vs_one(["ash", "birch", "cedar"])
GRID = {"C": [10.0, 0.1, 1.0], "gamma": [0.01, 0.1]}


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(150, centers=3, n_features=3, cluster_std=4.0, random_state=2)
    return X, np.array(["ash", "birch", "cedar"])[y]


def measure(blobs, candidates, grid, estimator, fold=0, weight=None, **parameters):
    """Return the candidates and what they said about a fold, and the rows of that fold."""
    X, y = blobs
    options = TrainingOptions(
        random_state=0, arguments=FitArguments(weight, {}, weight), **parameters
    )
    expanded = expand_candidates(candidates_from(candidates, 3), grid, estimator)
    measurer = Listener(RaceSetup(X, y, estimator, options.of_labels(y)), [find_metric("accuracy")])
    rows, held_out = comparison_folds(3, X, y, random_state=0)[fold]
    runners = [Runner(each) for each in expanded]
    measurer.measure([(runner, SCHEME) for runner in runners], rows, held_out)
    measured = [
        SimpleNamespace(**runner.folds[0]._asdict() | measurer.said[runner.candidate.name])
        for runner in runners
    ]
    return expanded, measured, rows, held_out


class Listener(FoldMeasurer):
    """Notes what each candidate said."""

    def judge(self, candidate, held_out, scores, winners):
        self.said = getattr(self, "said", {}) | {
            candidate.name: {"scores": scores, "winners": winners}
        }
        return super().judge(candidate, held_out, scores, winners)


@pytest.mark.parametrize("fold", [0, 2])
def test_votes_are_those_of_svc(blobs, fold):
    X, y = blobs
    estimator = SVC(tol=1e-6)
    found = measure(blobs, [("one-vs-one", "hamming")], GRID, estimator, fold)
    rows, held_out = found[2:]
    for candidate, measured in zip(*found[:2], strict=True):
        svc = SVC(tol=1e-6, **candidate.params).fit(X[rows], y[rows])
        assert (svc.classes_[measured.winners] == svc.predict(X[held_out])).all()
        assert measured.n_binaries == 3
        assert measured.n_training_samples == 2 * len(rows)
        assert measured.fit_seconds > 0


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(tol=1e-6, gamma=0.1),
        LinearSVC(),
        LogisticRegression(),
        # Not plain SVCs, so they are trained one by one.
        make_pipeline(StandardScaler(), SVC(tol=1e-6)),
        SVC(tol=1e-6, gamma=0.1, kernel=lambda X, Y: X @ Y.T),
    ],
    ids=["SVC", "LinearSVC", "LogisticRegression", "pipeline", "function"],
)
@pytest.mark.parametrize("solver", ["hamming", "voting", "least-squares"])
def test_scores_are_those_of_a_classifier_with_the_same_parameters(blobs, estimator, solver):
    X, y = blobs
    name = "svc__C" if hasattr(estimator, "steps") else "C"
    parameters = {"final_calibration": "auto"}
    found = measure(blobs, [("one-vs-one", solver)], {name: [0.5, 5.0]}, estimator, **parameters)
    rows, held_out = found[2:]
    for candidate, measured in zip(*found[:2], strict=True):
        calibration = None if solver == "hamming" else "auto"
        alone = PolytomyClassifier(
            candidate.estimator, SCHEME, solver=solver, calibration=calibration, random_state=0
        ).fit(X[rows], y[rows])
        assert (alone.classes_[measured.winners] == alone.predict(X[held_out])).all()
        expected = alone.composition_.scores(X[held_out])
        np.testing.assert_allclose(measured.scores, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", ["voting", "loss-based"])
def test_without_calibration_all_scores_come_from_the_shared_kernel(blobs, solver):
    X, y = blobs
    options = {"calibration": None, "final_calibration": "auto"}
    estimator = SVC(tol=1e-7)
    found = measure(blobs, [("one-vs-one", solver)], GRID, estimator, **options)
    rows, held_out = found[2:]
    for candidate, measured in zip(*found[:2], strict=True):
        alone = PolytomyClassifier(
            candidate.estimator, SCHEME, solver=solver, calibration=None, final_calibration=None
        ).fit(X[rows], y[rows])
        expected = alone.composition_.scores(X[held_out])
        np.testing.assert_allclose(measured.scores, expected, rtol=0, atol=1e-3)


def test_weights_count_on_the_shared_kernel(blobs):
    X, y = blobs
    weight = np.random.default_rng(0).uniform(0.1, 5.0, len(y))
    found = measure(blobs, [("one-vs-one", "hamming")], GRID, SVC(tol=1e-6), weight=weight)
    rows, held_out = found[2:]
    changed = 0
    for candidate, measured in zip(*found[:2], strict=True):
        svc = SVC(tol=1e-6, **candidate.params)
        plain = svc.fit(X[rows], y[rows]).predict(X[held_out])
        weighted = svc.fit(X[rows], y[rows], weight[rows]).predict(X[held_out])
        assert (svc.classes_[measured.winners] == weighted).all()
        changed += np.count_nonzero(plain != weighted)
    assert changed


class Fussy(ClassifierMixin, BaseEstimator):
    """Notes the seeds that it is fitted with."""

    def __init__(self, seeds=None, level=0, random_state=None):
        self.seeds = seeds
        self.level = level
        self.random_state = random_state

    def __sklearn_clone__(self):
        return Fussy(self.seeds, self.level, self.random_state)

    def fit(self, X, y):
        self.seeds.append((self.level, self.random_state))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_all_parameters_have_the_same_seeds(blobs):
    seeds = []
    measure(blobs, ["one-vs-one"], {"level": [1, 2]}, Fussy(seeds), calibration=None)
    by_level = [[seed for own, seed in seeds if own == level] for level in (1, 2)]
    assert by_level[0] == by_level[1]
    assert len(set(by_level[0])) == 3


def test_only_votes_in_a_grid_are_left_without_an_automatic_calibration():
    plain, votes, least_squares = candidates_from(
        ["one-vs-one", ("one-vs-one", "hamming"), ("one-vs-one", "least-squares")], 3
    )
    assert not is_trained_without_calibration(votes, None)  # has no grid
    grid = expand_candidates([plain, votes, least_squares], {"C": [1]}, SVC())
    assert [is_trained_without_calibration(each, "auto") for each in grid] == [False, True, False]
    assert [is_trained_without_calibration(each, "sigmoid") for each in grid] == [False] * 3
    (sums,) = expand_candidates([votes._replace(solver="voting")], {"C": [1]}, SVC())
    assert not is_trained_without_calibration(sums, "auto")
    assert is_trained_without_calibration(sums, None)


def test_arguments_of_fit_are_heeded(blobs):
    """An SVC takes no further arguments, so the error of scikit-learn shows that they arrive."""
    X, y = blobs
    options = TrainingOptions(arguments=FitArguments(None, {"colour": "red"}))
    source = options.of_labels(y)
    (candidate,) = expand_candidates(
        candidates_from([("one-vs-one", "hamming")], 3), {"C": [1.0]}, SVC()
    )
    measurer = FoldMeasurer(RaceSetup(X, y, SVC(), source), [find_metric("accuracy")])
    runner = Runner(candidate)
    measurer.measure([(runner, SCHEME)], np.arange(100), np.arange(100, 150))
    assert isinstance(runner.error, TypeError)
    assert "colour" in str(runner.error)
