"""SchemeSearchCV as a user meets it: results, the winner, weights and groups, errors."""

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import polytomy as pt
from grouped_samples import Watcher, twins
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, ClassOrderWarning
from polytomy.search import SchemeSearchCV
from polytomy.selection.candidates import candidates_from, configure

CANDIDATES = ["one-vs-one", "tree"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(
    [
        SchemeSearchCV(GaussianNB(), ["tree"], cv=2),
        SchemeSearchCV(PolytomyClassifier(GaussianNB(), final_calibration=None), CANDIDATES, cv=2),
        SchemeSearchCV(
            SVC(gamma=0.1),
            [("one-vs-one", "hamming")],
            cv=2,
            scoring="accuracy",
            param_grid={"C": [0.5, 2.0]},
        ),
    ],
    expected_failed_checks=lambda search: (
        {
            "check_sample_weight_equivalence_on_dense_data": "folds are dealt by rows, not by "
            "weights.",
            "check_sample_weight_equivalence_on_sparse_data": "As above.",
        }
        if search.param_grid
        else {
            "check_sample_weight_equivalence_on_dense_data": "the classifier's own folds, for the "
            "final calibration, are dealt by rows, not by weights.",
        }
        if isinstance(search.estimator, GaussianNB)
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_search_predicts_as_its_winner_and_has_a_table_of_results(iris):
    X, y = iris
    search = SchemeSearchCV(LogisticRegression(max_iter=500), CANDIDATES, cv=3, random_state=0)
    search.fit(X, y)
    winner = PolytomyClassifier(
        LogisticRegression(max_iter=500), search.best_candidate_.scheme, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), winner.predict_proba(X))
    assert (search.predict(X) == winner.predict(X)).all()
    np.testing.assert_allclose(search.predict_log_proba(X), np.log(winner.predict_proba(X)))
    np.testing.assert_allclose(search.decisions(X), winner.decisions(X))
    assert pt.parse(str(search.best_scheme_)) == winner.scheme_
    table = search.frame()
    assert set(table["candidate"]) == set(CANDIDATES)
    assert table["is_chosen"].sum() == 1
    assert sorted(table["rank"]) == [1, 2]
    assert {"mean_log_loss", "std_uncertainty_coefficient", "mean_fit_time"} <= set(table)
    assert set(search.pareto_) == set(table["candidate"][table["is_pareto"]])


def test_the_parameters_of_a_classifier_count(iris):
    X, y = iris
    template = PolytomyClassifier(GaussianNB(), class_weight={"setosa": 3.0}, solver="divergence")
    search = SchemeSearchCV(template, ["one-vs-one"], cv=2, random_state=1).fit(X, y)
    assert search.best_estimator_.class_weight == {"setosa": 3.0}
    assert search.best_candidate_.solver == "divergence"
    assert template.scheme == "one-vs-one"
    assert not hasattr(template, "binaries_")


@pytest.mark.parametrize("final_calibration", ["bias", "decoder", None])
def test_the_final_calibration_is_that_of_the_candidates_and_of_the_winner(iris, final_calibration):
    X, y = iris
    options = {"final_calibration": final_calibration, "random_state": 0}
    search = SchemeSearchCV(SVC(), ["one-vs-rest"], cv=3, **options).fit(X, y)
    alone = PolytomyClassifier(SVC(), "one-vs-rest", **options)
    inside = SchemeSearchCV(alone, ["one-vs-rest"], cv=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), alone.fit(X, y).predict_proba(X))
    # "auto", the default, leaves the value of a classifier as it is.
    for name in ("mean_log_loss", "std_log_loss"):
        np.testing.assert_array_equal(search.cv_results_[name], inside.cv_results_[name])
    np.testing.assert_array_equal(search.predict_proba(X), inside.predict_proba(X))
    other = SchemeSearchCV(alone, ["one-vs-rest"], cv=3, random_state=0)
    other.set_params(final_calibration=None if final_calibration else "bias").fit(X, y)
    assert (other.cv_results_["mean_log_loss"] != search.cv_results_["mean_log_loss"]).all()


def test_the_same_random_state_gives_the_same_search(iris):
    X, y = iris
    searches = [
        SchemeSearchCV(SVC(), ["tree", "random-tree", "random"], cv=2, random_state=3).fit(X, y)
        for _ in range(2)
    ]
    for name in ("mean_log_loss", "rank"):
        np.testing.assert_array_equal(*[each.cv_results_[name] for each in searches])
    np.testing.assert_array_equal(*[each.predict_proba(X) for each in searches])


def test_without_refit_there_are_results_but_no_predictions(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, refit=False).fit(X, y)
    assert len(search.frame()) == 2
    with pytest.raises(NotFittedError):
        search.predict(X)
    with pytest.raises(NotFittedError):
        _ = search.best_scheme_


def test_votes_can_be_searched_for_accuracy(iris):
    X, y = iris
    pairs = [("one-vs-one", "voting"), ("one-vs-rest", "hamming")]
    search = SchemeSearchCV(GaussianNB(), pairs, scoring="accuracy", cv=2).fit(X, y)
    assert not hasattr(search, "predict_proba")
    assert search.score(X, y) > 0.9


def test_weights_count_the_same_with_and_without_routing(iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    plain = SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, random_state=0)
    plain.fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=True)
        routed = SchemeSearchCV(inner, CANDIDATES, cv=2, random_state=0)
        routed.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(plain.predict_proba(X), routed.predict_proba(X))


