"""Pre-processing that all binaries share."""

import copy
import errno
import pickle
import tempfile

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, SchemeSearchCV
from polytomy.errors import ArgumentError
from polytomy.metrics import log_loss
from polytomy.model import preprocessing as shared_preprocessing

X, Y = load_iris(return_X_y=True)
NAMED = "a {0 b {1 2}}"


class Counting(TransformerMixin, BaseEstimator):
    """A transformer that notes what it was fitted to and how often it transformed."""

    def __init__(self, log=None):
        self.log = log

    def __sklearn_clone__(self):
        other = copy.copy(self)  # with the same log
        vars(other).pop("mean_", None)
        return other

    def fit(self, X, y=None, sample_weight=None):
        self.log.append(("fit", len(X), y, sample_weight))
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):
        self.log.append(("transform", len(X)))
        return X - self.mean_


def shared(*steps, **parameters):
    parameters = {"random_state": 0, "shared_preprocessing": True, **parameters}
    return PolytomyClassifier(make_pipeline(*steps), **parameters)


@pytest.mark.parametrize("before", [[StandardScaler()], [MinMaxScaler(), "passthrough", PCA(3)]])
@pytest.mark.parametrize("last", [SVC(), LogisticRegression(), GaussianNB()], ids=str)
@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "exhaustive"])
def test_answers_are_those_of_transformers_before_the_classifier(before, last, scheme):
    inside = shared(*before, last, scheme=scheme).fit(X[::2], Y[::2])
    outside = make_pipeline(*before, PolytomyClassifier(last, scheme, random_state=0))
    outside.fit(X[::2], Y[::2])
    np.testing.assert_array_equal(inside.predict_proba(X), outside.predict_proba(X))
    np.testing.assert_array_equal(inside.predict(X), outside.predict(X))
    np.testing.assert_array_equal(inside.decision_function(X), outside.decision_function(X))
    transformed = outside[:-1].transform(X)
    np.testing.assert_array_equal(inside.decisions(X), outside[-1].decisions(transformed))
    assert inside.out_of_fold_score_ == outside[-1].out_of_fold_score_


def test_transformers_are_fitted_once_without_y_and_transform_each_sample_once():
    log = []
    classifier = shared(Counting(log), SVC()).fit(X, Y)
    assert log == [("fit", 150, None, None), ("transform", 150)]
    del log[:]
    classifier.predict_proba(X[:40])
    assert log == [("transform", 40)]


def test_without_sharing_each_binary_and_fold_fits_its_own():
    log = []
    PolytomyClassifier(make_pipeline(Counting(log), SVC()), cv=4, random_state=0).fit(X, Y)
    n_fits = sum(entry[0] == "fit" for entry in log)
    assert n_fits == 3 * (1 + 4)


def test_all_machines_have_the_gamma_of_all_transformed_rows():
    classifier = shared(StandardScaler(), SVC()).fit(X, Y)
    # Scaled features have variance one, so gamma="scale" is one over their number.
    gammas = [each.kernel.gamma for each in classifier.estimators_]
    assert gammas == pytest.approx([0.25] * 3)


def test_the_fitted_transformers_and_the_binaries_are_apart():
    classifier = shared(StandardScaler(), LinearSVC()).fit(X, Y)
    np.testing.assert_allclose(classifier.preprocessing_[0].mean_, X.mean(axis=0))
    assert [type(each) for each in classifier.estimators_] == [LinearSVC] * 3
    assert classifier.n_features_in_ == 4


@pytest.mark.parametrize("estimator", [SVC(), make_pipeline("passthrough", SVC())], ids=str)
def test_without_transformers_nothing_is_shared(estimator):
    classifier = PolytomyClassifier(estimator, random_state=0).fit(X, Y)
    again = clone(classifier).set_params(shared_preprocessing=True).fit(X, Y)
    assert again.preprocessing_ is None
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_of_weight_zero_do_not_count(seed):
    rng = np.random.default_rng(seed)
    is_kept = rng.random(len(X)) < 0.8
    disturbed = np.where(is_kept[:, None], X, 1e3 * rng.normal(size=X.shape))
    weight = is_kept.astype(float)
    classifier = shared(StandardScaler(), SVC(), final_calibration=None)
    classifier.fit(disturbed, Y, sample_weight=weight)
    np.testing.assert_allclose(classifier.preprocessing_[0].mean_, X[is_kept].mean(axis=0))


