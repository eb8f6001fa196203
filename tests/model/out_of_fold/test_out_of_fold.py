"""Out-of-fold scores: those of models that scikit-learn trains without the row's fold."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, parse
from polytomy.errors import CalibrationWarning
from polytomy.model import out_of_fold

N_ROWS, N_FOLDS = 90, 3
FOLD_OF = np.random.default_rng(5).permutation(np.arange(N_ROWS) % N_FOLDS)
SPLITS = [(np.flatnonzero(f != FOLD_OF), np.flatnonzero(f == FOLD_OF)) for f in range(N_FOLDS)]

# The tolerance makes both solvers go to the same solution.
MACHINE = SVC(C=3, gamma=0.2, tol=1e-8)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(N_ROWS, 3, centers=4, cluster_std=4.0, random_state=1)


def fit(X, y, estimator=MACHINE, scheme="one-vs-one", fit_params=None, **parameters):
    parameters = {"cv": SPLITS, "random_state": 0, "final_calibration": "bias"} | parameters
    classifier = PolytomyClassifier(estimator, scheme, **parameters)
    return classifier.fit(X, y, **(fit_params or {}))


def margins(model, X):
    return model.decision_function(X)


def log_odds(model, X):
    proba = model.predict_proba(X)
    return np.log(proba[:, 1]) - np.log(proba[:, 0])


def differences(model, X):
    proba = model.predict_proba(X)
    return proba[:, 1] - proba[:, 0]


def expected_scores(classifier, X, y, estimator, score, weight=None, fold_of=FOLD_OF):
    """Train each binary without each fold, and let it score the rows of the fold: all of them."""
    indices = np.searchsorted(classifier.classes_, y)
    scores = np.empty((len(y), len(classifier.composition_.dichotomies)))
    for column, each in enumerate(classifier.composition_.dichotomies):
        is_positive = np.isin(indices, each.positive)
        is_member = is_positive | np.isin(indices, each.negative)
        for fold in range(fold_of.max() + 1):
            chosen = is_member & (fold_of != fold)
            chosen &= True if weight is None else weight > 0
            arguments = {} if weight is None else {"sample_weight": weight[chosen]}
            model = clone(estimator).fit(X[chosen], is_positive[chosen].astype(int), **arguments)
            is_own = np.flatnonzero(fold_of == fold)
            scores[is_own, column] = score(model, X[is_own])
    return scores


def assert_scores(classifier, expected, rtol=1e-4, atol=1e-5):
    found = classifier.composition_.out_of_fold
    assert found.scores.dtype == np.float32
    np.testing.assert_allclose(found.scores, expected[found.rows], rtol=rtol, atol=atol)


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "tree", "random-trees"])
def test_machines_on_the_shared_matrix_score_rows_inside_and_outside_their_problems(scheme, blobs):
    X, y = blobs
    classifier = fit(X, y, scheme=scheme)
    assert_scores(classifier, expected_scores(classifier, X, y, MACHINE, margins))


@pytest.mark.parametrize(
    ("estimator", "calibration", "score"),
    [
        (LinearSVC(C=0.1, dual=False, tol=1e-10), "auto", margins),
        (make_pipeline(StandardScaler(), MACHINE), "auto", margins),
        (LogisticRegression(tol=1e-10), "auto", differences),
        (LogisticRegression(tol=1e-10), "sigmoid", margins),
        (GaussianNB(), "isotonic", log_odds),
        (GaussianNB(), None, differences),
    ],
)
def test_any_estimator_scores_all_rows(estimator, calibration, score, blobs):
    X, y = blobs
    classifier = fit(X, y, estimator, calibration=calibration)
    assert_scores(classifier, expected_scores(classifier, X, y, estimator, score))


def test_sparse_samples_and_rows_on_demand_have_the_same_scores(blobs):
    X, y = blobs
    expected = expected_scores(fit(X, y), X, y, MACHINE, margins)
    assert_scores(fit(scipy.sparse.csr_array(X), y), expected)
    assert_scores(fit(X, y, memory_budget=40_000), expected)


def test_a_precomputed_kernel_has_the_same_scores(blobs):
    X, y = blobs
    estimator = SVC(C=3, kernel="precomputed", tol=1e-8)
    classifier = fit(rbf_kernel(X, gamma=0.2), y, estimator)
    assert_scores(classifier, expected_scores(classifier, X, y, MACHINE, margins))


@pytest.mark.parametrize("estimator", [MACHINE, LinearSVC(C=0.1, dual=False, tol=1e-10)])
def test_weights_are_those_of_training_and_rows_without_weight_are_not_scored(estimator, blobs):
    X, y = blobs
    weight = np.random.default_rng(0).uniform(0.2, 3, N_ROWS)
    weight[::9] = 0.0
    classifier = fit(X, y, estimator, fit_params={"sample_weight": weight})
    found = classifier.composition_.out_of_fold
    np.testing.assert_array_equal(found.rows, np.flatnonzero(weight))
    np.testing.assert_array_equal(found.weight, weight[weight > 0])
    assert_scores(classifier, expected_scores(classifier, X, y, estimator, margins, weight))


def test_class_weights_are_weights(blobs):
    X, y = blobs
    by_class = {0: 3.0, 1: 1.0, 2: 0.5, 3: 1.0}
    weight = np.array([by_class[label] for label in y])
    classifier = fit(X, y, class_weight=by_class)
    np.testing.assert_array_equal(classifier.composition_.out_of_fold.weight, weight)
    assert_scores(classifier, expected_scores(classifier, X, y, MACHINE, margins, weight))


def test_classes_count_alike_if_both_sides_of_each_problem_do(blobs):
    X, y = blobs[0][5:], blobs[1][5:]
    classifier = fit(X, y, cv=3, class_weight="balanced-per-partition")
    found = classifier.composition_.out_of_fold
    totals = np.bincount(found.class_indices, found.weight)
    np.testing.assert_allclose(totals, len(y) / 4)


@pytest.mark.parametrize("estimator", [MACHINE, GaussianNB()])
def test_a_fold_without_one_side_gives_every_row_the_same_score(estimator, blobs):
    X, y = blobs
    y = np.where(y == 3, 2, y)
    lone = int(np.flatnonzero(FOLD_OF == 1)[0])
    y[lone] = 3
    classifier = fit(X, y, estimator)
    found = classifier.composition_.out_of_fold
    for column, each in enumerate(classifier.composition_.dichotomies):
        if each.positive == (3,) or each.negative == (3,):
            other = np.isin(y, [*each.positive, *each.negative]) & (FOLD_OF != 1) & (y != 3)
            seen = np.count_nonzero(other)
            # LIBSVM's score of such a fold, or Laplace's rule of succession for probabilities.
            size = 1.0 if estimator is MACHINE else seen / (seen + 2)
            side = -1.0 if each.positive == (3,) else 1.0
            scores = found.scores[FOLD_OF[found.rows] == 1, column]
            np.testing.assert_allclose(scores, side * size, rtol=1e-6)


def test_models_trained_elsewhere_score_all_rows_themselves(blobs):
    X, y = blobs
    is_low = np.isin(y, [0, 1])
    fitted = SVC(C=1, gamma=0.1).fit(X, ~is_low)
    scheme = parse("given {own {0 1} other {2 3}}")
    classifier = fit(X, y, scheme=scheme, models={"given": fitted})
    found = classifier.composition_.out_of_fold
    (column,) = [
        k for k, each in enumerate(classifier.composition_.dichotomies) if each.trained is not None
    ]
    expected = classifier.composition_.binaries[column].scores(X)
    np.testing.assert_allclose(found.scores[:, column], expected, rtol=1e-5, atol=1e-6)
    others = [k for k in range(3) if k != column]
    by_hand = expected_scores(classifier, X, y, MACHINE, margins)
    np.testing.assert_allclose(found.scores[:, others], by_hand[:, others], rtol=1e-4, atol=1e-5)


def test_models_trained_elsewhere_are_calibrated_on_the_given_rows():
    X, y = load_digits(return_X_y=True)
    before, given, new = np.split(np.random.default_rng(0).permutation(len(y)), [600, 1200])
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X[before], y[before])
    own = log_loss(y[new], forest.predict_proba(X[new]))
    frozen = PolytomyClassifier(FrozenEstimator(forest), "direct", random_state=0)
    frozen.fit(X[given], y[given])
    by_name = PolytomyClassifier(
        scheme="forest 0 / 1 / 2 / 3 / 4 / 5 / 6 / 7 / 8 / 9; {0 1 2 3 4 5 6 7 8 9}",
        models={"forest": forest},
        random_state=0,
    ).fit(X[given], y[given])
    for classifier in (frozen, by_name):
        assert classifier.estimators_ == [forest]
        scores = classifier.composition_.out_of_fold
        np.testing.assert_array_equal(scores.rows, np.arange(len(given)))
        np.testing.assert_allclose(
            scores.scores, 2 * forest.predict_proba(X[given]) - 1, rtol=1e-6, atol=1e-6
        )
        found = log_loss(y[new], classifier.predict_proba(X[new]))
        assert found < 0.5 * own
        assert classifier.out_of_fold_score_["log_loss"] == pytest.approx(found, rel=0.2)
        assert classifier.predict_set(X[new]).any(axis=1).all()
    np.testing.assert_allclose(frozen.predict_proba(X[new]), by_name.predict_proba(X[new]))
    plain = PolytomyClassifier(FrozenEstimator(forest), "direct", final_calibration=None)
    plain.fit(X[given], y[given])
    np.testing.assert_allclose(plain.predict_proba(X), forest.predict_proba(X), atol=1e-12)


def test_a_frozen_model_of_two_classes_is_calibrated_too(blobs):
    X, y = blobs[0][blobs[1] < 2], blobs[1][blobs[1] < 2]
    model = LogisticRegression().fit(X, y)
    classifier = PolytomyClassifier(FrozenEstimator(model), "direct").fit(X, y)
    assert classifier.composition_.final is not None
    assert classifier.estimators_ == [model]


@pytest.mark.parametrize("estimator", [MACHINE, GaussianNB()])
def test_fewer_rows_are_scored_if_memory_would_not_hold_all(estimator, blobs, monkeypatch):
    X, y = blobs
    every = fit(X, y, estimator).composition_.out_of_fold
    monkeypatch.setattr(out_of_fold, "MOST_SCORES", 6 * 20)
    classifier = fit(X, y, estimator, keep_out_of_fold=True)
    some = classifier.composition_.out_of_fold
    assert some.scores.shape == (20, 6)
    assert some.n_rows == N_ROWS
    np.testing.assert_allclose(some.scores, every.scores[some.rows], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(some.class_indices, y[some.rows])
    np.testing.assert_array_equal(some.fold_of, FOLD_OF[some.rows])
    proba = classifier.out_of_fold_proba_
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(proba[:, 0])), some.rows)
    # The binaries and their calibrators know nothing of it.
    np.testing.assert_array_equal(
        classifier.decisions(X), fit(X, y, estimator, final_calibration="bias").decisions(X)
    )


@pytest.mark.parametrize("estimator", [MACHINE, GaussianNB()])
def test_a_fold_none_of_whose_rows_are_scored_is_left_out(estimator, blobs):
    X, y = blobs
    weight = np.where(FOLD_OF == 2, 0.0, 1.0)
    found = fit(X, y, estimator, fit_params={"sample_weight": weight}).composition_.out_of_fold
    assert set(found.fold_of) == {0, 1}
    assert np.isfinite(found.scores).all()


def test_groups_are_never_divided(blobs):
    X, y = blobs
    groups = np.arange(N_ROWS) // 6
    twins = np.concatenate([X, X]), np.concatenate([y, y])
    classifier = fit(*twins, cv=GroupKFold(5), fit_params={"groups": np.tile(groups, 2)})
    found = classifier.composition_.out_of_fold
    np.testing.assert_array_equal(found.fold_of[:N_ROWS], found.fold_of[N_ROWS:])
    expected = expected_scores(classifier, *twins, MACHINE, margins, fold_of=found.fold_of)
    assert_scores(classifier, expected)


def test_own_probabilities_are_held_out_for_no_more_rows_than_suffice(blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr(out_of_fold, "_ENOUGH_ROWS", 40)
    some = fit(X, y, LogisticRegression(), final_calibration="auto").composition_.out_of_fold
    assert set(some.fold_of) == {0, 1}
    # Folds that are made anyway are all used, and so are those that were asked for.
    for estimator, option in [(MACHINE, "auto"), (LogisticRegression(), "bias")]:
        found = fit(X, y, estimator, final_calibration=option).composition_.out_of_fold
        assert set(found.fold_of) == {0, 1, 2}


def test_a_fold_that_cannot_be_trained_leaves_no_final_calibration(blobs):
    X, y = blobs
    rows = np.concatenate([np.flatnonzero(y == label)[:6] for label in range(4)])
    with pytest.warns(CalibrationWarning, match="a fold cannot be fitted"):
        classifier = fit(X[rows], y[rows], KNeighborsClassifier(10), cv=3)
    assert classifier.composition_.final is None
    assert classifier.composition_.out_of_fold is None
    assert not hasattr(classifier, "out_of_fold_score_")


def test_a_binary_without_a_calibrator_is_scored_as_it_answers(blobs):
    # Only rows of class 3 are held out: no problem has both sides to calibrate with.
    X, y = blobs
    held_out = np.flatnonzero(y == 3)[:10]
    splits = [(np.setdiff1d(np.arange(N_ROWS), held_out), held_out)]
    with pytest.warns(CalibrationWarning, match="only samples of one side"):
        classifier = fit(X, y, LogisticRegression(tol=1e-10), cv=splits, calibration="sigmoid")
    found = classifier.composition_.out_of_fold
    # Its own probabilities are used instead, so these are the scores: none is beyond one.
    assert np.abs(found.scores).max() <= 1
    expected = expected_scores(
        classifier,
        X,
        y,
        LogisticRegression(tol=1e-10),
        differences,
        fold_of=np.where(np.isin(np.arange(N_ROWS), held_out), 0, -1),
    )
    np.testing.assert_allclose(found.scores, expected[found.rows], rtol=1e-4, atol=1e-5)


def test_a_shuffle_split_scores_the_rows_that_it_holds_out(blobs):
    X, y = blobs
    cv = StratifiedShuffleSplit(1, test_size=0.4, random_state=0)
    classifier = fit(X, y, cv=cv, keep_out_of_fold=True)
    ((_, held_out),) = cv.split(X, y)
    np.testing.assert_array_equal(classifier.composition_.out_of_fold.rows, np.sort(held_out))
    assert np.isnan(classifier.out_of_fold_proba_).any(axis=1).sum() == N_ROWS - len(held_out)


def test_folds_are_the_same_whatever_the_number_of_jobs(blobs):
    X, y = blobs
    one, two = (fit(X, y, LogisticRegression(), cv=4, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(
        one.composition_.out_of_fold.scores, two.composition_.out_of_fold.scores
    )


def test_one_class_has_nothing_to_calibrate(blobs):
    X, _ = blobs
    classifier = fit(X, np.zeros(N_ROWS, dtype=int), cv=3)
    assert classifier.composition_.out_of_fold is None
    np.testing.assert_array_equal(classifier.predict_proba(X), 1.0)


@pytest.mark.parametrize(
    ("estimator", "has_scores"), [(GaussianNB(), False), (LinearSVC(dual=False), True)]
)
def test_votes_need_no_folds_unless_the_binaries_do(estimator, has_scores, blobs):
    classifier = PolytomyClassifier(estimator, solver="voting", random_state=0).fit(*blobs)
    assert (classifier.composition_.out_of_fold is not None) == has_scores
