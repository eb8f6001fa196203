"""Data that must not be changed, data that is only half there, and splits of the user's own."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, SchemeSearchCV
from polytomy.errors import ArgumentError, CalibrationWarning, SchemeError


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def logistic():
    return LogisticRegression(max_iter=500)


@pytest.mark.parametrize("form", [pd.DataFrame, sp.csr_array, np.asarray])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_estimators_that_work_in_place_see_and_leave_the_data_as_it_was(form, n_jobs, iris):
    X, y = iris
    X = X * [1, 10, 100, 1000]
    data, untouched = form(X.copy()), form(X.copy())
    scaler = MaxAbsScaler if form is sp.csr_array else StandardScaler
    careless = make_pipeline(scaler(copy=False), logistic())
    careful = make_pipeline(scaler(), logistic())
    answers = PolytomyClassifier(careless, "one-vs-rest", n_jobs=n_jobs).fit(data, y)
    expected = PolytomyClassifier(careful, "one-vs-rest").fit(untouched, y)
    np.testing.assert_allclose(answers.decisions(data), expected.decisions(untouched))
    difference = (data - untouched) if form is not pd.DataFrame else (data - untouched).to_numpy()
    assert abs(difference).max() == 0


def test_sparse_data_with_unsorted_indices_is_sorted_on_a_copy():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 40), density=0.3, rng=rng, format="csr")[:, rng.permutation(40)]
    assert not X.has_sorted_indices
    y = np.arange(60) % 3
    answers = PolytomyClassifier(LinearSVC(), random_state=0).fit(X, y).decisions(X)
    assert not X.has_sorted_indices
    plain = PolytomyClassifier(LinearSVC(), random_state=0).fit(X.toarray(), y)
    np.testing.assert_allclose(answers, plain.decisions(X.toarray()), atol=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [
        GridSearchCV(
            make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500)),
            {"logisticregression__C": [1]},
            cv=2,
        ),
        HistGradientBoostingClassifier(max_iter=5),
    ],
)
def test_what_is_missing_is_left_to_the_binaries(estimator, iris):
    X, y = iris
    X = X.copy()
    X[::3, 0] = np.nan
    assert PolytomyClassifier(estimator).fit(X, y).score(X, y) > 0.9
    # A specification in the scheme may take it, where the default estimator does not.
    boosted = '"hist-gradient-boosting max_iter=5"'
    scheme = f"{boosted} {{0 {boosted} {{1 2}}}}"
    assert PolytomyClassifier(scheme=scheme).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        PolytomyClassifier(SVC()).fit(X, y)
    fitted = PolytomyClassifier(SVC()).fit(iris[0], y)
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(X)


def test_a_model_of_truth_values_has_its_sides_in_their_order(iris):
    X, y = iris[0][:100], iris[1][:100]
    is_zero = logistic().fit(X, y == 0)
    classifier = PolytomyClassifier(scheme="is-zero {1 0}", models={"is-zero": is_zero})
    assert classifier.fit(X, y).score(X, y) == 1


class NearestMean(ClassifierMixin, BaseEstimator):
    """Predicts, and nothing else: it does not even tell its classes."""

    def fit(self, X, y):
        self.direction_ = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        self.middle_ = (X[y == 1].mean(axis=0) + X[y == 0].mean(axis=0)) / 2
        return self

    def predict(self, X):
        return ((X - self.middle_) @ self.direction_ > 0).astype(int)


@pytest.mark.parametrize("calibration", ["auto", "sigmoid"])
def test_an_estimator_need_not_tell_its_classes(calibration, iris):
    classifier = PolytomyClassifier(NearestMean(), calibration=calibration).fit(*iris)
    assert classifier.score(*iris) > 0.85


# -- splits ---------------------------------------------------------------------------------------


class Watcher(LinearSVC):
    """Remembers which samples it saw, and of those it is asked for, how many it had seen."""

    asked = ()

    def fit(self, X, y, sample_weight=None):
        self.seen_ = set(X[:, 0])
        return super().fit(X, y, sample_weight)

    def decision_function(self, X):
        Watcher.asked = (*Watcher.asked, *(x in self.seen_ for x in X[:, 0]))
        return super().decision_function(X)


def twins():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    return np.concatenate([X, X]), np.concatenate([y, y]), np.tile(np.arange(60), 2)


@pytest.mark.parametrize("scheme", ["one-vs-one", "auto"])
def test_splits_and_groups_of_the_users_keep_twins_together(scheme):
    X, y, groups = twins()
    folds = [(np.flatnonzero(groups % 4 != k), groups % 4 == k) for k in range(4)]
    Watcher.asked = ()
    PolytomyClassifier(Watcher(), scheme, cv=folds, random_state=0).fit(X, y)
    assert Watcher.asked
    assert not any(Watcher.asked)
    Watcher.asked = ()
    by_group = PolytomyClassifier(Watcher(), scheme, cv=GroupKFold(4), random_state=0)
    by_group.fit(X, y, groups=groups)
    assert not any(Watcher.asked)


def test_groups_of_a_search(iris):
    X, y, groups = twins()
    Watcher.asked = ()
    search = SchemeSearchCV(Watcher(), ["tree", "one-vs-one"], cv=GroupKFold(4), refit=False)
    search.set_params(estimator=PolytomyClassifier(Watcher(), cv=GroupKFold(3)))
    search.fit(X, y, groups=groups)
    assert not any(Watcher.asked)


def test_groups_that_are_forgotten_or_splits_of_other_data(iris):
    X, y = iris
    with pytest.raises(ArgumentError, match=r"needs groups\. Pass them"):
        PolytomyClassifier(SVC(), cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(ArgumentError, match="rows that X, of 150 rows, does not have"):
        PolytomyClassifier(SVC(), cv=[(np.arange(500, 600), np.arange(50))]).fit(X, y)


def test_folds_of_a_search_may_repeat_rows_or_be_masks(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 150, 150)
    held_out = np.setdiff1d(np.arange(150), drawn)
    search = SchemeSearchCV(GaussianNB(), ["one-vs-one"], cv=[(drawn, held_out)]).fit(X, y)
    alone = PolytomyClassifier(GaussianNB()).fit(X[drawn], y[drawn])
    expected = -np.log(alone.predict_proba(X[held_out])[np.arange(len(held_out)), y[held_out]])
    assert search.cv_results_["mean_log_loss"][0] == pytest.approx(expected.mean())
    mask = np.arange(150) % 3 == 0
    one = SchemeSearchCV(GaussianNB(), ["tree"], cv=[(~mask, mask)]).fit(X, y)
    other = SchemeSearchCV(
        GaussianNB(), ["tree"], cv=[(np.flatnonzero(~mask), np.flatnonzero(mask))]
    ).fit(X, y)
    assert one.cv_results_["mean_log_loss"] == other.cv_results_["mean_log_loss"]


def test_a_precomputed_kernel_is_raced_too(iris):
    X, y = iris
    kernel = X @ X.T
    by_kernel = PolytomyClassifier(SVC(kernel="precomputed"), "auto", random_state=0)
    by_kernel.fit(kernel, y)
    assert by_kernel.score(kernel, y) > 0.9


# -- arrangements ---------------------------------------------------------------------------------


def test_another_layout_takes_the_binaries_of_its_specifications(iris):
    X, y = iris
    text = '"logistic-regression" 0 / 1 2; "svc" 1 2 / 0; x 1 / 2; {0 1 2}'
    classifier = PolytomyClassifier(SVC(), text, random_state=0).fit(X, y)
    other = classifier.with_scheme('"svc" 0 / 1 2; x 1 / 2; {0 1 2}')
    np.testing.assert_array_equal(other.decisions(X)[:, 0], -classifier.decisions(X)[:, 1])
    with pytest.raises(SchemeError, match="no binary was trained for"):
        classifier.with_scheme('"svc C=10" 0 / 1 2; x 1 / 2; {0 1 2}')


def test_training_further_warns_that_the_calibration_is_lost(iris):
    X, y = iris
    classifier = PolytomyClassifier(SGDClassifier(), calibration="sigmoid", random_state=0)
    classifier.fit(X, y)
    with pytest.warns(CalibrationWarning, match="no longer calibrated"):
        classifier.partial_fit(X, y)
    classifier.partial_fit(X, y)


@pytest.mark.parametrize("value", [np.nan, -0.5, 0.5])
def test_a_solver_of_the_users_must_give_probabilities(value, iris):
    def solver(scheme, decisions):
        return np.full((len(decisions), 3), value)

    classifier = PolytomyClassifier(GaussianNB(), solver=solver).fit(*iris)
    with pytest.raises(ArgumentError, match=r"row 0 is .* must sum to one"):
        classifier.predict_proba(iris[0])


def test_models_of_a_search_may_belong_to_one_candidate(iris):
    X, y = iris
    template = PolytomyClassifier(GaussianNB(), models={"a": logistic()})
    candidates = {"pairs": "one-vs-one", "tree": "a {0 b {1 2}}"}
    search = SchemeSearchCV(template, candidates, cv=2, random_state=0).fit(X, y)
    assert search.score(X, y) > 0.9
    with pytest.raises(ArgumentError, match="models has 'a', which the scheme does not name"):
        SchemeSearchCV(template, ["one-vs-one"], cv=2).fit(X, y)


def test_a_search_without_probabilities_names_the_way_out(iris):
    with pytest.raises(ArgumentError, match='Use scoring="accuracy"'):
        SchemeSearchCV(GaussianNB(), [("one-vs-one", "voting")]).fit(*iris)
    votes = SchemeSearchCV(GaussianNB(), [("one-vs-one", "voting")], scoring="accuracy", cv=2)
    assert votes.fit(*iris).decision_function(iris[0]).shape == (150, 3)


def test_a_second_fit_of_a_search_forgets_the_first(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), ["tree"], cv=2).fit(X, y)
    search.set_params(refit=False).fit(X[:, :2], y)
    assert not hasattr(search, "best_estimator_")
    search.set_params(refit=True).fit(X, y)
    with pytest.raises(ArgumentError):
        search.set_params(scoring="nothing").fit(X, y)
    assert not hasattr(search, "best_estimator_")


def _mapped(X, folder):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


FORMS = {
    "list": lambda X, _: X.tolist(),
    "objects": lambda X, _: X.astype(object),
    "Fortran order": lambda X, _: np.asfortranarray(X),
    "every other column": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X, _: X[::-1].copy()[::-1],
    "byte-swapped": lambda X, _: X.astype(">f8"),
    "extended precision": lambda X, _: X.astype(np.longdouble),
    "read-only": lambda X, _: _read_only(X),
    "memory-mapped": _mapped,
    "masked, all shown": lambda X, _: np.ma.array(X),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("estimator", [SVC(), LinearSVC(random_state=0), LogisticRegression()])
def test_answers_do_not_depend_on_the_layout_of_dense_data(estimator, form, iris, tmp_path):
    X, y = iris
    data = form(X, tmp_path)
    plain = PolytomyClassifier(estimator, random_state=0).fit(X, y)
    expected = plain.decisions(X)
    fitted = PolytomyClassifier(estimator, random_state=0).fit(data, y)
    np.testing.assert_allclose(fitted.decisions(X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(plain.decisions(data), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(plain.composition_.decisions(data), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.zeros((150, 0)), "0 feature"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros(600), "2D array"),
        (np.zeros((1, 150, 4)), "dim 3"),
        (np.float64(3), "2D array"),
        (None, "2D array"),
        (np.zeros((150, 4), dtype=complex), "Complex data"),
    ],
)
def test_data_that_is_not_a_table_of_numbers_is_an_error(data, words, iris):
    X, y = iris
    with pytest.raises(ValueError, match=words):
        PolytomyClassifier(SVC()).fit(data, y)
    with pytest.raises(ValueError, match=words):
        PolytomyClassifier(SVC(), random_state=0).fit(X, y).predict(data)
