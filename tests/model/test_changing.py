"""Classes that come and go: binaries that do not need them stay, and all else stays right."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.designs import design
from polytomy.errors import ArgumentError, CalibrationWarning
from polytomy.solvers import decode

NEW = 7
SCHEMES = {
    "one-vs-one": "one-vs-one",
    "one-vs-rest": "one-vs-rest",
    "tree": "tree",
    "cluster-tree": "cluster-tree",
    "orthogonal": "orthogonal",
    "hierarchy": {"low": {"a": [0, 1], "b": [2, 3]}, "high": [4, 5, 6]},
    "pool": ["one-vs-one", "tree"],
}


def make_samples(n_classes=8, n_of_class=20, seed=0, n_features=8):
    random = np.random.default_rng(seed)
    means = 2.5 * np.random.default_rng(99).normal(size=(100, n_features))[:n_classes]
    y = np.tile(np.arange(n_classes), n_of_class)
    return means[y] + random.normal(size=(len(y), n_features)), y


def fit_known(X, y, estimator=None, scheme="one-vs-one", **options):
    """A classifier that does not know the class NEW."""
    options = {"random_state": 0, "cv": 3, **options}
    return PolytomyClassifier(estimator or SVC(), scheme, **options).fit(X[y != NEW], y[y != NEW])


def identities(classifier):
    return {id(each) for each in classifier.binaries_}


@pytest.fixture(scope="module")
def samples():
    return make_samples()


@pytest.fixture(scope="module")
def pairwise(samples):
    known = fit_known(*samples)
    return known, known.with_classes(*samples)


@pytest.fixture(scope="module", params=SCHEMES)
def case(request, samples):
    known = fit_known(*samples, scheme=SCHEMES[request.param])
    return known, known.with_classes(*samples)


# -- more classes ----------------------------------------------------------------------------------


def test_all_binaries_that_do_not_need_the_new_class_stay(case):
    before, after = case
    composition = after.composition_
    needs = [NEW in {*each.negative, *each.positive} for each in composition.dichotomies]
    kept = [each for each, own in zip(composition.binaries, needs, strict=True) if not own]
    assert {id(each) for each in kept} <= identities(before)
    is_counted = [each.is_counted for each in composition.dichotomies]
    n_trained = np.count_nonzero(np.logical_and(needs, is_counted))
    assert after.class_change_ == ([NEW], [], sum(is_counted) - n_trained, n_trained)


def test_a_larger_classifier_is_about_as_good_as_one_fitted_to_all_classes(case, samples):
    _, after = case
    X, y = make_samples(seed=1, n_of_class=40)
    fresh = PolytomyClassifier(SVC(), after.scheme_, random_state=0, cv=3).fit(*samples)
    assert after.classes_.tolist() == fresh.classes_.tolist()
    # The standard error of a difference between 320 samples is about 0.01.
    assert after.score(X, y) > fresh.score(X, y) - 0.03
    assert after.score(X[y == NEW], y[y == NEW]) > 0.9
    measures = [each.out_of_fold_score_["log_loss"] for each in (after, fresh)]
    assert abs(measures[0] - measures[1]) < 0.5 * measures[1]


def test_a_class_that_is_added_and_removed_leaves_the_same_binaries_and_probabilities(
    pairwise, samples
):
    before, after = pairwise
    again = after.without_classes(NEW)
    assert identities(again) == identities(before)
    assert again.scheme_ == before.scheme_
    assert again.classes_.tolist() == before.classes_.tolist()
    assert np.allclose(again.prior_, before.prior_)
    scores = [each.composition_.out_of_fold.scores for each in (again, before)]
    assert np.array_equal(*scores)
    X, _ = make_samples(seed=2)
    assert np.allclose(again.predict_proba(X), before.predict_proba(X), atol=1e-5)


def test_stored_scores_are_used_for_known_classes_and_binaries_score_new_ones(pairwise, samples):
    before, after = pairwise
    X, y = samples
    stored, own = before.composition_.out_of_fold, after.composition_.out_of_fold
    n_kept = len(before.binaries_)
    is_new = y == NEW
    assert np.array_equal(own.rows, np.arange(len(y)))
    assert np.array_equal(own.scores[~is_new, :n_kept], stored.scores)
    assert np.array_equal(own.fold_of[~is_new], stored.fold_of)
    scored = before.composition_.bank.scores(X[is_new]).astype(np.float32)
    assert np.allclose(own.scores[is_new, :n_kept], scored, rtol=1e-6)


def test_scores_of_trained_binaries_are_from_models_without_the_fold(pairwise, samples):
    _, after = pairwise
    X, y = samples
    scores = after.composition_.out_of_fold
    gamma = after.binaries_[0].estimator.kernel.gamma
    pair, fold = (y == 0) | (y == NEW), scores.fold_of == 1
    machine = SVC(gamma=gamma).fit(X[pair & ~fold], y[pair & ~fold])
    column = [each.binary.text for each in after.scheme_.partitions].index("one-vs-one-21")
    assert np.allclose(scores.scores[fold, column], machine.decision_function(X[fold]), atol=1e-2)


def test_new_machines_share_the_kernel_of_the_others(samples):
    known = fit_known(*samples)
    after = known.with_classes(*samples)
    assert len({each.estimator.kernel for each in after.binaries_}) == 1


@pytest.mark.parametrize("order", ["as it was", "shuffled", "as a sparse matrix"])
def test_rows_are_recognised_by_their_values(pairwise, samples, order):
    import scipy

    X, y = samples
    rows = np.arange(len(y))
    if order == "shuffled":
        rows = np.random.default_rng(0).permutation(len(y))
    X, y = X[rows], y[rows]
    before, _ = pairwise
    given = scipy.sparse.csr_array(X) if order == "as a sparse matrix" else X
    own = before.with_classes(given, y).composition_.out_of_fold
    stored = before.composition_.out_of_fold
    place = {row: k for k, row in enumerate(np.flatnonzero(samples[1] != NEW))}
    known = np.flatnonzero(y != NEW)
    expected = stored.scores[[place[row] for row in rows[known]]]
    assert np.array_equal(own.scores[known, : len(before.binaries_)], expected)


def test_rows_that_are_not_recognised_are_trained_on_but_not_calibrated_on(pairwise, samples):
    X, y = samples
    before, _ = pairwise
    X = X.copy()
    X[:30] += 1e-3
    scores = before.with_classes(X, y).composition_.out_of_fold
    expected = [row for row in range(len(y)) if row >= 30 or y[row] == NEW]
    assert scores.rows.tolist() == expected
    # Each class still has the weight that its share of the data gives it.
    weights = np.bincount(scores.class_indices, scores.weight)
    assert np.allclose(weights, len(expected) / 8)


def test_if_no_row_is_recognised_all_are_new_to_the_binaries(pairwise):
    before, _ = pairwise
    X, y = make_samples(seed=3, n_of_class=15)
    scores = before.with_classes(X, y).composition_.out_of_fold
    assert scores.rows.tolist() == list(range(len(y)))
    own = before.composition_.bank.scores(X)
    assert np.allclose(scores.scores[:, : own.shape[1]], own, rtol=1e-5)


def test_class_frequencies_and_weights_are_those_of_the_data(samples):
    X, y = samples
    weight = np.where(y == NEW, 3.0, 1.0)
    known = PolytomyClassifier(SVC(), random_state=0, cv=3)
    known.fit(X[y != NEW], y[y != NEW], sample_weight=weight[y != NEW])
    after = known.with_classes(X, y, sample_weight=weight)
    assert np.allclose(after.prior_, [0.1] * 7 + [0.3])
    scores = after.composition_.out_of_fold
    assert np.allclose(np.bincount(scores.class_indices, scores.weight), [20] * 7 + [60])


def test_priors_and_costs_are_reset_as_in_fit(pairwise, samples):
    known, after = pairwise
    changed = known.with_prior(np.arange(7) / 21).with_cost(reject_cost=0.2)
    again = changed.with_classes(*samples)
    X, _ = make_samples(seed=20)
    assert np.allclose(again.predict_proba(X), after.predict_proba(X))
    assert again.composition_.costs is None


def test_sets_contain_the_true_class_as_often_as_they_promise(case):
    _, after = case
    X, y = make_samples(seed=4, n_of_class=40)
    sets = after.predict_set(X, 0.9)
    # 320 samples, and 160 that sets are compared with: three standard errors are 0.08.
    assert sets[np.arange(len(y)), y].mean() > 0.9 - 0.08


def test_a_part_that_is_held_out_for_good_stays_held_out(samples):
    known = fit_known(*samples, cv=0.25)
    after = known.with_classes(*samples)
    before, scores = known.composition_.out_of_fold, after.composition_.out_of_fold
    is_known = scores.class_indices != NEW
    assert np.array_equal(scores.scores[is_known, : len(known.binaries_)], before.scores)
    assert 0 < np.count_nonzero(~is_known) < 20


def test_estimators_with_probabilities_and_few_folds(samples):
    known = fit_known(*samples, estimator=LogisticRegression())
    after = known.with_classes(*samples)
    assert identities(known) < identities(after)
    assert after.score(*make_samples(seed=5)) > 0.9


class Unhashable(LogisticRegression):
    """An estimator that compares by its parameters, as those of CatBoost do."""

    def __eq__(self, other):
        return type(self) is type(other) and self.get_params() == other.get_params()

    __hash__ = None


def test_estimators_need_no_hash(samples):
    known = fit_known(*samples, estimator=Unhashable())
    assert known.with_classes(*samples).class_change_[2:] == (21, 7)


def test_several_classes_and_text_labels(samples):
    X, y = samples
    names = np.array(["oak", "fir", "ash", "elm", "yew", "bay", "fig", "box"])
    y = names[y]
    is_known = ~np.isin(y, ["bay", "ash"])
    known = PolytomyClassifier(SVC(), "tree", random_state=0).fit(X[is_known], y[is_known])
    after = known.with_classes(X, y)
    assert after.classes_.tolist() == sorted(names)
    assert after.class_change_.added == ["ash", "bay"]
    X_new, y_new = make_samples(seed=6)
    assert after.score(X_new, names[y_new]) > 0.9


def test_two_classes_become_three_pairs(samples):
    X, y = samples
    chosen, known = y < 3, y < 2
    after = PolytomyClassifier(SVC(), random_state=0).fit(X[known], y[known])
    after = after.with_classes(X[chosen], y[chosen])
    assert after.scheme_.code.is_one_vs_one
    assert after.class_change_[2:] == (1, 2)


def test_a_single_class_becomes_a_fresh_fit(samples):
    X, y = samples
    after = PolytomyClassifier(SVC(), cv=3, random_state=0).fit(X[y == 0], y[y == 0])
    after = after.with_classes(X, y)
    fresh = PolytomyClassifier(SVC(), cv=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(after.predict_proba(X), fresh.predict_proba(X))
    assert after.out_of_fold_score_ == fresh.out_of_fold_score_
    assert after.without_classes([NEW]).with_classes(X, y).class_change_.n_kept == 21


def test_labels_that_are_paths_name_the_place_of_a_new_class(samples):
    X, y = samples
    names = np.array([f"{'low' if k < 4 else 'high'}/{k}" for k in range(8)])
    X = np.where((y == NEW)[:, np.newaxis], np.roll(X, 4, axis=0), X)  # near "low/3"
    known = PolytomyClassifier(SVC(), "paths", cv=3, random_state=0)
    known.fit(X[y != NEW], names[y[y != NEW]])
    after = known.with_classes(X, names[y])
    assert str(after.scheme_) == str(design("paths", sorted(names.tolist())))
    assert (after.scheme, after.class_change_.n_kept) == ("paths", 1)


def test_a_scheme_can_be_given(samples):
    known = fit_known(*samples)
    pairs = " ".join(f"m{a}{b} {a} / {b};" for b in range(8) for a in range(b))
    after = known.with_classes(*samples, scheme=f"{pairs} {{7 6 5 4 3 2 1 0}}")
    assert identities(known) < identities(after)
    assert after.score(*make_samples(seed=7)) > 0.9
    swapped = " ".join(f"m{a}{b} {b} / {a};" for b in range(8) for a in range(b))
    again = known.with_classes(*samples, scheme=f"{swapped} {{7 6 5 4 3 2 1 0}}")
    X, _ = make_samples(seed=8)
    # LIBSVM's steps depend on the order of the sides, and end within a tolerance.
    assert np.allclose(again.predict_proba(X), after.predict_proba(X), atol=1e-3)


def test_shared_transformers_stay(samples):
    X, y = samples
    machine = make_pipeline(StandardScaler(), SVC())
    known = fit_known(X * 5 + 3, y, machine, shared_preprocessing=True)
    after = known.with_classes(X * 5 + 3, y)
    assert after.preprocessing_ is known.preprocessing_
    assert identities(known) < identities(after)
    X_new, y_new = make_samples(seed=9)
    assert after.score(X_new * 5 + 3, y_new) > 0.9


def test_models_that_were_fitted_elsewhere_stay(samples):
    X, y = samples
    model = LogisticRegression().fit(X[y != NEW], y[y != NEW])
    known = fit_known(X, y, FrozenEstimator(model), "direct")
    after = known.with_classes(X, y)
    assert after.class_change_[2:] == (1, 1)
    assert after.score(*make_samples(seed=10)) > 0.9


def test_a_stream_goes_on_with_more_classes(samples):
    X, y = samples
    known = PolytomyClassifier(SGDClassifier(random_state=0), random_state=0)
    known.partial_fit(X[y != NEW], y[y != NEW], classes=np.arange(7))
    with pytest.warns(CalibrationWarning, match="no longer have a final calibration"):
        after = known.with_classes(X, y)
    assert after.partial_fit(*make_samples(seed=11)).score(X, y) > 0.8


@pytest.mark.parametrize("out_of_fold", [True, False])
def test_saved_models_can_be_extended(tmp_path, pairwise, samples, out_of_fold):
    known, after = pairwise
    pt.save(known, tmp_path / "m.polytomy", out_of_fold=out_of_fold)
    loaded = pt.load(tmp_path / "m.polytomy")
    X, _ = make_samples(seed=12)
    if out_of_fold:
        again = loaded.set_params(random_state=0, cv=3).with_classes(*samples)
        assert np.allclose(again.predict_proba(X), after.predict_proba(X), atol=1e-5)
        return
    with pytest.warns(CalibrationWarning, match="no longer have a final calibration"):
        again = loaded.with_classes(*samples)
    assert again.composition_.final is None
    assert np.allclose(again.decisions(X)[:, :21], known.decisions(X))


@pytest.mark.parametrize("seed", range(3))
def test_digits_learn_the_tenth(seed):
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))
    (X, X_new), (y, y_new) = [np.split(each[rows], [600]) for each in (X, y)]
    new = [9, 3, 0][seed]
    known = PolytomyClassifier(SVC(C=10), "one-vs-rest", random_state=0)
    after = known.fit(X[y != new], y[y != new]).with_classes(X, y)
    fresh = PolytomyClassifier(SVC(C=10), "one-vs-rest", random_state=0).fit(X, y)
    assert after.class_change_[2:] == (9, 1)
    assert after.score(X_new, y_new) > fresh.score(X_new, y_new) - 0.01


def test_one_more_class_than_a_hundred():
    X, y = make_samples(n_classes=100, n_of_class=8)
    known = PolytomyClassifier(SVC(), "cluster-tree", random_state=0, cv=2)
    after = known.fit(X[y < 99], y[y < 99]).with_classes(X, y)
    fresh = PolytomyClassifier(SVC(), "cluster-tree", random_state=0, cv=2).fit(X, y)
    assert after.class_change_.n_kept > 80
    X, y = make_samples(n_classes=100, n_of_class=8, seed=1)
    assert after.score(X, y) > fresh.score(X, y) - 0.05


def test_the_progress_tells_how_many_binaries_are_trained(samples, capsys):
    fit_known(*samples).set_params(verbose=1).with_classes(*samples)
    assert "21 binaries are kept, 7 are trained" in capsys.readouterr().err


def test_ordered_classes_need_the_place_of_new_ones(samples):
    pandas = pytest.importorskip("pandas")
    X, y = samples
    names = np.array(list("hgfedcba"))[y]
    order = list("hgfedcba")
    known = fit_known(X, y, scheme="adjacent", class_order=list(range(7))[::-1])
    with pytest.raises(ArgumentError, match="y does not say where the new ones belong"):
        known.with_classes(X, y)
    is_old = y != NEW
    known = PolytomyClassifier(SVC(), "adjacent", class_order=order[:-1], random_state=0)
    known.fit(X[is_old], names[is_old])
    after = known.with_classes(X, pandas.Categorical(names, order, ordered=True))
    assert after.class_order_ == order
    assert fit_known(X, y, scheme="adjacent").with_classes(X, y).class_order_ == list(range(8))
    written = np.array([*"12345678", "10"])[np.where(y == NEW, 8, y)]
    known = PolytomyClassifier(SVC(), "adjacent", random_state=0).fit(X[is_old], written[is_old])
    assert known.with_classes(X, written).class_order_ == [*"1234567", "10"]


def refuse(match, call):
    with pytest.raises(ArgumentError, match=match):
        call()


def test_what_cannot_be_extended_says_why(pairwise, samples):
    known, after = pairwise
    X, y = samples
    refuse("y has no class that the classifier does not know", lambda: after.with_classes(X, y))
    refuse("y has no samples of 2, 4. .*pass samples of every class", lambda: known.with_classes(
        X[~np.isin(y, [2, 4])], y[~np.isin(y, [2, 4])]))  # fmt: skip
    refuse("Use labels of the same type", lambda: known.with_classes(X, y.astype(str)))
    splits = fit_known(X, y, cv=StratifiedKFold(3))
    refuse("cannot continue the folds", lambda: splits.with_classes(X, y))
    fast = known.compress(X[y != NEW], y[y != NEW], method="cascade", max_accuracy_loss=1.0)
    refuse("is compressed", lambda: fast.with_classes(X, y))
    refuse("is compressed", lambda: fast.without_classes(0))


# -- fewer classes ---------------------------------------------------------------------------------


def test_removing_classes_trains_nothing(case):
    _, after = case
    smaller = after.without_classes([1, 5])
    assert identities(smaller) <= identities(after)
    assert smaller.classes_.tolist() == [0, 2, 3, 4, 6, 7]
    assert smaller.class_change_[:2] == ([], [1, 5])
    assert smaller.class_change_.n_trained == 0
    X, y = make_samples(seed=13)
    is_left = ~np.isin(y, [1, 5])
    assert np.allclose(smaller.predict_proba(X).sum(axis=1), 1.0)
    assert smaller.score(X[is_left], y[is_left]) > 0.9
    assert smaller.predict_set(X[is_left]).shape[1] == 6


def test_pairs_of_other_classes_are_solved_as_one_vs_one(samples):
    X, y = samples
    whole = PolytomyClassifier(SVC(), final_calibration=None, random_state=0).fit(X, y)
    smaller = whole.without_classes([2, 6])
    X, _ = make_samples(seed=14)
    classes = [0, 1, 3, 4, 5, 7]
    pairs = [each.side_classes for each in whole.scheme_.partitions]
    is_left = [{a[0], b[0]} <= {*classes} for a, b in pairs]
    expected = decode(design("one-vs-one", classes), whole.decisions(X)[:, is_left])
    assert np.allclose(smaller.predict_proba(X), expected, atol=1e-12)


def test_a_model_of_all_classes_answers_with_the_probabilities_of_those_left(samples):
    X, y = samples
    whole = PolytomyClassifier(
        LogisticRegression(), "direct", final_calibration=None, random_state=0
    ).fit(X, y)
    for gone in ([2], [2, 6], [0, 1, 2, 3, 4, 5]):
        expected = np.delete(whole.predict_proba(X), gone, axis=1)
        expected /= expected.sum(axis=1, keepdims=True)
        smaller = whole.without_classes(gone)
        assert np.allclose(smaller.predict_proba(X), expected, atol=1e-9)


def test_a_pool_with_a_model_of_all_classes_loses_one(samples):
    X, y = samples
    pool = PolytomyClassifier(
        LogisticRegression(), ["one-vs-one", "direct"], final_calibration=None, random_state=0
    ).fit(X, y)
    parts = [
        PolytomyClassifier(LogisticRegression(), scheme, final_calibration=None).fit(X, y)
        for scheme in pool.scheme_.schemes
    ]
    shares = [np.delete(each.predict_proba(X), 2, axis=1) for each in parts]
    expected = np.mean([each / each.sum(axis=1, keepdims=True) for each in shares], axis=0)
    assert np.allclose(pool.without_classes(2).predict_proba(X), expected, atol=1e-6)


def test_two_classes_left_are_decided_by_their_binary(samples):
    whole = PolytomyClassifier(SVC(), final_calibration=None, random_state=0).fit(*samples)
    smaller = whole.without_classes([0, 1, 2, 3, 4, 5])
    X, _ = make_samples(seed=15)
    positive = smaller.decisions(X)[:, 0] / 2 + 0.5
    assert np.allclose(smaller.predict_proba(X), np.column_stack([1 - positive, positive]))


def test_the_final_calibration_is_that_of_the_remaining_rows(pairwise):
    _, whole = pairwise
    smaller = whole.without_classes([3])
    scores = smaller.composition_.out_of_fold
    again = whole.composition_.out_of_fold
    is_left = again.class_indices != 3
    assert np.array_equal(scores.rows, again.rows[is_left])
    labels = smaller.classes_[scores.class_indices]
    assert np.array_equal(labels, whole.classes_[again.class_indices[is_left]])
    assert smaller.out_of_fold_score_["log_loss"] < whole.out_of_fold_score_["log_loss"] * 1.2


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", ["one-vs-one", "tree"]])
def test_a_model_saved_without_scores_keeps_what_its_calibration_knows(tmp_path, scheme):
    X, y = make_samples(n_of_class=60)
    whole = PolytomyClassifier(SVC(), scheme, random_state=0).fit(X, y)
    pt.save(whole, tmp_path / "m.polytomy")
    smaller = pt.load(tmp_path / "m.polytomy").without_classes([2, 5])
    exact = whole.without_classes([2, 5])
    X, y = make_samples(seed=16, n_of_class=60)
    is_left = ~np.isin(y, [2, 5])
    X, y = X[is_left], y[is_left]
    places = np.searchsorted(smaller.classes_, y)
    losses = [
        -np.log(each.predict_proba(X)[np.arange(len(y)), places]).mean()
        for each in (smaller, exact)
    ]
    assert losses[0] < 1.3 * losses[1] + 0.01
    assert smaller.predict_set(X, 0.9)[np.arange(len(y)), places].mean() > 0.85
    assert smaller.out_of_fold_score_["accuracy"] > 0.9


def test_priors_and_costs_are_those_of_the_remaining_classes(samples):
    whole = PolytomyClassifier(SVC(), random_state=0).fit(*samples)
    prior = np.arange(8) / 28
    costs = np.arange(64.0).reshape(8, 8)
    changed = whole.with_prior(prior).with_cost(costs, reject_cost=1.0).without_classes([0, 4])
    kept = [1, 2, 3, 5, 6, 7]
    assert np.allclose(changed.prior_, prior[kept] / prior[kept].sum())
    assert np.array_equal(changed.composition_.costs.matrix, costs[np.ix_(kept, kept)])
    assert np.allclose(whole.without_classes([0, 4]).prior_, 1 / 6)


def test_smaller_and_larger_models_can_be_saved(tmp_path, case):
    _, after = case
    X, _ = make_samples(seed=17)
    smaller = after.without_classes([0, 6])
    pt.save(smaller, tmp_path / "m.polytomy")
    again = pt.load(tmp_path / "m.polytomy")
    assert np.allclose(again.predict_proba(X), smaller.predict_proba(X))


@pytest.mark.parametrize("scheme", ["direct", "n-ary", ["one-vs-one", "direct"]], ids=str)
def test_a_class_that_is_removed_can_be_added_again(samples, scheme):
    X, y = samples
    whole = PolytomyClassifier(LogisticRegression(), scheme, cv=3, random_state=0).fit(X, y)
    again = whole.without_classes([NEW]).with_classes(X, y)
    assert again.classes_.tolist() == whole.classes_.tolist()
    assert again.score(*make_samples(seed=21)) > 0.9


@pytest.mark.parametrize(
    "labels",
    [3, np.int64(3), {3}, iter([3]), np.array([3]), np.array(3)],
    ids=["number", "NumPy number", "set", "iterator", "array", "array of no dimension"],
)
def test_labels_to_remove_are_one_or_several(pairwise, labels):
    _, whole = pairwise
    assert whole.without_classes(labels).class_change_.removed == [3]


def test_labels_that_cannot_be_removed_are_named(pairwise):
    _, whole = pairwise
    refuse("labels has '3'; the classes are 0, 1", lambda: whole.without_classes("3"))
    refuse("labels has 'a'; the classes are 0, 1", lambda: whole.without_classes([3, "a"]))
    refuse("labels has 11; the classes are 0, 1", lambda: whole.without_classes([3, 11]))
    refuse("labels leaves 1 class. Keep two or more", lambda: whole.without_classes(range(7)))
    prior = whole.with_prior([0.5, 0.5, 0, 0, 0, 0, 0, 0])
    refuse("leaves only classes whose prior is zero", lambda: prior.without_classes([0, 1]))


# -- samples that look like no class ---------------------------------------------------------------


def test_samples_of_unknown_classes_are_stranger_than_others(pairwise):
    known, _ = pairwise
    X, y = make_samples(seed=18, n_of_class=40)
    novelty = known.novelty(X)
    is_stranger = novelty[y == NEW][:, np.newaxis] > novelty[y != NEW]
    assert is_stranger.mean() > 0.8


def test_saved_models_make_no_prediction_for_strange_samples(tmp_path, pairwise):
    known, _ = pairwise
    X, _ = make_samples(seed=19)
    careful = known.with_cost(reject_novelty=0.3)
    pt.save(careful, tmp_path / "m.polytomy")
    is_strange = known.novelty(X) > 0.3
    assert 0 < is_strange.sum() < len(X)
    expected = np.where(is_strange, -1, known.predict(X))
    assert np.array_equal(pt.load(tmp_path / "m.polytomy").predict(X), expected)