def test_it_works_in_cross_validation_and_clones(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, random_state=0)
    assert cross_val_score(clone(search), X, y, cv=3).mean() > 0.9


def test_a_verbose_search_reports_each_fold(iris, capsys):
    SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, verbose=1).fit(*iris)
    assert "fold 1: 2 of 2 candidates left, best" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": ()}, "scoring is empty"),
        ({"scoring": "f1"}, "scoring must be \"accuracy\", .*; got 'f1'"),
        (
            {"candidates": [("adjacent", "price")]},
            """candidates has 'adjacent, price': solver="price" needs a one-vs-one code""",
        ),
        (
            {"candidates": [("adjacent", "prise")]},
            r"""candidates has 'adjacent, prise': solver="prise" is not one of least-squares""",
        ),
        (
            {"candidates": ["tree", "one-vs-on"]},
            """^candidates has 'one-vs-on': scheme="one-vs-on" is .* mean "one-vs-one"\\?""",
        ),
        ({"candidates": {"mine": "m {setosa"}}, "^candidates has 'mine': scheme:1:"),
        ({"candidates": {"mine": [[1, 2, 1]]}}, "^candidates has 'mine': "),
        ({"cv": 1}, "cv=1 must be"),
        ({"pool": 1}, "pool must be an integer of at least 2 or None; got 1"),
        (
            {"pool": 2, "candidates": ["tree", ("one-vs-one", "voting")], "scoring": "accuracy"},
            "^pool=2 combines probabilities, and the solver of 'one-vs-one, voting', \"voting\"",
        ),
        ({"drop_losers": "no"}, "drop_losers must be True or False; got 'no'"),
        ({"param_grid": {"var_smooth": [1]}}, r"""mean "var_smoothing"\?"""),
        ({"final_calibration": "bais"}, 'final_calibration must be .*"bias"\\?'),
    ],
)
def test_a_wrong_parameter_is_refused(options, words, iris):
    with pytest.raises(ArgumentError, match=words):
        SchemeSearchCV(GaussianNB(), **options).fit(*iris)


def test_folds_may_repeat_rows_or_be_masks(iris):
    X, y = iris[0], np.unique(iris[1], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 150, 150)
    held_out = np.setdiff1d(np.arange(150), drawn)
    search = SchemeSearchCV(
        GaussianNB(), ["one-vs-one"], cv=[(drawn, held_out)], random_state=0
    ).fit(X, y)
    alone = PolytomyClassifier(GaussianNB(), random_state=0).fit(X[drawn], y[drawn])
    expected = -np.log(alone.predict_proba(X[held_out])[np.arange(len(held_out)), y[held_out]])
    assert search.cv_results_["mean_log_loss"][0] == pytest.approx(expected.mean())
    mask = np.arange(150) % 3 == 0
    one, other = (
        SchemeSearchCV(GaussianNB(), ["tree"], cv=[split], random_state=0).fit(X, y)
        for split in [(~mask, mask), (np.flatnonzero(~mask), np.flatnonzero(mask))]
    )
    assert one.cv_results_["mean_log_loss"] == other.cv_results_["mean_log_loss"]


