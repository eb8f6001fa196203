"""The race: candidates score as if trained alone, and no dichotomy is trained twice."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from polytomy import PolytomyClassifier, metrics
from polytomy.errors import ArgumentError
from polytomy.learners.workload import FitArguments, TrainingOptions
from polytomy.selection.candidates import candidates_from
from polytomy.selection.race import comparison_folds, find_metric, run_race
from polytomy.selection.runners import RaceSetup

OPTIONS = TrainingOptions()
SCORES = [find_metric("log_loss"), find_metric("uncertainty_coefficient")]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(200, centers=4, cluster_std=3.0, random_state=1)
    return X, np.array(["ash", "birch", "cedar", "elm"])[y]


def race(
    candidates,
    blobs,
    estimator,
    n_folds=3,
    scores=SCORES,
    weight=None,
    parameters=OPTIONS,
    final_calibration=None,
    **options,
):
    X, y = blobs
    parameters = replace(parameters, arguments=FitArguments(weight, {}, weight))
    if final_calibration is not None:
        parameters = replace(parameters, final_calibration=final_calibration, random_state=0)
    training = parameters.of_labels(y)
    return run_race(
        candidates_from(candidates, 4),
        RaceSetup(X, y, estimator, training),
        comparison_folds(n_folds, X, y, random_state=0),
        scores,
        **options,
    )


@pytest.mark.parametrize(
    ("estimator", "final_calibration"),
    [
        (LogisticRegression(), None),
        (LogisticRegression(), "auto"),
        # Folds of each binary's own would depend on its place among all that are trained.
        (SVC(gamma=0.1), "auto"),
        (SVC(gamma=0.1), "decoder"),
    ],
)
def test_scores_are_those_of_candidates_trained_alone(estimator, final_calibration, blobs):
    X, y = blobs
    outcome = race(
        ["one-vs-one", "tree", "adjacent"], blobs, estimator, final_calibration=final_calibration
    )
    for number, (training, held_out) in enumerate(comparison_folds(3, X, y, random_state=0)):
        for runner in outcome.runners:
            if runner.n_folds <= number:
                continue
            alone = PolytomyClassifier(
                estimator,
                runner.candidate.scheme,
                final_calibration=final_calibration,
                random_state=0,
            )
            alone.fit(X[training], y[training])
            proba = alone.predict_proba(X[held_out])
            loss = metrics.log_loss(y[held_out], proba, alone.classes_)
            assert runner.folds[number].scores["log_loss"] == pytest.approx(loss, abs=1e-12)
            winners = alone.classes_[proba.argmax(axis=1)]
            expected = metrics.uncertainty_coefficient(y[held_out], winners)
            assert runner.folds[number].scores["uncertainty_coefficient"] == pytest.approx(expected)
            assert np.mean(runner.folds[number].losses) == pytest.approx(loss, abs=1e-12)
            assert runner.folds[number].n_binaries == len(alone.binaries_)


@pytest.mark.parametrize("final_calibration", ["auto", "bias", "decoder"])
def test_candidates_are_judged_by_their_calibrated_probabilities(blobs, final_calibration):
    X, y = blobs
    names = ["one-vs-one", "one-vs-rest", "tree"]
    parameters = TrainingOptions(final_calibration=final_calibration, random_state=5)
    calibrated = race(names, blobs, SVC(), parameters=parameters).runners[1]
    plain = race(names, blobs, SVC(), parameters=TrainingOptions(random_state=5)).runners[1]
    n_folds = min(calibrated.n_folds, plain.n_folds)
    for number, (training, held_out) in enumerate(comparison_folds(3, X, y, random_state=0)):
        if number == n_folds:
            break
        alone = PolytomyClassifier(
            SVC(),
            "one-vs-rest",
            final_calibration=final_calibration,
            random_state=5,
        ).fit(X[training], y[training])
        loss = metrics.log_loss(y[held_out], alone.predict_proba(X[held_out]), alone.classes_)
        assert calibrated.folds[number].scores["log_loss"] == pytest.approx(loss, rel=1e-9)
        assert plain.folds[number].scores["log_loss"] != pytest.approx(loss, rel=1e-3)


class Counter(ClassifierMixin, BaseEstimator):
    """Adds the size of each fit to a list."""

    def __init__(self, fits=None):
        self.fits = fits

    def __sklearn_clone__(self):
        return Counter(self.fits)

    def fit(self, X, y):
        self.fits.append(len(y))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_each_dichotomy_is_trained_once_per_fold(blobs):
    fits = []
    twin_trees = {
        "tree": "m {ash n {birch k {cedar elm}}}",
        "mirrored": "m {n {k {elm cedar} birch} ash}",
        "pairs": "one-vs-one",
    }
    race(
        twin_trees, blobs, Counter(fits), n_folds=2, scores=[find_metric("uncertainty_coefficient")]
    )
    # In each of two folds, the tree needs three binaries, the mirrored tree none of its own, and
    # the pairs five more: the sixth is the last one of the tree.
    assert len(fits) == 2 * (3 + 5)


def test_a_clear_loser_is_dropped(blobs):
    def shrug(scheme, decisions):
        return np.full((len(decisions), 4), 0.25)

    candidates = {"one-vs-one": "one-vs-one", "hopeless": ("tree", shrug)}
    outcome = race(candidates, blobs, LogisticRegression(), n_folds=4)
    winner, loser = outcome.runners
    gap, error = outcome.gap(loser, winner)
    assert gap > 3 * error
    assert loser.n_folds < 4
    assert loser.reason.startswith("dropped after fold")
    # A race with one survivor is over.
    assert outcome.n_folds == winner.n_folds == loser.n_folds


def test_losers_can_be_kept(blobs):
    def shrug(scheme, decisions):
        return np.full((len(decisions), 4), 0.25)

    outcome = race(
        {"good": "one-vs-one", "bad": ("one-vs-one", shrug)},
        blobs,
        LogisticRegression(),
        n_folds=4,
        drops_losers=False,
    )
    assert [runner.n_folds for runner in outcome.runners] == [4, 4]
    assert outcome.survivors == outcome.runners


def test_the_gap_is_a_paired_mean_and_its_standard_error(blobs):
    outcome = race(["one-vs-one", "tree"], blobs, LogisticRegression(), n_folds=2)
    one, other = outcome.runners
    difference = np.concatenate(
        [a.losses - b.losses for a, b in zip(one.folds, other.folds, strict=True)]
    )
    gap, error = outcome.gap(one, other)
    assert gap == pytest.approx(difference.mean())
    assert error == pytest.approx(difference.std() / np.sqrt(len(difference)))


def test_the_budget_ends_a_race_after_a_fold(blobs):
    outcome = race(["one-vs-one", "tree"], blobs, LogisticRegression(), n_folds=5, budget=0)
    assert outcome.n_folds == 1


def test_a_solver_without_probabilities_cannot_win_a_score_that_needs_them(blobs):
    pairs = [("one-vs-one", "voting"), ("one-vs-one", "least-squares")]
    outcome = race(pairs, blobs, LogisticRegression())
    votes = outcome.runners[0]
    assert all(np.isnan(fold.scores["log_loss"]) for fold in votes.folds)
    assert all(np.isfinite(fold.scores["uncertainty_coefficient"]) for fold in votes.folds)
    assert votes.reason == 'solver="voting" does not give probabilities'
    by_accuracy = race(pairs, blobs, LogisticRegression(), scores=[find_metric("accuracy")])
    assert not by_accuracy.runners[0].reason


def test_a_candidate_that_cannot_be_used_is_an_error_or_dropped(blobs):
    candidates = [("one-vs-rest", "price"), ("one-vs-one", "price")]
    words = r"^candidates has 'one-vs-rest, price': solver=\"price\" needs a one-vs-one code"
    with pytest.raises(ArgumentError, match=words):
        race(candidates, blobs, LogisticRegression())
    outcome = race(candidates, blobs, LogisticRegression(), is_lenient=True)
    assert "one-vs-one code" in outcome.runners[0].reason
    assert outcome.survivors == [outcome.runners[1]]
    words = "on this data. The first of the candidates, 'one-vs-rest, price': solver=.price. needs"
    with pytest.raises(ArgumentError, match=words):
        race(candidates[:1], blobs, LogisticRegression(), is_lenient=True)


def test_weights_count_as_copies_of_held_out_samples(blobs):
    X, y = blobs
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    outcome = race(["tree"], blobs, LogisticRegression(), weight=weight, n_folds=2)
    training, held_out = comparison_folds(2, X, y, random_state=0)[0]
    alone = PolytomyClassifier(LogisticRegression(), "tree", final_calibration=None)
    alone.fit(X[training], y[training], weight[training])
    copies = np.repeat(held_out, weight[held_out].astype(int))
    loss = metrics.log_loss(y[copies], alone.predict_proba(X[copies]), alone.classes_)
    assert outcome.runners[0].folds[0].scores["log_loss"] == pytest.approx(loss)


def test_a_model_of_many_sides_counts_once(blobs):
    X, _ = blobs
    found = race(["direct", "one-vs-one"], blobs, LogisticRegression())
    direct, pairs = found.runners
    assert [fold.n_binaries for fold in direct.folds] == [1] * 3
    assert [fold.n_binaries for fold in pairs.folds] == [6] * 3
    # Each fold trains on two thirds of the samples, and one-vs-one on each of them three times.
    assert sum(fold.n_training_samples for fold in direct.folds) == 2 * len(X)
    assert sum(fold.n_training_samples for fold in pairs.folds) == 3 * 2 * len(X)