def test_weights_reach_the_last_step():
    weight = np.where(Y == 2, 5.0, 1.0)
    inside = shared(StandardScaler(), LogisticRegression()).fit(X, Y, sample_weight=weight)
    outside = PolytomyClassifier(LogisticRegression(), random_state=0)
    outside.fit(StandardScaler().fit_transform(X), Y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(inside.predict_proba(X), outside.predict_proba(scaled))


def test_arguments_of_single_steps_are_refused():
    weight = np.linspace(1.0, 2.0, len(X))
    words = "a step of the pipelines gets counting__sample_weight in fit. Use shared_preprocessing="
    with pytest.raises(ArgumentError, match=words):
        shared(Counting([]), SVC()).fit(X, Y, counting__sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        transformer = Counting([]).set_fit_request(sample_weight=True)
        last = LogisticRegression().set_fit_request(sample_weight=True)
        classifier = shared(transformer, last)
        with pytest.raises(ArgumentError, match="a step of the pipelines gets sample_weight"):
            classifier.fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("text", ['"svc__C=3"', "b"])
def test_other_pipelines_of_the_scheme_share_the_same_steps(text):
    log = []
    scheme = f"a {{0 {text} {{1 2}}}}"
    models = {"b": make_pipeline(StandardScaler(), Counting(log), SVC(C=3))}
    classifier = PolytomyClassifier(
        make_pipeline(StandardScaler(), Counting(log), SVC()),
        scheme,
        models=models if text == "b" else None,
        random_state=0,
        shared_preprocessing=True,
        memory_budget=0,  # so that the estimators are SVCs, which know their C
    ).fit(X, Y)
    assert [each.C for each in classifier.estimators_] == [1.0, 3]
    assert [entry[0] for entry in log] == ["fit", "transform"]


@pytest.mark.parametrize("text", ['"svc C=3"', "b"])
def test_estimators_without_steps_are_trained_on_the_same_output(text):
    scheme = f"a {{0 {text} {{1 2}}}}"
    models = {"b": SVC(C=3)} if text == "b" else None
    inside = shared(StandardScaler(), SVC(), scheme=scheme, models=models).fit(X, Y)
    outside = PolytomyClassifier(SVC(), scheme, models=models, random_state=0)
    scaled = StandardScaler().fit_transform(X)
    expected = outside.fit(scaled, Y).predict_proba(scaled)
    np.testing.assert_array_equal(inside.predict_proba(X), expected)


def refusal(classifier, error=ArgumentError):
    with pytest.raises(error) as caught:
        classifier.fit(X, Y)
    return caught.value


@pytest.mark.parametrize("other", [MinMaxScaler(), StandardScaler(with_mean=False)], ids=str)
def test_pipelines_with_other_steps_are_refused(other):
    models = {"b": make_pipeline(other, SVC())}
    classifier = shared(StandardScaler(), SVC(), scheme=NAMED, models=models)
    assert str(refusal(classifier)) == (
        "shared_preprocessing=True, but the pipelines of a and b differ in the steps before the "
        "last. Use shared_preprocessing=False."
    )


def test_fitted_models_are_refused():
    models = {"b": SVC().fit(X[Y > 0], Y[Y > 0])}
    classifier = shared(StandardScaler(), SVC(), scheme=NAMED, models=models)
    assert str(refusal(classifier)) == (
        "shared_preprocessing=True, but the model of b is fitted already, on features without this "
        "pre-processing. Use shared_preprocessing=False."
    )


@pytest.mark.parametrize(
    "step",
    [
        NeighborhoodComponentsAnalysis(),
        LinearDiscriminantAnalysis(),
        ColumnTransformer([("a", TargetEncoder(), [0, 1])]),
        FeatureUnion([("a", StandardScaler()), ("b", TargetEncoder())]),
        make_pipeline(PCA(2), TargetEncoder()),
        SelectKBest(k=2),
        SelectFromModel(LinearSVC()),
        SVC(),
    ],
    ids=str,
)
def test_the_error_of_steps_that_need_y_says_that_they_get_none(step):
    error = refusal(shared(step, SVC()), (AttributeError, TypeError, ValueError))
    assert error.__notes__ == [
        "shared_preprocessing=True fits the steps before the last without y. If one of them needs "
        "y, use shared_preprocessing=False."
    ]


def test_steps_that_change_the_rows_are_refused():
    way_out = " Use shared_preprocessing=False."
    every_other = FunctionTransformer(lambda X: X[::2])
    assert str(refusal(shared(every_other, SVC()))) == (
        "shared_preprocessing=True, but the steps before the last return 75 rows for 150." + way_out
    )


def test_frames_texts_and_sparse_output_are_left_to_the_transformers():
    kinds = np.array(["red", "green", "blue"])[(Y + np.arange(len(Y)) % 2) % 3]
    frame = pd.DataFrame({"width": X[:, 2], "colour": kinds})
    columns = ColumnTransformer(
        [("a", MaxAbsScaler(), ["width"]), ("b", OneHotEncoder(), ["colour"])]
    )
    classifier = shared(columns, SVC()).fit(frame, Y)
    outside = make_pipeline(columns, PolytomyClassifier(SVC(), random_state=0)).fit(frame, Y)
    np.testing.assert_array_equal(classifier.predict_proba(frame), outside.predict_proba(frame))
    assert classifier.feature_names_in_.tolist() == ["width", "colour"]
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["colour", "width"]])

    texts = [f"{kind} {kind} and {'abc'[y]}bc" for kind, y in zip(kinds, Y, strict=True)]
    classifier = shared(TfidfVectorizer(), LinearSVC()).fit(texts, Y)
    assert classifier.score(texts, Y) == 1.0