def test_models_may_belong_to_one_candidate(iris):
    X, y = iris
    template = PolytomyClassifier(GaussianNB(), models={"a": LogisticRegression(max_iter=500)})
    candidates = {"pairs": "one-vs-one", "tree": "a {setosa b {versicolor virginica}}"}
    search = SchemeSearchCV(template, candidates, cv=2, random_state=0).fit(X, y)
    assert search.score(X, y) > 0.9
    with pytest.raises(ArgumentError, match="models has 'a', which the scheme does not name"):
        SchemeSearchCV(template, ["one-vs-one"], cv=2).fit(X, y)


def test_a_search_by_probabilities_needs_a_solver_that_gives_them(iris):
    with pytest.raises(ArgumentError, match='Use scoring="accuracy"'):
        SchemeSearchCV(GaussianNB(), [("one-vs-one", "voting")]).fit(*iris)
    votes = SchemeSearchCV(GaussianNB(), [("one-vs-one", "voting")], scoring="accuracy", cv=2)
    assert votes.fit(*iris).decision_function(iris[0]).shape == (150, 3)


def test_a_second_fit_forgets_the_first(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), ["tree"], cv=2).fit(X, y)
    search.set_params(refit=False).fit(X[:, :2], y)
    assert not hasattr(search, "best_estimator_")
    search.set_params(refit=True).fit(X, y)
    with pytest.raises(ArgumentError):
        search.set_params(scoring="nothing").fit(X, y)
    assert not hasattr(search, "best_estimator_")


def test_a_search_has_no_probabilities_if_no_candidate_can_give_any():
    votes = SchemeSearchCV(SVC(), [("one-vs-one", "hamming"), ("tree", "voting")])
    assert not hasattr(votes, "predict_proba")
    with pytest.raises(AttributeError, match="no candidate's solver gives probabilities"):
        _ = votes.predict_proba
    mixed = SchemeSearchCV(SVC(), [("one-vs-one", "hamming"), "tree"])
    assert hasattr(mixed, "predict_proba")
    assert hasattr(SchemeSearchCV(), "predict_proba")


def test_a_search_says_why_its_winner_has_no_probabilities(iris):
    # The tree is cheaper, and as good.
    candidates = [("tree", "voting"), ("one-vs-one", "least-squares")]
    search = SchemeSearchCV(GaussianNB(), candidates, scoring="accuracy", cv=2, random_state=0)
    assert hasattr(search, "predict_proba")  # not decided yet
    search.fit(*iris)
    with pytest.raises(AttributeError, match='the chosen solver, "voting", gives scores'):
        search.predict_proba(iris[0])
    assert search.decision_function(iris[0]).shape == (150, 3)


def test_groups_stay_together_in_the_folds_of_a_search_and_of_its_binaries():
    X, y, groups = twins()
    Watcher.was_seen = ()
    template = PolytomyClassifier(Watcher(), cv=GroupKFold(3))
    search = SchemeSearchCV(template, CANDIDATES, cv=GroupKFold(4), refit=False)
    search.fit(X, y, groups=groups)
    assert Watcher.was_seen
    assert not any(Watcher.was_seen)


def test_the_table_needs_pandas(iris, monkeypatch):
    search = SchemeSearchCV(GaussianNB(), ["tree"], cv=2, refit=False).fit(*iris)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ArgumentError, match="cv_results_ has the same values"):
        search.frame()


def test_candidates_that_were_dropped_have_the_last_ranks(iris):
    def shrug(scheme, decisions):
        return np.full((len(decisions), 3), 1 / 3)

    candidates = {"hopeless": ("tree", shrug), "good": "one-vs-one"}
    # A decoder would find the classes without the solver.
    search = SchemeSearchCV(
        GaussianNB(), candidates, cv=4, random_state=0, final_calibration="bias"
    ).fit(*iris)
    assert search.cv_results_["rank"].tolist() == [2, 1]
    assert search.cv_results_["is_chosen"].tolist() == [False, True]
    assert search.cv_results_["reason"][0] == "dropped after fold 1 (good was better)"
    assert search.n_folds_ == 1


