import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelPropagation
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.errors import (
    ArgumentError,
    CalibrationWarning,
    ClassOrderWarning,
    ControlWarning,
    SchemeError,
)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    return X, np.array(["corn", "oak", "pine", "wheat"])[y]


TREE_OF_PLANTS = "fields {cereals {corn wheat} trees {oak pine}}"
SCHEMES = ["one-vs-one", "one-vs-rest", "adjacent", "orthogonal", "random", "tree", "random-tree"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("estimator", [SVC(), LogisticRegression(), DecisionTreeClassifier()])
def test_probabilities_are_on_the_simplex_and_decide_the_prediction(scheme, estimator, blobs):
    X, y = blobs
    classifier = PolytomyClassifier(estimator, scheme, random_state=0).fit(X, y)
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert (probabilities >= 0).all()
    winners = classifier.classes_[probabilities.argmax(axis=1)]
    assert (classifier.predict(X) == winners).all()
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X)), probabilities, atol=1e-12)
    assert classifier.score(X, y) > 0.5


def test_one_vs_one_of_logistic_regressions_is_pairwise_coupling_of_them(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(LogisticRegression()).fit(X, y)
    classes = list(classifier.classes_)
    decisions = []
    for i, first in enumerate(classes):
        for second in classes[i + 1 :]:
            pair = np.isin(y, [first, second])
            model = LogisticRegression().fit(X[pair], y[pair] == second)
            decisions.append(2 * model.predict_proba(X)[:, 1] - 1)
    np.testing.assert_allclose(classifier.decisions(X), np.transpose(decisions), atol=1e-12)
    expected = pt.solve(classifier.scheme_.code, np.transpose(decisions))
    np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-12)


def test_a_tree_multiplies_down_its_paths(blobs):
    X, y = blobs
    scheme = "fields {crops {corn wheat} trees {oak pine}}"
    classifier = PolytomyClassifier(LogisticRegression(), scheme).fit(X, y)
    fields, crops, trees = ((1 + classifier.decisions(X)) / 2).T
    expected = {
        "corn": (1 - fields) * (1 - crops),
        "wheat": (1 - fields) * crops,
        "oak": fields * (1 - trees),
        "pine": fields * trees,
    }
    columns = [expected[label] for label in classifier.classes_]
    np.testing.assert_allclose(classifier.predict_proba(X), np.transpose(columns), atol=1e-12)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_results_do_not_depend_on_jobs_or_backend(backend, blobs):
    X, y = blobs
    alone = PolytomyClassifier(SVC(), random_state=5).fit(X, y)
    with parallel_config(backend=backend):
        together = PolytomyClassifier(SVC(), random_state=5, n_jobs=2).fit(X, y)
        assert (together.decisions(X) == alone.decisions(X)).all()


def test_one_random_state_fixes_all(blobs):
    X, y = blobs
    estimator = SGDClassifier(max_iter=20, tol=None)
    options = {"scheme": "random", "calibration": "sigmoid"}
    first = PolytomyClassifier(estimator, random_state=1, **options).fit(X, y)
    again = PolytomyClassifier(estimator, random_state=1, **options).fit(X, y)
    other = PolytomyClassifier(estimator, random_state=2, **options).fit(X, y)
    assert first.scheme_ == again.scheme_
    assert (first.decisions(X) == again.decisions(X)).all()
    assert first.scheme_ != other.scheme_


# -- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array([10, 20, 30]), np.array(["x", "y", "z"]), np.array([0.0, 1.0, 5.0]),
        np.array(["x", "y", "z"], dtype=object),
    ],
)  # fmt: skip
def test_labels_of_any_kind_come_back(labels):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(GaussianNB(), "tree").fit(X, labels[y])
    assert (classifier.classes_ == labels).all()
    assert set(classifier.predict(X)) <= set(labels.tolist())
    assert classifier.classes_.dtype == labels.dtype


def test_two_classes_that_are_truth_values():
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(LogisticRegression()).fit(X, y == 1)
    assert classifier.classes_.tolist() == [False, True]
    direct = LogisticRegression().fit(X, y == 1)
    np.testing.assert_allclose(classifier.predict_proba(X), direct.predict_proba(X), atol=1e-12)


def test_one_class_has_probability_one(iris):
    X, _ = iris
    classifier = PolytomyClassifier().fit(X, np.full(len(X), "only"))
    assert (classifier.predict_proba(X) == 1).all()
    assert set(classifier.predict(X)) == {"only"}
    assert classifier.decisions(X).shape == (len(X), 0)


