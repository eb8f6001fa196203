"""Candidates that are calibrated on the folds they are compared on are trained once."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, SchemeSearchCV, metrics, plots
from polytomy.errors import ArgumentError
from polytomy.model import out_of_fold
from polytomy.selection import measuring
from polytomy.selection.measuring import FoldMeasurer

GRID = {"C": [0.001, 1.0, 10.0], "gamma": [0.01, 0.1, 30.0]}
N_FOLDS = 5
FOLDS = StratifiedKFold(N_FOLDS, shuffle=True, random_state=3)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(240, centers=4, cluster_std=3.0, random_state=1)
    return X, np.array(["ash", "birch", "cedar", "elm"])[y]


@pytest.fixture
def shared(monkeypatch):
    """The numbers of candidates that are measured on all folds at once."""
    numbers = []
    original = FoldMeasurer.measure_folds

    def measure_folds(self, entries, folds, progress=None):
        original(self, entries, folds, progress)
        numbers.append(sum(runner.n_folds == len(folds) for runner, _ in entries))

    monkeypatch.setattr(FoldMeasurer, "measure_folds", measure_folds)
    return numbers


def search(blobs, scoring="accuracy", estimator=None, fit_params=None, **options):
    estimator = SVC(tol=1e-6) if estimator is None else estimator
    options = {
        "param_grid": GRID,
        "cv": FOLDS,
        "random_state": 0,
        "candidates": ["one-vs-one"],
    } | options
    return SchemeSearchCV(estimator, scoring=scoring, **options).fit(*blobs, **(fit_params or {}))


def scores_by_fold(found):
    names = [f"split{fold}_test_score" for fold in range(N_FOLDS)]
    return np.column_stack([found.cv_results_[name] for name in names])


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("has_weights", [False, True])
def test_scores_are_those_that_a_classifier_with_these_folds_gives_itself(
    blobs, shared, class_weight, has_weights
):
    X, y = blobs
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if has_weights else None
    candidates = ["one-vs-one", "one-vs-rest"]
    grid = {"C": [0.5, 5.0], "gamma": [0.05, "scale"]}
    estimator = SVC(tol=1e-7, class_weight=class_weight)
    found = search(
        blobs,
        ["log_loss", "accuracy"],
        estimator,
        {"sample_weight": weight},
        candidates=candidates,
        param_grid=grid,
    )
    assert shared == [8]
    splits = list(FOLDS.split(X, y))
    own_weight = np.ones(len(y)) if weight is None else weight
    share = [own_weight[rows].sum() for _, rows in splits]
    log_losses = -scores_by_fold(found)
    for k, params in enumerate(found.cv_results_["params"]):
        alone = PolytomyClassifier(
            SVC(tol=1e-7, class_weight=class_weight, **params),
            found.cv_results_["scheme"][k],
            cv=splits,
            random_state=0,
        ).fit(X, y, weight)
        expected = alone.composition_.final.score
        mean = np.average(log_losses[k], weights=share)
        assert mean == pytest.approx(expected["log_loss"], rel=1e-5)


def test_scores_are_near_those_of_folds_within_folds(blobs, shared):
    # Not a tiny C, where the machines of folds within folds are all intercept: what they predict
    # most is what their fold holds out least.
    grid = {"C": [1.0, 10.0], "gamma": [0.01, 0.1, 30.0]}
    peer = GridSearchCV(
        PolytomyClassifier(SVC(), random_state=0),
        {f"estimator__{name}": values for name, values in grid.items()},
        scoring="accuracy",
        cv=FOLDS,
    ).fit(*blobs)
    found = search(blobs, estimator=SVC(), param_grid=grid, drop_losers=False)
    assert shared == [6]
    theirs = peer.cv_results_["mean_test_score"]
    standard_errors = np.sqrt(theirs * (1 - theirs) / len(blobs[1]))
    gaps = found.cv_results_["mean_test_score"] - theirs
    assert (np.abs(gaps) < 2 * standard_errors).all()
    assert theirs[found.best_index_] > theirs.max() - standard_errors.max()


@pytest.mark.parametrize("scoring", ["accuracy", "log_loss"])
def test_the_choice_and_all_scores_are_those_without_dropping(blobs, scoring):
    dropped, whole = (search(blobs, scoring, drop_losers=drops) for drops in (True, False))
    assert dropped.best_params_ == whole.best_params_
    assert dropped.best_score_ == pytest.approx(whole.best_score_, rel=1e-12)
    own, expected = scores_by_fold(dropped), scores_by_fold(whole)
    assert np.isfinite(expected).all()
    is_measured = np.isfinite(own)
    assert (is_measured.sum(axis=1) == dropped.cv_results_["n_folds"]).all()
    np.testing.assert_allclose(own[is_measured], expected[is_measured], rtol=1e-12)


def test_a_dropped_candidate_has_no_folds_and_the_reason(blobs):
    found = search(blobs)
    results = found.cv_results_
    is_out = results["n_folds"] == 0
    assert is_out.any()
    assert results["is_dropped"][is_out].all()
    assert np.isnan(results["mean_test_score"][is_out]).all()
    assert not results["is_pareto"][is_out].any()
    assert results["rank"][is_out].min() > results["rank"][~is_out].max()
    names = set(results["candidate"])
    for reason in results["reason"][is_out]:
        head, _, best = reason.partition("(")
        assert head == "dropped before its calibration "
        assert best.removesuffix(" had more votes right)") in names
    assert results["n_folds"][found.best_index_] == found.n_splits_ == N_FOLDS
    axes = plots.grid(found)
    assert len(axes.texts) == np.count_nonzero(~is_out)


def test_candidates_that_need_not_wait_for_others_have_the_same_scores(blobs, monkeypatch):
    waiting = search(blobs)
    monkeypatch.setattr(measuring, "_MOST_WAITING", 0)
    at_once = search(blobs)
    assert at_once.best_params_ == waiting.best_params_
    is_both = (waiting.cv_results_["n_folds"] > 0) & (at_once.cv_results_["n_folds"] > 0)
    assert is_both.any()
    np.testing.assert_array_equal(
        scores_by_fold(at_once)[is_both], scores_by_fold(waiting)[is_both]
    )


def test_candidates_with_folds_of_their_own_do_not_wait_so_that_few_models_are_kept(
    blobs, monkeypatch
):
    n_waiting = []
    original = FoldMeasurer._judge_all

    def judge_all(self, waiting):
        n_waiting.append(len(waiting))
        original(self, waiting)

    monkeypatch.setattr(FoldMeasurer, "_judge_all", judge_all)
    search(blobs, estimator=LinearSVC(), param_grid={"C": [0.1, 1.0, 10.0]}, drop_losers=False)
    assert max(n_waiting) == 1
    assert sum(n_waiting) == 3 * N_FOLDS


def test_the_result_does_not_depend_on_jobs(blobs):
    one, two = (search(blobs, n_jobs=n_jobs).cv_results_ for n_jobs in (1, 2))
    for name in one:
        if "time" not in name and name not in ("is_pareto", "params"):
            np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.parametrize(
    "options",
    [
        {"cv": 4},
        {"cv": StratifiedShuffleSplit(5, random_state=0)},
        {"budget": 1000.0},
        {"candidates": ["one-vs-one", "empirical-tree"]},
        {"candidates": [("one-vs-one", "hamming")]},
        {"candidates": ["one-vs-one", ("one-vs-one", "hamming")]},
        {"final_calibration": None},
        {"estimator": PolytomyClassifier(SVC(), cv=3)},
        {"estimator": LinearSVC(), "param_grid": {"C": [0.1, 1.0]}},
        {"estimator": make_pipeline(StandardScaler(), SVC()), "param_grid": {"svc__C": [1.0, 9.0]}},
    ],
    ids=str,
)
def test_other_candidates_and_folds_are_measured_fold_by_fold(blobs, shared, options):
    found = search(blobs, **options)
    assert sum(shared) == 0
    assert np.isfinite(found.best_score_)


@pytest.mark.parametrize("pool", [None, 2])
def test_the_chosen_classifier_is_calibrated_on_the_folds_that_it_was_scored_on(
    blobs, shared, pool
):
    # Of every sample there are four. Calibrations on folds that divide them are overconfident.
    X, y = blobs
    rows = np.repeat(np.arange(0, len(y), 2), 4)
    found = search(
        (X[rows], y[rows]),
        "log_loss",
        param_grid={"gamma": [1.0, 3.0]},
        cv=StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=0),
        fit_params={"groups": rows},
        pool=pool,
    )
    assert shared == [2]
    chosen = found.best_estimator_
    on_others = metrics.log_loss(y[1::2], chosen.predict_proba(X[1::2]), chosen.classes_)
    assert -found.best_score_ == pytest.approx(on_others, rel=0.2)
    assert chosen.cv == "auto"


def test_folds_that_are_dealt_at_random_are_dealt_again_for_the_chosen_classifier(blobs, shared):
    X, y = blobs
    found = search(blobs, "log_loss", cv=N_FOLDS)
    assert shared == [9]
    alone = PolytomyClassifier(SVC(tol=1e-6), random_state=0).set_params(
        **{f"estimator__{name}": value for name, value in found.best_params_.items()}
    )
    expected = alone.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=1e-9)


def test_the_score_of_the_search_is_that_of_the_chosen_classifier(blobs, shared):
    found = search(blobs, "log_loss", cv=list(FOLDS.split(*blobs)))  # of equal sizes
    assert shared == [9]
    own = found.best_estimator_.out_of_fold_score_["log_loss"]
    assert -found.best_score_ == pytest.approx(own, rel=1e-6)


@pytest.mark.parametrize("scoring", ["accuracy", "log_loss"])
def test_keeping_out_of_fold_probabilities_changes_no_score(blobs, scoring):
    alone, kept = (
        search(
            blobs, scoring, estimator=PolytomyClassifier(SVC(), keep_out_of_fold=keeps), cv=4
        ).cv_results_["mean_test_score"]
        for keeps in (False, True)
    )
    np.testing.assert_array_equal(kept, alone)


@pytest.mark.filterwarnings("error")
def test_problems_of_a_class_with_one_sample_are_calibrated(blobs, shared):
    X, y = blobs
    kept = np.append(np.flatnonzero(y != "elm"), np.flatnonzero(y == "elm")[0])
    found = search((X[kept], y[kept]), "log_loss", cv=5)
    assert shared == [9]
    own, alone = found.best_estimator_, PolytomyClassifier(found.best_estimator_.estimator)
    kinds = [
        [type(each.calibrator) for each in model.composition_.binaries]
        for model in (own, alone.fit(X[kept], y[kept]))
    ]
    assert kinds[0] == kinds[1]


def test_classes_whose_weight_is_zero_are_judged(blobs, shared):
    # No calibration learns from them, so there are no out-of-fold probabilities.
    estimator = PolytomyClassifier(SVC(), class_weight={"elm": 0.0})
    found = search(blobs, estimator=estimator, drop_losers=False)
    assert sum(shared) == 0
    assert found.best_score_ < np.mean(blobs[1] != "elm")


def test_overlapping_and_missing_rows_are_measured_fold_by_fold(blobs, shared):
    X, y = blobs
    splits = list(FOLDS.split(X, y))
    gap = [(rows[1:], held_out) for rows, held_out in splits]
    twice = [splits[0], splits[0], *splits[2:]]
    for cv in (gap, twice):
        search(blobs, cv=cv)
    assert shared == []


def test_samples_without_weight_are_not_judged(blobs, shared):
    X, y = blobs
    weight = np.ones(len(y))
    weight[::3] = 0.0
    weighted = search(blobs, fit_params={"sample_weight": weight}, drop_losers=False)
    splits = [
        (np.searchsorted(np.flatnonzero(weight), each[weight[each] > 0]) for each in split)
        for split in FOLDS.split(X, y)
    ]
    kept = (X[weight > 0], y[weight > 0])
    without = search(kept, cv=[tuple(split) for split in splits], drop_losers=False)
    assert shared == [9, 9]
    np.testing.assert_allclose(scores_by_fold(weighted), scores_by_fold(without), rtol=1e-6)


def broken_kernel(X, Y):
    raise OSError("the kernel is broken")


@pytest.mark.filterwarnings("always")
def test_a_failing_candidate_is_left_out_by_name(blobs, shared):
    grid = {"kernel": [broken_kernel, "rbf"]}
    with pytest.warns(FitFailedWarning, match=r"broken_kernel.*is broken"):
        found = search(blobs, param_grid=grid)
    assert shared == [1]
    assert found.best_params_ == {"kernel": "rbf"}
    assert "failed: OSError: the kernel is broken" in found.cv_results_["reason"][0]
    with pytest.raises(ArgumentError, match=r"broken_kernel.*is broken"):
        search(blobs, param_grid=grid, error_score="raise")


@pytest.mark.filterwarnings("ignore:candidate")
def test_a_metric_that_fails_for_a_candidate_leaves_it_out(blobs, shared, monkeypatch):
    original = FoldMeasurer.judge

    def judge(self, candidate, *arguments):
        if candidate.params["C"] == 1.0:
            raise ValueError("no such score")
        return original(self, candidate, *arguments)

    monkeypatch.setattr(FoldMeasurer, "judge", judge)
    found = search(blobs, "log_loss", param_grid={"C": [1.0, 10.0]})
    assert shared == [1]
    assert found.best_params_ == {"C": 10.0}
    assert found.cv_results_["reason"][0] == "failed: ValueError: no such score"


def test_as_many_candidates_as_a_pool_needs_are_kept(blobs):
    found = search(blobs, "log_loss", pool=7)
    assert (found.cv_results_["n_folds"] == N_FOLDS).sum() >= len(found.pool_) == 7
    proba = found.predict_proba(blobs[0])
    assert metrics.log_loss(blobs[1], proba, found.classes_) < -found.best_score_ * 1.2


def test_the_score_of_a_pool_depends_neither_on_the_order_of_rows_nor_on_those_without_weight(
    blobs,
):
    X, y = blobs
    random = np.random.default_rng(0)
    splits = list(FOLDS.split(X, y))
    shuffled = [tuple(random.permutation(each) for each in split) for split in splits]
    expected = search(blobs, "log_loss", pool=3, cv=splits).best_score_
    found = search(blobs, "log_loss", pool=3, cv=shuffled).best_score_
    assert found == pytest.approx(expected, rel=1e-6)
    more = np.vstack([X, X[:30] + 1.0]), np.concatenate([y, y[:30]])
    weight = np.repeat([1.0, 0.0], [len(y), 30])
    with_more = [
        (rows, np.concatenate([held_out, np.arange(len(y) + fold, len(y) + 30, N_FOLDS)]))
        for fold, (rows, held_out) in enumerate(splits)
    ]
    with_more = [
        (np.setdiff1d(np.arange(len(more[1])), held_out), held_out) for _, held_out in with_more
    ]
    options = {"pool": 3, "cv": with_more, "fit_params": {"sample_weight": weight}}
    assert search(more, "log_loss", **options).best_score_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("random_state", [0, None])
@pytest.mark.parametrize("scoring", ["accuracy", "log_loss"])
def test_if_few_rows_are_scored_they_are_the_same_for_all_candidates(
    blobs, shared, monkeypatch, scoring, random_state
):
    for module in (out_of_fold, measuring):
        monkeypatch.setattr(module, "MOST_SCORES", 6 * 200)
    monkeypatch.setattr(measuring, "_MOST_TOGETHER", 6 * 200 * 2)
    judged = []
    original = FoldMeasurer.judge

    def judge(self, candidate, held_out, scores, winners):
        judged.append(tuple(held_out))
        return original(self, candidate, held_out, scores, winners)

    monkeypatch.setattr(FoldMeasurer, "judge", judge)
    grid = [{"kernel": ["linear"], "C": [0.1, 1.0, 10.0]}, {"gamma": [0.1]}]
    options = {"random_state": random_state, "drop_losers": scoring == "accuracy"}
    found = search(blobs, scoring, param_grid=grid, candidates=["one-vs-one", "tree"], **options)
    assert shared == [8]
    parts = set(judged)
    assert len(parts) == N_FOLDS
    assert sum(map(len, parts)) == 200
    if random_state is None or scoring == "accuracy":
        return
    X, y = blobs
    alone = PolytomyClassifier(
        SVC(tol=1e-6, kernel="linear", C=1.0), cv=list(FOLDS.split(X, y)), random_state=0
    ).fit(X, y)
    (k,) = np.flatnonzero(found.cv_results_["candidate"] == "one-vs-one, C=1.0 kernel=linear")
    share = [len(set(rows) & set(np.concatenate(judged[:5]))) for _, rows in FOLDS.split(X, y)]
    mean = np.average(-scores_by_fold(found)[k], weights=share)
    assert mean == pytest.approx(alone.composition_.final.score["log_loss"], rel=1e-5)


def test_votes_have_the_weights_of_the_score(blobs):
    # Balancing the sides of each pair gives rare classes more weight in the calibration alone.
    X, y = blobs
    kept = np.flatnonzero((y != "elm") | (np.arange(len(y)) % 8 == 0))
    candidates = {"a": "one-vs-one"}
    grid = {"C": [0.001, 1.0], "gamma": [0.01, 30.0]}
    estimator = PolytomyClassifier(SVC(), class_weight="balanced-per-partition")
    gaps = []

    def note(gap, error, n_values):
        gaps.append(gap)
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "is_clear_loss", note)
        found = search(
            (X[kept], y[kept]), estimator=estimator, candidates=candidates, param_grid=grid
        )
    n_rows = len(kept)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    np.testing.assert_allclose(
        np.array(gaps) * n_rows, np.round(np.array(gaps) * n_rows), atol=1e-8
    )


def test_few_samples_drop_nothing(blobs, shared):
    X, y = blobs
    found = search((X[:28], y[:28]), cv=5)  # the default
    assert shared == [9]
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