def test_candidates_that_need_an_order_warn_once_or_take_it(iris):
    X, y = iris
    labels = np.array(["low", "medium", "high"])[np.unique(y, return_inverse=True)[1]]
    order = ["low", "medium", "high"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SchemeSearchCV(GaussianNB(), ["adjacent", "tree", "one-vs-one"], cv=3).fit(X, labels)
    (warning,) = [each for each in caught if issubclass(each.category, ClassOrderWarning)]
    assert str(warning.message).startswith('"adjacent" and "tree" need the classes in order')
    for search in (
        SchemeSearchCV(GaussianNB(), ["adjacent"], cv=3, class_order=order),
        SchemeSearchCV(PolytomyClassifier(GaussianNB(), class_order=order), ["adjacent"], cv=3),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ClassOrderWarning)
            search.fit(X, labels)
        assert list(search.best_scheme_.classes) == order
        assert search.classes_.tolist() == sorted(order)


def test_a_known_order_makes_adjacent_a_default_candidate(iris):
    X, y = iris
    plain = SchemeSearchCV(GaussianNB(), cv=2, refit=False).fit(X, y)
    ordered = SchemeSearchCV(GaussianNB(), cv=2, refit=False, class_order=np.unique(y)).fit(X, y)
    names = [set(search.cv_results_["candidate"]) for search in (plain, ordered)]
    assert names[1] - names[0] == {"adjacent"}


VOTES = [("one-vs-one", "hamming")]
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, "scale"]}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


@pytest.mark.parametrize("grid", [GRID, [{"C": [1, 5]}, {"kernel": ["linear"], "C": [0.1]}]])
def test_votes_of_pairs_have_the_scores_of_a_grid_search_over_svc(digits, grid):
    X, y = digits
    folds = StratifiedKFold(3)
    theirs = GridSearchCV(SVC(), grid, cv=folds).fit(X, y)
    ours = SchemeSearchCV(
        SVC(), VOTES, param_grid=grid, scoring="accuracy", cv=folds, drop_losers=False
    ).fit(X, y)
    for fold in range(3):
        name = f"split{fold}_test_score"
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert ours.n_splits_ == theirs.n_splits_ == 3
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_losers_of_a_grid_are_dropped_and_the_rest_have_the_same_scores(digits):
    X, y = digits
    options = {"param_grid": GRID, "scoring": "accuracy", "cv": StratifiedKFold(3)}
    racing = SchemeSearchCV(SVC(), VOTES, **options).fit(X, y)
    whole = SchemeSearchCV(SVC(), VOTES, drop_losers=False, **options).fit(X, y)
    assert racing.cv_results_["is_dropped"].any()
    assert not whole.cv_results_["is_dropped"].any()
    for fold in range(3):
        name = f"split{fold}_test_score"
        is_there = racing.cv_results_["n_folds"] > fold
        assert np.isnan(racing.cv_results_[name]).tolist() == (~is_there).tolist()
        np.testing.assert_allclose(
            racing.cv_results_[name][is_there], whole.cv_results_[name][is_there], atol=1e-12
        )
    assert racing.best_params_ == whole.best_params_


def test_a_verbose_search_over_a_grid_reports_each_fold(digits, capsys):
    X, y = digits
    search = SchemeSearchCV(
        SVC(), VOTES, param_grid={"C": [1e-3, 1.0]}, scoring="accuracy", cv=2, verbose=1
    ).fit(X, y)
    assert "fold 1: 2 of 2 candidates left, best one-vs-one, hamming, C=1.0" in (
        capsys.readouterr().err
    )
    assert search.n_folds_ >= 1


@pytest.mark.parametrize("n_classes", [1, 2])
def test_a_grid_needs_no_more_than_one_class(digits, n_classes):
    X, y = digits
    X, y = X[y < n_classes], y[y < n_classes]
    search = SchemeSearchCV(
        SVC(), VOTES, param_grid={"C": [1.0, 5.0]}, scoring="accuracy", cv=2, drop_losers=False
    ).fit(X, y)
    assert search.best_params_ == {"C": 1.0}
    assert search.score(X, y) == 1.0


def test_the_winner_of_a_grid_is_trained_with_its_parameters(digits):
    X, y = digits
    search = SchemeSearchCV(
        SVC(tol=1e-4), VOTES, param_grid={"C": [0.01, 5.0]}, scoring="accuracy", cv=3
    ).fit(X, y)
    assert search.best_params_ == {"C": 5.0}
    assert search.best_candidate_.params == {"C": 5.0}
    winner = search.best_estimator_
    assert winner.estimator.get_params() == SVC(tol=1e-4, C=5.0).get_params()
    assert (winner.solver, winner.calibration) == ("hamming", None)
    assert (search.predict(X) == SVC(tol=1e-4, C=5.0).fit(X, y).predict(X)).all()