def test_a_scheme_in_text_finds_labels_that_are_numbers():
    X, y = load_iris(return_X_y=True)
    text = "m {2 n {0 1}}"
    by_number = PolytomyClassifier(GaussianNB(), text).fit(X, y).predict_proba(X)
    by_text = PolytomyClassifier(GaussianNB(), text).fit(X, y.astype(str)).predict_proba(X)
    assert (by_number == by_text).all()


def test_a_class_of_the_scheme_without_samples_gets_no_probability(iris):
    X, y = iris
    scheme = pt.designs.one_vs_one(["setosa", "never", "versicolor", "virginica"])
    with pytest.warns(ControlWarning, match="class 'never' of the scheme has no samples"):
        classifier = PolytomyClassifier(GaussianNB(), scheme).fit(X, y)
    plain = PolytomyClassifier(GaussianNB()).fit(X, y)
    assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(classifier.predict_proba(X), plain.predict_proba(X), atol=1e-9)


# -- kinds of data --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix])
def test_sparse_data_gives_the_answers_of_dense_data(form, blobs):
    X, y = blobs
    for estimator in (LinearSVC(), SVC(), LogisticRegression()):
        dense = PolytomyClassifier(estimator, random_state=0).fit(X, y).predict_proba(X)
        sparse = PolytomyClassifier(estimator, random_state=0).fit(form(X), y)
        np.testing.assert_allclose(sparse.predict_proba(form(X)), dense, atol=1e-3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_answers_of_arrays_and_their_names(frame, iris):
    X, y = iris
    table = frame(dict(zip("abcd", X.T, strict=True)))
    classifier = PolytomyClassifier(SVC(), random_state=0).fit(table, pd.Series(y))
    assert classifier.feature_names_in_.tolist() == list("abcd")
    assert classifier.n_features_in_ == 4
    plain = PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(table), plain.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame(dict(zip("dcba", X.T, strict=True))))


def test_a_pipeline_picks_columns_of_a_frame(iris):
    X, y = iris
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 5.5, "u", "v"))
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), list("ab")))
    classifier = PolytomyClassifier(make_pipeline(columns, LogisticRegression())).fit(table, y)
    assert classifier.score(table, y) > 0.7


def test_texts_are_left_to_the_pipeline():
    texts = ["corn maize field", "wheat field", "oak tree", "pine tree"] * 5
    y = ["corn", "wheat", "oak", "pine"] * 5
    classifier = PolytomyClassifier(make_pipeline(TfidfVectorizer(), LinearSVC()), random_state=0)
    assert classifier.fit(texts, y).predict(["maize", "pine"]).tolist() == ["corn", "pine"]


def test_a_precomputed_kernel_is_cut_for_each_binary(blobs):
    X, y = blobs
    kernel = X @ X.T
    machine = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(kernel, y)
    plain = PolytomyClassifier(SVC(kernel="linear"), random_state=0).fit(X, y)
    np.testing.assert_allclose(machine.decisions(kernel), plain.decisions(X), atol=1e-2)


# -- names, specifications, models ----------------------------------------------------------------


def test_binaries_of_three_kinds_in_one_mixture(blobs):
    X, y = blobs
    text = '"logistic-regression C=0.5" 0/1; svm 0/2; "" 1/2; {corn oak late {pine wheat}}'
    models = {"svm": SVC(C=10), "late": DecisionTreeClassifier(max_depth=2)}
    classifier = PolytomyClassifier(GaussianNB(), text, models=models, random_state=0).fit(X, y)
    kinds = [type(binary.estimator).__name__ for binary in classifier.binaries_]
    assert kinds[0] == "LogisticRegression"
    assert classifier.binaries_[0].estimator.C == 0.5
    assert kinds[2:] == ["GaussianNB", "DecisionTreeClassifier"]
    assert classifier.score(X, y) > 0.8