def test_named_output_reaches_the_binaries():
    scaler = StandardScaler().set_output(transform="pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    classifier = shared(scaler, LogisticRegression()).fit(frame, Y)
    assert classifier.estimators_[0].feature_names_in_.tolist() == list("abcd")
    outside = make_pipeline(
        StandardScaler(), PolytomyClassifier(LogisticRegression(), random_state=0)
    )
    np.testing.assert_allclose(
        classifier.predict_proba(frame), outside.fit(X, Y).predict_proba(X), rtol=1e-12
    )


def test_sparse_samples_stay_sparse():
    samples = csr_matrix(np.where(X > 2, X, 0))
    inside = shared(MaxAbsScaler(), SVC()).fit(samples, Y)
    dense = shared(MaxAbsScaler(), SVC()).fit(samples.toarray(), Y)
    np.testing.assert_allclose(
        inside.predict_proba(samples), dense.predict_proba(samples.toarray()), atol=1e-6
    )


def test_a_transformer_that_works_in_place_does_not_change_the_data():
    data = X.copy()
    classifier = shared(FunctionTransformer(np.square), StandardScaler(copy=False), SVC())
    classifier.fit(data, Y).predict(data)
    np.testing.assert_array_equal(data, X)


def test_a_kernel_computed_by_a_transformer_is_shared():
    class KernelValues(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.X_ = X
            return self

        def transform(self, X):
            return X @ self.X_.T

    inside = shared(KernelValues(), SVC(kernel="precomputed")).fit(X, Y)
    outside = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(X @ X.T, Y)
    np.testing.assert_array_equal(inside.predict_proba(X), outside.predict_proba(X @ X.T))


def test_the_random_state_seeds_the_transformers():
    steps = Nystroem(gamma=0.1, n_components=20), LinearSVC()
    first, second = (shared(*steps).fit(X, Y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = shared(*steps, random_state=1).fit(X, Y)
    assert np.abs(other.predict_proba(X) - first).max() > 1e-6


def test_a_search_fits_the_transformers_once_for_each_fold():
    log = []
    search = SchemeSearchCV(
        shared(Counting(log), SVC()), ["one-vs-one", "one-vs-rest"], cv=3, random_state=0
    ).fit(X, Y)
    fits = [entry[1] for entry in log if entry[0] == "fit"]
    assert fits == [100] * search.n_folds_ + [150]
    assert search.best_estimator_.preprocessing_ is not None


def test_an_automatic_scheme_works_with_shared_preprocessing():
    classifier = shared(StandardScaler(), SVC(), scheme="auto").fit(X[::2], Y[::2])
    assert log_loss(Y[1::2], classifier.predict_proba(X[1::2])) < 0.3


def test_another_solver_or_scheme_keeps_the_transformers():
    classifier = shared(StandardScaler(), SVC()).fit(X, Y)
    outside = PolytomyClassifier(SVC(), random_state=0).fit(StandardScaler().fit_transform(X), Y)
    scaled = classifier.preprocessing_.transform(X)
    for one, other in [
        (classifier.with_solver("voting"), outside.with_solver("voting")),
        (classifier.with_scheme("one-vs-one"), outside.with_scheme("one-vs-one")),
    ]:
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(scaled))


def test_a_pickled_classifier_gives_the_same_answers():
    classifier = shared(StandardScaler(), SVC()).fit(X, Y)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize("value", [None, "yes", 1])
def test_the_parameter_is_true_or_false(value):
    error = refusal(shared(StandardScaler(), SVC(), shared_preprocessing=value))
    assert str(error).startswith("shared_preprocessing must be True or False; got ")


@pytest.fixture
def seven_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(shared_preprocessing, "_MANY_VALUES", 1)
    monkeypatch.setattr(shared_preprocessing, "_BLOCK_BYTES", 8 * 4 * 7)


@pytest.mark.parametrize("memory_budget", [None, 0])
@pytest.mark.parametrize("scaler", [MaxAbsScaler(), MinMaxScaler(), RobustScaler()])
@pytest.mark.parametrize("last", [LogisticRegression(), SVC(), GaussianNB()])
def test_many_rows_are_transformed_in_blocks(scaler, last, memory_budget, request):
    features = Nystroem(n_components=20, random_state=0)
    classifier = shared(StandardScaler(), scaler, features, last, memory_budget=memory_budget)
    expected = classifier.fit(X, Y).predict_proba(X)
    request.getfixturevalue("seven_rows_at_a_time")
    np.testing.assert_allclose(classifier.fit(X, Y).predict_proba(X), expected, atol=1e-8)


@pytest.mark.usefixtures("seven_rows_at_a_time", "joblib_processes")
def test_rows_in_a_temporary_file_can_go_to_other_processes():
    def fit(n_jobs, memory_budget):
        classifier = shared(StandardScaler(), GaussianNB(), memory_budget=memory_budget)
        return classifier.set_params(n_jobs=n_jobs).fit(X, Y).predict_proba(X)

    with joblib.parallel_config("loky"):
        np.testing.assert_array_equal(fit(2, 0), fit(None, None))


@pytest.mark.usefixtures("seven_rows_at_a_time")
def test_frames_of_transformers_are_not_made_in_blocks():
    scaler = StandardScaler().set_output(transform="pandas")
    classifier = shared(scaler, LogisticRegression(), memory_budget=0).fit(X, Y)
    model = classifier.binaries_[0].estimator
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


@pytest.mark.usefixtures("seven_rows_at_a_time")
def test_a_full_disk_is_one_clear_error(monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match=r"temporary file in .*: No space left.* TMPDIR .*budget"):
        shared(StandardScaler(), GaussianNB(), memory_budget=0).fit(X, Y)