def test_parameters_are_searched_by_log_loss_with_calibrated_probabilities(iris):
    X, y = iris
    grid = {"C": [1e-3, 5.0], "gamma": [0.1]}
    options = {"cv": 2, "random_state": 0, "drop_losers": False}
    search = SchemeSearchCV(SVC(), CANDIDATES, param_grid=grid, **options).fit(X, y)
    assert search.best_params_ == {"C": 5.0, "gamma": 0.1}
    assert search.best_estimator_.calibration == "auto"
    losses = dict(
        zip(search.cv_results_["candidate"], search.cv_results_["mean_log_loss"], strict=True)
    )
    for C in grid["C"]:
        alone = SchemeSearchCV(SVC(C=C, gamma=0.1), CANDIDATES, **options).fit(X, y)
        expected = alone.cv_results_["mean_log_loss"]
        found = [losses[f"{name}, C={C} gamma=0.1"] for name in CANDIDATES]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_a_grid_of_a_classifier_in_the_search_keeps_its_other_parameters(iris):
    X, y = iris
    template = PolytomyClassifier(SVC(), calibration="sigmoid", class_weight="balanced")
    search = SchemeSearchCV(
        template, VOTES, param_grid={"estimator__C": [1.0, 3.0]}, scoring="accuracy", cv=2
    ).fit(X, y)
    assert search.best_estimator_.calibration == "sigmoid"
    assert search.best_estimator_.class_weight == "balanced"
    assert set(search.best_params_) == {"estimator__C"}
    assert template.estimator.C == 1.0