def test_a_fitted_model_is_used_as_it_is(blobs):
    X, y = blobs
    pair = np.isin(y, ["corn", "oak"])
    own_labels = LogisticRegression().fit(X[pair], y[pair])
    signs = LogisticRegression().fit(X, np.where(np.isin(y, ["pine", "wheat"]), 1, -1))
    before = own_labels.coef_.copy()
    classifier = PolytomyClassifier(
        GaussianNB(), "top {first {corn oak} {pine wheat}}".replace("} {", "} second {"),
        models={"first": own_labels, "top": signs},
    ).fit(X[::-1], y[::-1])  # fmt: skip
    answers = classifier.decisions(X)
    np.testing.assert_allclose(answers[:, 0], 2 * signs.predict_proba(X)[:, 1] - 1, atol=1e-12)
    np.testing.assert_allclose(answers[:, 1], 2 * own_labels.predict_proba(X)[:, 1] - 1, atol=1e-12)
    assert (own_labels.coef_ == before).all()


def test_a_fitted_model_with_other_classes_is_refused(blobs):
    X, y = blobs
    model = LogisticRegression().fit(X, y == "oak")
    three = LogisticRegression().fit(X[y != "oak"], y[y != "oak"])
    wrong = LogisticRegression().fit(X, np.where(y == "oak", "yes", "no"))
    text = "top {a {corn oak} b {pine wheat}}"
    PolytomyClassifier(GaussianNB(), text, models={"a": model}).fit(X, y)
    for bad, words in (
        (three, 'Model "a" has the classes corn pine wheat'),
        (wrong, 'Model "a" has the classes'),
    ):
        with pytest.raises(SchemeError, match=words):
            PolytomyClassifier(GaussianNB(), text, models={"a": bad}).fit(X, y)


def test_one_fitted_model_cannot_stand_at_two_partitions(blobs):
    X, y = blobs
    model = GaussianNB().fit(X, y == "oak")
    text = "top {m {corn oak} m {pine wheat}}"
    with pytest.raises(
        SchemeError, match='"m" is used for different partitions, corn / oak and pine'
    ):
        PolytomyClassifier(GaussianNB(), text, models={"m": model}).fit(X, y)
    unfitted = PolytomyClassifier(GaussianNB(), text, models={"m": SVC()}, random_state=0)
    assert unfitted.fit(X, y).score(X, y) > 0.8


def test_models_must_be_named_in_the_scheme(iris):
    with pytest.raises(ArgumentError, match="models has 'svm', which the scheme does not name"):
        PolytomyClassifier(GaussianNB(), models={"svm": SVC()}).fit(*iris)
    with pytest.raises(
        ArgumentError, match="models must be a dict of names and estimators or None; got"
    ):
        PolytomyClassifier(GaussianNB(), models=[SVC()]).fit(*iris)


# -- weights --------------------------------------------------------------------------------------


def test_weights_count_as_repetitions(blobs):
    X, y = blobs
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = PolytomyClassifier(GaussianNB()).fit(X, y, sample_weight=weights)
    repeated = PolytomyClassifier(GaussianNB()).fit(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_allclose(weighted.decisions(X), repeated.decisions(X), atol=1e-6)


def test_class_weights_are_weights_of_the_samples(blobs):
    X, y = blobs
    keep = (y != "oak") | (np.arange(len(y)) % 4 == 0)
    X, y = X[keep], y[keep]
    of_class = {"oak": 3.0, "corn": 0.5}
    by_class = PolytomyClassifier(GaussianNB(), class_weight=of_class).fit(X, y)
    weights = np.array([of_class.get(label, 1.0) for label in y])
    by_sample = PolytomyClassifier(GaussianNB()).fit(X, y, sample_weight=weights)
    assert (by_class.decisions(X) == by_sample.decisions(X)).all()
    balanced = PolytomyClassifier(GaussianNB(), class_weight="balanced").fit(X, y)
    counts = {label: np.sum(y == label) for label in set(y)}
    even = np.array([len(y) / (4 * counts[label]) for label in y])
    by_hand = PolytomyClassifier(GaussianNB()).fit(X, y, sample_weight=even)
    np.testing.assert_allclose(balanced.decisions(X), by_hand.decisions(X), atol=1e-9)


def test_balance_per_partition_gives_the_sides_even_priors(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(
        GaussianNB(), "one-vs-rest", class_weight="balanced-per-partition"
    ).fit(X, y)
    for binary in classifier.binaries_:
        np.testing.assert_allclose(binary.estimator.class_prior_, [0.5, 0.5])


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [("even", "class_weight must be .*; got 'even'"), ({"elm": 2}, "class_weight has 'elm'")],
)
def test_unknown_class_weights_are_refused(class_weight, words, blobs):
    with pytest.raises(ArgumentError, match=words):
        PolytomyClassifier(GaussianNB(), class_weight=class_weight).fit(*blobs)


def test_weights_reach_the_last_step_of_a_pipeline_and_not_what_takes_none(blobs):
    X, y = blobs
    weights = np.linspace(0.5, 2, len(X))
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    assert PolytomyClassifier(pipeline).fit(X, y, sample_weight=weights).score(X, y) > 0.8
    with pytest.raises(ArgumentError, match="KNeighborsClassifier takes no sample_weight"):
        PolytomyClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weights)