def test_any_estimator_has_a_grid(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    search = SchemeSearchCV(
        pipeline, ["tree"], param_grid={"logisticregression__C": [1e-5, 1.0]}, cv=2
    ).fit(X, y)
    assert search.best_params_ == {"logisticregression__C": 1.0}
    assert search.best_estimator_.estimator[-1].C == 1.0


def test_an_unknown_parameter_is_an_error_before_any_training(iris):
    X, y = iris
    with pytest.raises(ArgumentError, match=r"SVC has no parameter 'gama'. Did you mean \"gamma\""):
        SchemeSearchCV(SVC(), VOTES, param_grid={"gama": [1]}, scoring="accuracy").fit(X, y)


def test_a_search_over_a_grid_works_in_cross_validation_and_clones(iris):
    X, y = iris
    search = SchemeSearchCV(SVC(), VOTES, param_grid=GRID, scoring="accuracy", cv=2)
    assert clone(search).get_params()["param_grid"] == GRID
    assert cross_val_score(search, X, y, cv=2).mean() > 0.9
    table = search.fit(X, y).frame()
    assert len(table) == 9
    assert set(table["param_C"]) == {0.1, 1.0, 10.0}


def test_a_search_over_a_grid_can_be_pickled(iris):
    X, y = iris
    search = SchemeSearchCV(SVC(), VOTES, param_grid=GRID, scoring="accuracy", cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    assert again.best_params_ == search.best_params_
    assert (again.predict(X) == search.predict(X)).all()


def test_a_search_answers_like_its_best_classifier():
    X, y = load_iris(return_X_y=True)
    search = SchemeSearchCV(GaussianNB(), ["one-vs-one", "one-vs-rest"], cv=2, random_state=0)
    best = search.fit(X, y).best_estimator_
    np.testing.assert_array_equal(search.predict_set(X, 0.8), best.predict_set(X, 0.8))
    np.testing.assert_array_equal(
        search.predict_set(X, score="aps"), best.predict_set(X, score="aps")
    )
    for found, expected in zip(search.predict_top_k(X, 2), best.predict_top_k(X, 2), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert str(search.explain(X[:1])) == str(best.explain(X[:1]))
    votes = SchemeSearchCV(
        GaussianNB(), [("one-vs-one", "voting")], scoring="accuracy", cv=2, random_state=0
    )
    assert not hasattr(votes.fit(X, y), "predict_set")


def test_a_search_uses_the_order_of_categories():
    X, _ = make_blobs(90, centers=[[0], [2], [4]], cluster_std=0.5, random_state=0)
    order = ["low", "mid", "high"]
    y = pd.Categorical(np.array(order)[np.clip(np.round(X[:, 0] / 2), 0, 2).astype(int)], order)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClassOrderWarning)
        search = SchemeSearchCV(
            LogisticRegression(), ["adjacent", "chain"], cv=3, random_state=0
        ).fit(X, y.as_ordered())
    assert list(search.best_estimator_.scheme_.classes) == order
    assert search.best_estimator_.class_order_ == order


def halves(X, y):
    """Return a tree of all labels, as a user's function may."""
    first, second, third = np.unique(y).tolist()
    return f"m {{{first} n {{{second} {third}}}}}"


KINDS = {
    "design": "one-vs-rest",
    "ordered": "ordered",
    "order": "adjacent",
    "from data": "empirical-tree",
    "random": "orthogonal",
    "ensemble": "random-trees",
    "text": "m {setosa n {versicolor virginica}}",
    "matrix": [[-1, 1, 1], [0, -1, 1]],
    "dict": {"a": ["setosa"], "b": ["versicolor", "virginica"]},
    "scheme": pt.designs.one_vs_one(["setosa", "versicolor", "virginica"]),
    "function": halves,
    "direct": "direct",
    "solver": ("one-vs-one", "divergence"),
    "votes": ("one-vs-one", "voting"),
    "greedy": ("tree", "greedy"),
}


@pytest.mark.filterwarnings("ignore::polytomy.errors.ClassOrderWarning")
@pytest.mark.parametrize("estimator", [GaussianNB(), SVC()], ids=["GaussianNB", "SVC"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_classifier_that_is_returned_is_the_one_that_was_scored(kind, estimator, iris):
    X, y = (np.concatenate([part] * 6) for part in iris)  # more rows than calibration needs
    X = X + np.random.default_rng(0).normal(0, 0.4, X.shape)
    if kind == "direct" and isinstance(estimator, SVC):
        estimator = GaussianNB()
    training, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    # The shared classifier has another scheme and a solver without probabilities.
    shared = PolytomyClassifier(estimator, "ordered", solver="voting", random_state=0)
    item = KINDS[kind]
    item = item if isinstance(item, tuple) else (item, "auto")
    is_vote = item[1] in ("voting", "greedy")
    search = SchemeSearchCV(
        shared,
        {"this": item, "other": ("tree", "least-squares")},
        cv=[(training, held_out)],
        scoring="accuracy" if is_vote else "log_loss",
        drop_losers=False,
    ).fit(X, y)
    returned = configure(shared, candidates_from({"this": item}, 3)[0])
    alone = clone(returned).fit(X[training], y[training])
    if is_vote:
        expected = alone.score(X[held_out], y[held_out])
    else:
        proba = alone.predict_proba(X[held_out])
        expected = -pt.metrics.log_loss(y[held_out], proba, alone.classes_)
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected, rel=1e-9)
    assert returned.scheme is item[0] or returned.scheme == item[0]


@pytest.mark.parametrize("scheme", ["ordered", "one-vs-one"])
def test_the_winner_has_the_parameters_of_its_candidate(scheme, iris):
    X, y = iris
    search = SchemeSearchCV(SVC(), [scheme], cv=3, class_order=np.unique(y)).fit(X, y)
    direct = PolytomyClassifier(SVC(), scheme, class_order=np.unique(y)).fit(X, y)
    theirs = search.best_estimator_.get_params() | {"estimator": None, "class_order": None}
    assert theirs == direct.get_params() | {"estimator": None, "class_order": None}
    final = search.best_estimator_.composition_.out_of_fold.final_calibration
    assert final == direct.composition_.out_of_fold.final_calibration


class Touchy(GaussianNB):
    """Cannot be trained if one of the sides is small."""

    def fit(self, X, y, sample_weight=None):
        if np.mean(y == y[0]) < 0.4 or np.mean(y != y[0]) < 0.4:
            raise FloatingPointError("the sides are too different")
        return super().fit(X, y, sample_weight)


def test_a_candidate_that_fails_is_left_out_with_its_name(iris):
    X, y = iris
    candidates = ["one-vs-rest", "one-vs-one", ("one-vs-one", "divergence")]
    search = SchemeSearchCV(Touchy(), candidates, cv=3, random_state=0)
    words = (
        "candidate 'one-vs-rest' is left out: it failed in fold 1: FloatingPointError: the sides"
    )
    with pytest.warns(FitFailedWarning, match=words):
        search.fit(X, y)
    results = search.cv_results_
    assert results["is_dropped"].tolist() == [True, False, False]
    assert results["reason"][0] == (
        "failed in fold 1: FloatingPointError: the sides are too different (while training the "
        'Touchy of partition "one-vs-rest-00")'
    )
    assert np.isnan(results["mean_test_score"][0])
    assert results["rank_test_score"][0] == 3
    alone = SchemeSearchCV(Touchy(), candidates[1:], cv=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(results["mean_log_loss"][1:], alone.cv_results_["mean_log_loss"])
    assert search.score(X, y) > 0.9


def test_a_failure_can_be_raised_and_names_the_candidate(iris):
    X, y = iris
    search = SchemeSearchCV(Touchy(), ["one-vs-one", "one-vs-rest"], cv=3, error_score="raise")
    words = "^candidates has 'one-vs-rest': FloatingPointError: the sides are too different"
    with pytest.raises(ArgumentError, match=words):
        search.fit(X, y)


def test_if_every_candidate_fails_the_first_is_named(iris):
    X, y = iris
    search = SchemeSearchCV(Touchy(), ["one-vs-rest"], cv=3, param_grid={"var_smoothing": [1, 2]})
    with pytest.raises(FloatingPointError, match="the sides are too different") as caught:
        search.fit(X, y)
    assert caught.value.__notes__[-1] == (
        "Every candidate failed. This is the error of 'one-vs-rest, var_smoothing=1'."
    )


def test_one_point_of_a_grid_may_fail(iris):
    X, y = iris

    class Picky(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if self.var_smoothing > 1:
                raise ValueError("too smooth")
            return super().fit(X, y, sample_weight)

    grid = {"var_smoothing": [1e-9, 2.0]}
    search = SchemeSearchCV(Picky(), ["one-vs-one"], cv=3, param_grid=grid)
    with pytest.warns(FitFailedWarning, match="'one-vs-one, var_smoothing=2.0'"):
        search.fit(X, y)
    assert search.best_params_ == {"var_smoothing": 1e-9}


def test_automatic_schemes_leave_out_designs_that_the_learner_cannot_train(iris):
    X, y = iris
    with pytest.warns(FitFailedWarning, match="candidate 'orthogonal' is left out: it failed: Flo"):
        classifier = PolytomyClassifier(Touchy(), "auto", random_state=0).fit(X, y)
    assert classifier.score(X, y) > 0.9


# -- pools -----------------------------------------------------------------------------------------

POOL_GRID = {"C": [0.1, 1, 10], "gamma": [0.1, 1.0]}


def pool_of(samples, svc=None, **options):
    given = {"param_grid": POOL_GRID, "cv": 3, "random_state": 0, "pool": 3, **options}
    return SchemeSearchCV(SVC() if svc is None else svc, ["one-vs-one"], **given).fit(*samples)


def objective(weights, logarithms, truth):
    """Return minus the log-likelihood of the weights of a pool, and their prior."""
    n_members, n_samples, _ = logarithms.shape
    logits = np.tensordot(weights, logarithms, 1)
    losses = logsumexp(logits, axis=1) - logits[np.arange(n_samples), truth]
    return losses.sum() + np.sum((weights - 1 / n_members) ** 2) / 2


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(240, centers=4, cluster_std=3.0, random_state=0)


def test_a_pool_has_the_best_candidates(overlapping):
    search = pool_of(overlapping, drop_losers=False)
    results = search.cv_results_
    best = np.argsort(results["mean_log_loss"], kind="stable")[:3]
    assert [each.name for each in search.pool_] == results["candidate"][best].tolist()
    assert set(np.flatnonzero(results["is_chosen"])) == set(best)
    assert search.best_index_ == best[0]
    assert search.best_params_ == results["params"][best[0]]
    assert search.best_estimator_.pool_weights_.shape == (3,)


def test_a_pool_weighs_the_logarithms_of_what_its_members_say_alone(overlapping):
    X, y = overlapping
    search = pool_of(overlapping)
    logits = np.zeros((len(y), 4))
    for weight, each in zip(search.best_estimator_.pool_weights_, search.pool_, strict=True):
        alone = PolytomyClassifier(SVC(**each.params), random_state=0).fit(X, y)
        logits = logits + weight * np.log(alone.predict_proba(X) + 1e-6)
    np.testing.assert_allclose(search.predict_proba(X), softmax(logits, axis=1), atol=1e-6)


def test_the_score_of_a_pool_has_weights_from_the_other_folds(overlapping):
    X, y = overlapping
    folds = list(StratifiedKFold(3).split(X, y))
    search = pool_of(overlapping, cv=folds)
    proba = np.empty((3, len(y), 4))
    for rows, held_out in folds:
        for own, each in zip(proba, search.pool_, strict=True):
            alone = PolytomyClassifier(SVC(**each.params), random_state=0).fit(X[rows], y[rows])
            own[held_out] = alone.predict_proba(X[held_out])
    logarithms, losses = np.log(proba + 1e-6), []
    for rows, held_out in folds:
        arguments = logarithms[:, rows], y[rows]
        found = minimize(objective, [1 / 3] * 3, arguments, bounds=[(0, None)] * 3, tol=1e-10).x
        pooled = softmax(np.tensordot(found, logarithms[:, held_out], 1), axis=1)
        losses.append(-np.log(pooled[np.arange(len(held_out)), y[held_out]]).mean())
    assert search.best_score_ == pytest.approx(-np.mean(losses), abs=1e-4)


def test_without_a_final_calibration_a_pool_is_the_mean(overlapping):
    X, y = overlapping
    # Members that differ only in C start from each other's solutions, to the same tolerance.
    search = pool_of(overlapping, SVC(tol=1e-8), final_calibration=None)
    svcs = [SVC(tol=1e-8, **each.params) for each in search.pool_]
    alone = [
        PolytomyClassifier(svc, random_state=0, final_calibration=None).fit(X, y) for svc in svcs
    ]
    expected = np.mean([each.predict_proba(X) for each in alone], axis=0)
    np.testing.assert_allclose(search.predict_proba(X), expected, atol=1e-6)


def test_schemes_solvers_and_models_of_a_pool_are_those_of_its_members(iris):
    X, y = iris
    candidates = ["one-vs-rest", "ordered", ("one-vs-one", "divergence"), "tree"]
    options = {"cv": 3, "random_state": 0, "class_order": ["setosa", "versicolor", "virginica"]}
    search = SchemeSearchCV(GaussianNB(), candidates, pool=4, **options).fit(X, y)
    composition = search.best_estimator_.composition_
    auto = {"one-vs-rest": "divergence"}
    expected = [
        auto.get(each.name, "least-squares") if each.solver == "auto" else each.solver
        for each in search.pool_
    ]
    assert list(composition.solvers) == expected
    assert search.best_estimator_.scheme == [each.scheme for each in search.pool_]
    assert search.score(X, y) > 0.9
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_candidates_that_fail_are_not_in_the_pool(iris):
    X, y = iris
    candidates = ["one-vs-rest", "one-vs-one", ("one-vs-one", "divergence")]
    search = SchemeSearchCV(Touchy(), candidates, cv=3, random_state=0, pool=3)
    with pytest.warns(FitFailedWarning, match="candidate 'one-vs-rest' is left out"):
        search.fit(X, y)
    assert {each.name for each in search.pool_} == {"one-vs-one", "one-vs-one, divergence"}
    assert len(search.best_estimator_.pool_weights_) == 2


def test_a_pool_with_one_candidate_left_is_that_candidate(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), ["tree"], cv=3, random_state=0, pool=4).fit(X, y)
    alone = SchemeSearchCV(GaussianNB(), ["tree"], cv=3, random_state=0).fit(X, y)
    assert [each.name for each in search.pool_] == ["tree"]
    np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
    assert search.best_score_ == alone.best_score_


def test_as_many_candidates_as_the_pool_needs_are_not_dropped(overlapping):
    options = {"scoring": "log_loss", "param_grid": {"C": [1e-3, 1.0, 1e4], "gamma": [1e-4, 0.1]}}
    search = pool_of(overlapping, **options, pool=5)
    assert len(search.pool_) == 5
    assert search.cv_results_["n_folds"].tolist().count(3) >= 5


def test_a_pool_is_saved_and_pickled(overlapping, tmp_path):
    X, _ = overlapping
    search = pool_of(overlapping)
    pt.save(search.best_estimator_, tmp_path / "pool.polytomy")
    loaded = pt.load(tmp_path / "pool.polytomy")
    np.testing.assert_allclose(loaded.predict_proba(X), search.predict_proba(X), atol=1e-12)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