class _Recorder(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None, secret=None):
        self.classes_ = np.unique(y)
        self.sample_weight_, self.secret_ = sample_weight, secret
        return self

    def predict(self, X):
        return np.ones(len(X))


def test_metadata_is_routed_and_divided(iris):
    X, y = iris
    weights, secret = np.arange(1.0, len(X) + 1), np.arange(len(X))
    with config_context(enable_metadata_routing=True):
        inner = _Recorder().set_fit_request(sample_weight=True, secret=True)
        classifier = PolytomyClassifier(inner, "one-vs-one")
        classifier.set_fit_request(sample_weight=True)
        classifier.fit(X, y, sample_weight=weights, secret=secret)
    setosa_versicolor = classifier.binaries_[0].estimator
    assert (setosa_versicolor.sample_weight_ == weights[:100]).all()
    assert (setosa_versicolor.secret_ == secret[:100]).all()
    classifier = PolytomyClassifier(_Recorder()).fit(X, y, sample_weight=weights, secret=secret)
    assert (classifier.binaries_[2].estimator.secret_ == secret[50:]).all()


# -- the same binaries, put together another way --------------------------------------------------


def test_with_solver_needs_no_refit(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    voting = classifier.with_solver("voting")
    assert all(a is b for a, b in zip(voting.binaries_, classifier.binaries_, strict=True))
    assert not hasattr(voting, "predict_proba")
    assert voting.decision_function(X).shape == (len(X), 4)
    expected = pt.decode(classifier.scheme_, classifier.decisions(X), "voting")
    assert (voting.predict(X) == classifier.classes_[expected.argmax(axis=1)]).all()
    own = classifier.with_solver(lambda scheme, decisions: pt.solve(scheme, decisions))
    assert (own.predict_proba(X) == classifier.predict_proba(X)).all()
    with pytest.raises(ArgumentError, match="votin"):
        classifier.with_solver("votin")


def test_with_scheme_puts_the_same_binaries_in_another_layout(blobs):
    X, y = blobs
    tree = PolytomyClassifier(GaussianNB(), "t {u {corn wheat} v {oak pine}}").fit(X, y)
    flat = tree.with_scheme(tree.scheme_.flatten())
    np.testing.assert_allclose(flat.predict_proba(X), tree.predict_proba(X), atol=1e-9)
    mirrored = tree.with_scheme("t {v {pine oak} u {wheat corn}}")
    np.testing.assert_allclose(mirrored.predict_proba(X), tree.predict_proba(X), atol=1e-9)
    assert mirrored.scheme_ != tree.scheme_
    with pytest.raises(
        SchemeError, match="no binary was trained for <Partition one-vs-rest-00: oak"
    ):
        tree.with_scheme("one-vs-rest")


def test_greedy_follows_the_winner(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(
        GaussianNB(), "t {u {corn wheat} v {oak pine}}", solver="greedy"
    )
    classifier.fit(X, y)
    top, left, right = classifier.decisions(X).T
    expected = np.where(
        top > 0, np.where(right > 0, "pine", "oak"), np.where(left > 0, "wheat", "corn")
    )
    assert (classifier.predict(X) == expected).all()
    flat = classifier.with_scheme(classifier.scheme_.flatten())
    assert (flat.predict(X) == expected).all()


# -- few samples ----------------------------------------------------------------------------------


@pytest.mark.parametrize("smallest", [1, 2, 3])
@pytest.mark.parametrize("calibration", ["auto", "isotonic", "temperature", None])
def test_rare_classes_never_crash(smallest, calibration, blobs):
    X, y = blobs
    rare = np.flatnonzero(y == "oak")[smallest:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    classifier = PolytomyClassifier(SVC(), calibration=calibration, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        probabilities = classifier.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    ours = [str(w.message) for w in caught if issubclass(w.category, CalibrationWarning)]
    if smallest == 1 and calibration is not None:
        assert len(ours) == 1
        assert 'Partition "one-vs-one-00" cannot be calibrated' in ours[0]
    else:
        assert ours == []


# -- in its ecosystem -----------------------------------------------------------------------------


def test_it_works_in_searches_pipelines_and_calibration(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), PolytomyClassifier(SVC(), random_state=0))
    grid = {
        "polytomyclassifier__scheme": ["one-vs-one", "tree"],
        "polytomyclassifier__solver": ["least-squares", "divergence"],
        "polytomyclassifier__estimator__C": [0.1, 10],
    }
    search = GridSearchCV(pipeline, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_score_ > -0.4
    assert cross_val_score(PolytomyClassifier(GaussianNB(), "tree"), X, y).mean() > 0.9
    calibrated = CalibratedClassifierCV(PolytomyClassifier(GaussianNB(), solver="voting"), cv=2)
    assert calibrated.fit(X, y).score(X, y) > 0.9


def test_clones_and_pickles_answer_alike(iris):
    X, y = iris
    classifier = PolytomyClassifier(SVC(), "tree", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    assert (again.predict_proba(X) == classifier.predict_proba(X)).all()
    assert clone(classifier).get_params()["scheme"] == "tree"
    assert not hasattr(clone(classifier), "classes_")


def test_batches_train_further(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-rest")
    for start in range(0, len(X), 30):
        batch = slice(start, start + 30)
        classifier.partial_fit(X[batch], y[batch], classes=np.unique(y))
    whole = PolytomyClassifier(GaussianNB(), "one-vs-rest").fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert not hasattr(PolytomyClassifier(SVC()), "partial_fit")
    with pytest.raises(ArgumentError, match="classes must list all labels"):
        PolytomyClassifier(GaussianNB()).partial_fit(X, y)
    with pytest.raises(ArgumentError, match="'elm', which is not among the classes"):
        classifier.partial_fit(X[:1], ["elm"])
    balanced = PolytomyClassifier(GaussianNB(), class_weight="balanced")
    with pytest.raises(AttributeError, match=r"has no attribute .* needs all the data at once"):
        balanced.partial_fit(X, y, classes=np.unique(y))


def test_the_diagram_shows_the_scheme(iris):
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-rest")
    assert "@one-vs-rest" not in classifier._repr_html_()
    page = classifier.fit(*iris)._repr_html_()
    assert "@one-vs-rest {setosa versicolor virginica}" in page
    assert "Scheme: code, 3 classes, 3 partitions" in page
    X, y = load_digits(return_X_y=True)
    text = "\n".join(str(pt.designs.one_vs_one(10, name="mine")).splitlines()[::1])
    page = PolytomyClassifier(GaussianNB(), text.replace("mine-00", "own")).fit(X, y)._repr_html_()
    assert "… 6 more lines" in page


def test_verbose_names_the_partitions(iris, capsys):
    PolytomyClassifier(GaussianNB(), "tree", verbose=1).fit(*iris)
    error = capsys.readouterr().err
    assert "training" in error
    assert "2/2" in error


def test_callbacks_of_scikit_learn_hear_of_each_binary(iris):
    callback = pytest.importorskip("sklearn.callback")

    class Names:
        def __init__(self):
            self.names = []

        def setup(self, estimator, context):
            self.names.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.names.append(context.task_name)

        def teardown(self, estimator, context):
            self.names.append("teardown")

    names = Names()
    assert isinstance(names, callback.FitCallback)
    PolytomyClassifier(GaussianNB(), "tree").set_callbacks(names).fit(*iris)
    assert names.names == ["setup", "tree", "tree.01", "fit", "teardown"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "least-square"}, "least-squares"),
        ({"solver": "price", "scheme": "one-vs-rest"}, "price.* needs a one-vs-one code"),
        ({"solver": "greedy"}, "greedy.* needs"),
        ({"calibration": "platt"}, 'calibration="platt" is not known'),
        ({"cv": 1}, "cv=1 must be a number of folds"),
        ({"scheme": "m {setosa versicolor}"}, "does not name class 'virginica'"),
        ({"estimator": SVC}, "is a class. Give an object"),
        ({"scheme": '"svv C=1" {setosa n {versicolor virginica}}'}, "svv"),
    ],
)
def test_bad_options_say_what_to_do(options, words, iris):
    with pytest.raises(ValueError, match=words):
        PolytomyClassifier(**{"estimator": LinearSVC(), **options}).fit(*iris)


# -- found by trying to break it ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bool, float, int, str])
def test_a_fitted_model_knows_its_sides_however_its_labels_are_written(kind):
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100].astype(kind)
    model = LogisticRegression().fit(X, y)
    swapped = PolytomyClassifier(scheme="m {1 0}" if kind is not bool else "m {True False}")
    swapped.set_params(models={"m": model}).fit(X, y)
    np.testing.assert_allclose(swapped.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_a_calibrator_that_does_not_answer_is_refused(iris):
    X, y = iris
    classifier = PolytomyClassifier(
        SVC(kernel="linear"), calibration=IsotonicRegression(), random_state=0
    )
    with pytest.raises(ArgumentError, match=r'returned NaN .* out_of_bounds="clip"'):
        classifier.fit(X, y).predict_proba(10 * X)


def test_a_failed_fit_leaves_nothing_that_answers(iris):
    X, y = iris
    classifier = PolytomyClassifier(LogisticRegression()).fit(X, y)
    classifier.set_params(scheme="one-vs-rest", estimator=SVC(C=-1))
    with pytest.raises(ValueError, match="C"):
        classifier.fit(X, y)
    with pytest.raises(NotFittedError):
        classifier.predict(X)


@pytest.mark.parametrize("class_weight", [[1, 2, 3], 5, True, np.ones(3)])
def test_class_weights_of_another_kind_are_refused(class_weight, iris):
    with pytest.raises(ArgumentError, match="class_weight must be"):
        PolytomyClassifier(GaussianNB(), class_weight=class_weight).fit(*iris)


def test_balanced_classes_weigh_the_same_whatever_the_weights_of_the_samples(blobs):
    X, y = blobs
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    balanced = PolytomyClassifier(GaussianNB(), "one-vs-rest", class_weight="balanced")
    weighted = clone(balanced).fit(X, y, sample_weight=weights)
    repeated = clone(balanced).fit(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_allclose(weighted.decisions(X), repeated.decisions(X), atol=1e-6)


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced-per-partition"])
@pytest.mark.parametrize("weights", [np.ones(3), 1.0, np.ones((150, 1))])
def test_weights_of_the_wrong_shape_are_refused(weights, class_weight, iris):
    with pytest.raises(ArgumentError, match="sample_weight has shape"):
        PolytomyClassifier(GaussianNB(), class_weight=class_weight).fit(*iris, weights)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_estimator_that_works_in_place_does_not_change_the_data(n_jobs, blobs):
    X, y = blobs[0].copy(), blobs[1]
    pipeline = make_pipeline(StandardScaler(copy=False), GaussianNB())
    classifier = PolytomyClassifier(pipeline, "one-vs-rest", n_jobs=n_jobs).fit(X, y)
    assert (blobs[0] == X).all()
    plain = make_pipeline(StandardScaler(), GaussianNB())
    expected = PolytomyClassifier(plain, "one-vs-rest").fit(X, y).decisions(X)
    np.testing.assert_allclose(classifier.decisions(X), expected, atol=1e-9)
    assert (blobs[0] == X).all()


def test_a_pipeline_may_fill_in_what_is_missing(iris):
    X, y = iris[0].copy(), iris[1]
    X[::7, 0] = np.nan
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500))
    assert PolytomyClassifier(pipeline).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        PolytomyClassifier(LogisticRegression()).fit(X, y)


def test_with_scheme_finds_labels_as_fit_does(iris):
    X, y = iris[0], np.unique(iris[1], return_inverse=True)[1].astype(str)
    classifier = PolytomyClassifier(GaussianNB()).fit(X, y)
    other = classifier.with_scheme("a 0/1; b 0/2; c 1/2; {2 1 0}")
    np.testing.assert_allclose(other.predict_proba(X), classifier.predict_proba(X), atol=1e-12)


def test_batches_warn_once_of_a_class_without_samples(iris):
    X, y = iris
    scheme = pt.designs.one_vs_rest(["setosa", "never", "versicolor", "virginica"])
    classifier = PolytomyClassifier(GaussianNB(), scheme)
    with pytest.warns(ControlWarning, match="class 'never' of the scheme has no samples"):
        classifier.partial_fit(X, y, classes=np.unique(y))
    classifier.partial_fit(X, y)  # a second warning would be an error


def test_texts_in_a_series_and_dicts_are_left_to_the_pipeline():
    y = np.repeat([0, 1, 2], 8)
    words = ["apple pie", "banana split", "carrot cake"]
    texts = pl.Series([words[k] for k in y])
    reader = make_pipeline(TfidfVectorizer(), LinearSVC())
    assert PolytomyClassifier(reader).fit(texts, y).score(texts, y) == 1
    dicts = [{"fruit": words[k], "weight": float(k)} for k in y]
    reader = make_pipeline(DictVectorizer(sparse=False), LinearSVC())
    assert PolytomyClassifier(reader).fit(dicts, y).score(dicts, y) == 1


def test_semi_supervised_estimators_know_all_labels(blobs):
    # To these, a target of −1 would mean that a label is not known.
    X, y = blobs
    classifier = PolytomyClassifier(LabelPropagation(gamma=1), TREE_OF_PLANTS).fit(X, y)
    plain = LabelPropagation(gamma=1).fit(X, np.isin(y, ["oak", "pine"]).astype(int))
    expected = plain.predict_proba(X)[:, 1] * 2 - 1
    np.testing.assert_allclose(classifier.decisions(X)[:, 0], expected, atol=1e-12)


def test_an_estimator_may_weigh_the_sides(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(SVC(class_weight={-1: 3.0}), TREE_OF_PLANTS).fit(X, y)
    side = np.where(np.isin(y, ["oak", "pine"]), 1, -1)
    plain = SVC(class_weight={-1: 3.0}).fit(X, side)
    scores = classifier.binaries_[0].scores(X)
    np.testing.assert_allclose(scores, plain.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"scheme": '@one-vs-one "-t 4" {corn oak pine wheat}'}])
def test_a_precomputed_kernel_must_be_square(options, blobs):
    estimator = SVC() if options else SVC(kernel="precomputed")
    with pytest.raises(ArgumentError, match=r"a square matrix; X has shape \(120, 2\)"):
        PolytomyClassifier(estimator, **options).fit(*blobs)


def test_training_further_leaves_copies_alone(iris):
    X, y = iris
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-one")
    classifier.partial_fit(X[::2], y[::2], classes=np.unique(y))
    others = classifier.with_solver("voting"), classifier.with_scheme("one-vs-one")
    before = [other.decisions(X) for other in others]
    classifier.partial_fit(X[1::2], y[1::2])
    for other, answers in zip(others, before, strict=True):
        np.testing.assert_array_equal(other.decisions(X), answers)
        assert not np.array_equal(classifier.decisions(X), answers)


def test_warnings_point_at_the_line_that_called(iris):
    X, y = iris
    rows = [0, *range(50, 60), *range(100, 110)]
    with pytest.warns(CalibrationWarning) as caught:
        PolytomyClassifier(scheme="one-vs-rest").fit(X[rows], y[rows])
    assert caught[0].filename == __file__
    text = "@one-vs-one {setosa versicolor virginica elm}"
    with pytest.warns(ControlWarning, match="elm") as caught:
        PolytomyClassifier(scheme=text).fit(X, y)
    assert caught[0].filename == __file__


class FailsWhenAsked(GaussianNB):
    def predict_proba(self, X):
        raise ValueError("not today")


def test_an_error_at_prediction_names_the_partition(iris):
    X, y = iris
    classifier = PolytomyClassifier(FailsWhenAsked()).fit(X, y)
    with pytest.raises(ValueError, match="not today") as caught:
        classifier.predict(X)
    assert caught.value.__notes__ == ['while asking the binary of partition "one-vs-one-00"']


def test_a_solver_of_the_users_must_answer_for_all_classes(iris):
    X, y = iris
    classifier = PolytomyClassifier(GaussianNB(), solver=lambda scheme, decisions: decisions[:, :2])
    with pytest.raises(ArgumentError, match=r"shape \(150, 2\); .* need \(150, 3\)"):
        classifier.fit(X, y).predict(X)


def test_a_class_in_place_of_an_object_can_be_shown_but_not_fitted(iris):
    assert "SVC" in PolytomyClassifier(SVC)._repr_html_()
    with pytest.raises(ArgumentError, match=r"Give an object: SVC\(\)"):
        PolytomyClassifier(SVC).fit(*iris)


def test_a_calibrator_of_the_users_is_seeded(blobs):
    X, y = blobs
    calibrator = RandomForestClassifier(n_estimators=3)
    answers = [
        PolytomyClassifier(calibration=calibrator, random_state=5).fit(X, y).predict_proba(X)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*answers)
    assert calibrator.random_state is None


def test_single_precision_is_near_double_precision(blobs):
    X, y = blobs
    double = PolytomyClassifier(random_state=0).fit(X, y)
    single = PolytomyClassifier(random_state=0, prediction_dtype="float32").fit(X, y)
    difference = np.abs(double.decisions(X) - single.decisions(X)).max()
    assert 0 < difference < 1e-5
    with pytest.raises(ArgumentError, match=r"must be .float64. or .float32.; got 'float16'"):
        PolytomyClassifier(prediction_dtype="float16").fit(X, y)


def test_a_pickle_has_the_binaries_once_and_no_bank(blobs):
    X, y = blobs
    classifier = PolytomyClassifier().fit(X, y)
    before = pickle.dumps(classifier)
    expected = classifier.predict_proba(X)
    assert pickle.dumps(classifier) == before
    np.testing.assert_array_equal(pickle.loads(before).predict_proba(X), expected)


LEVELS = np.array(["low", "medium", "high", "top"])


@pytest.fixture(scope="module")
def levels():
    """Return samples of ordered classes whose names are in another order."""
    random = np.random.default_rng(3)
    place = np.arange(120) % 4
    return random.normal(size=(120, 2)) + 2 * place[:, np.newaxis], LEVELS[place]


def test_the_order_of_classes_changes_the_scheme_and_not_the_classes(levels):
    X, y = levels
    order = LEVELS.tolist()
    classifier = PolytomyClassifier(LogisticRegression(), "adjacent", class_order=order).fit(X, y)
    assert list(classifier.scheme_.classes) == order
    assert classifier.classes_.tolist() == sorted(order)
    P = classifier.predict_proba(X)
    assert classifier.score(X, y) > 0.75
    assert (classifier.classes_[P.argmax(axis=1)] == classifier.predict(X)).all()
    # Cuts between neighbours are separable; cuts of the alphabet are not.
    with pytest.warns(ClassOrderWarning, match='"adjacent" needs the classes in order'):
        by_name = PolytomyClassifier(LogisticRegression(), "adjacent").fit(X, y)
    assert by_name.score(X, y) < classifier.score(X, y) - 0.1
    assert classifier.with_scheme("adjacent").scheme_ == classifier.scheme_


def test_partial_fit_and_auto_know_the_order_of_classes(levels):
    X, y = levels
    order = LEVELS.tolist()
    classifier = PolytomyClassifier(SGDClassifier(random_state=0), "tree", class_order=order)
    classifier.partial_fit(X, y, classes=sorted(order))
    assert list(classifier.scheme_.classes) == order
    automatic = PolytomyClassifier(
        LogisticRegression(), "auto", class_order=order, cv=3, random_state=0
    ).fit(X, y)
    assert automatic.classes_.tolist() == sorted(order)


def test_numbers_written_as_text_are_in_order_without_a_warning(levels):
    X, _ = levels
    y = np.array(["2", "9", "10", "100"])[np.arange(120) % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = PolytomyClassifier(LogisticRegression(), "adjacent").fit(X, y)
    assert classifier.scheme_.classes == ("2", "9", "10", "100")


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["low", "medium", "high"], "class_order does not have 'top'"),
        ("low", "class_order must be a list of all labels, from first to last, or None; got 'low'"),
        ({"low", "top"}, "class_order must be a list of all labels, from first to last, or None"),
    ],
)
def test_a_bad_order_of_classes_is_an_error_whatever_the_scheme(levels, order, words):
    for scheme in ("adjacent", "one-vs-one"):
        with pytest.raises(ArgumentError) as caught:
            PolytomyClassifier(LogisticRegression(), scheme, class_order=order).fit(*levels)
        assert words in str(caught.value)


def test_weights_of_classes_belong_outside(levels):
    X, y = levels
    weights = {"low": 5.0, "medium": 1.0, "high": 1.0, "top": 1.0}
    for inner in (SVC(class_weight=weights), LogisticRegression(class_weight=weights)):
        with pytest.raises(ArgumentError, match="set class_weight of PolytomyClassifier instead"):
            PolytomyClassifier(inner).fit(X, y)
        with pytest.raises(ArgumentError, match="set class_weight of PolytomyClassifier instead"):
            PolytomyClassifier(LinearSVC(), models={"one-vs-one-00": inner}).fit(X, y)
    assert PolytomyClassifier(SVC(), class_weight=weights).fit(X, y).score(X, y) > 0.5
