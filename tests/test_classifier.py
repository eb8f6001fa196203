"""PolytomyClassifier as a user meets it: schemes, labels, data, weights, batches, errors."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelPropagation
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from grouped_samples import Watcher, twins
from polytomy import PolytomyClassifier
from polytomy.errors import (
    ArgumentError,
    CalibrationWarning,
    ClassOrderWarning,
    ControlWarning,
    DataError,
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


def test_one_vs_one_couples_a_classifier_for_each_pair(blobs):
    X, y = blobs
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    classifier = PolytomyClassifier(exact, final_calibration=None).fit(X, y)
    classes = list(classifier.classes_)
    decisions = []
    for i, first in enumerate(classes):
        for second in classes[i + 1 :]:
            pair = np.isin(y, [first, second])
            model = exact.fit(X[pair], y[pair] == second)
            decisions.append(2 * model.predict_proba(X)[:, 1] - 1)
    np.testing.assert_allclose(classifier.decisions(X), np.transpose(decisions), atol=1e-12)
    expected = pt.solve(classifier.scheme_.code, np.transpose(decisions))
    np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-12)


def test_a_tree_multiplies_the_probabilities_on_its_paths(blobs):
    X, y = blobs
    scheme = "fields {crops {corn wheat} trees {oak pine}}"
    classifier = PolytomyClassifier(LogisticRegression(), scheme, final_calibration=None)
    classifier.fit(X, y)
    fields, crops, trees = ((1 + classifier.decisions(X)) / 2).T
    expected = {
        "corn": (1 - fields) * (1 - crops),
        "wheat": (1 - fields) * crops,
        "oak": fields * (1 - trees),
        "pine": fields * trees,
    }
    columns = [expected[label] for label in classifier.classes_]
    np.testing.assert_allclose(classifier.predict_proba(X), np.transpose(columns), atol=1e-12)


def test_the_same_random_state_gives_the_same_classifier(blobs):
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


def test_two_classes_may_be_false_and_true():
    X, y = load_iris(return_X_y=True)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    classifier = PolytomyClassifier(exact, final_calibration=None).fit(X, y == 1)
    assert classifier.classes_.tolist() == [False, True]
    direct = exact.fit(X, y == 1)
    np.testing.assert_allclose(classifier.predict_proba(X), direct.predict_proba(X), atol=1e-12)


def test_one_class_has_probability_one(iris):
    X, _ = iris
    classifier = PolytomyClassifier().fit(X, np.full(len(X), "only"))
    assert (classifier.predict_proba(X) == 1).all()
    assert set(classifier.predict(X)) == {"only"}
    assert classifier.decisions(X).shape == (len(X), 0)


def test_numbers_in_a_scheme_match_labels_that_are_numbers_or_texts():
    X, y = load_iris(return_X_y=True)
    text = "m {2 n {0 1}}"
    classifier = PolytomyClassifier(GaussianNB(), text, random_state=0)
    by_number = classifier.fit(X, y).predict_proba(X)
    by_text = classifier.fit(X, y.astype(str)).predict_proba(X)
    assert (by_number == by_text).all()


def test_a_class_of_the_scheme_without_samples_gets_no_probability(iris):
    X, y = iris
    scheme = pt.designs.one_vs_one(["setosa", "never", "versicolor", "virginica"])
    with pytest.warns(ControlWarning, match="class 'never' of the scheme has no samples"):
        classifier = PolytomyClassifier(GaussianNB(), scheme, random_state=0).fit(X, y)
    plain = PolytomyClassifier(GaussianNB(), random_state=0).fit(X, y)
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
def test_frames_give_the_answers_of_arrays_and_their_column_names_are_kept(frame, iris):
    X, y = iris
    table = frame(dict(zip("abcd", X.T, strict=True)))
    classifier = PolytomyClassifier(SVC(), random_state=0).fit(table, pd.Series(y))
    assert classifier.feature_names_in_.tolist() == list("abcd")
    assert classifier.n_features_in_ == 4
    plain = PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(table), plain.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame(dict(zip("dcba", X.T, strict=True))))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_pipeline_picks_columns_of_a_frame(frame, iris):
    X, y = iris
    kinds = np.where(X[:, 0] > 5.5, "u", "v")
    table = frame({**dict(zip("abcd", X.T, strict=True)), "kind": kinds})
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), list("ab")))
    classifier = PolytomyClassifier(make_pipeline(columns, LogisticRegression())).fit(table, y)
    assert classifier.score(table, y) > 0.7


def test_texts_are_left_to_the_pipeline():
    texts = ["corn maize field", "wheat field", "oak tree", "pine tree"] * 5
    y = ["corn", "wheat", "oak", "pine"] * 5
    classifier = PolytomyClassifier(make_pipeline(TfidfVectorizer(), LinearSVC()), random_state=0)
    assert classifier.fit(texts, y).predict(["maize", "pine"]).tolist() == ["corn", "pine"]


def test_a_precomputed_kernel_gives_the_answers_of_the_kernel_function(blobs):
    X, y = blobs
    kernel = X @ X.T
    machine = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(kernel, y)
    plain = PolytomyClassifier(SVC(kernel="linear"), random_state=0).fit(X, y)
    np.testing.assert_allclose(machine.decisions(kernel), plain.decisions(X), atol=1e-2)


# -- estimators -----------------------------------------------------------------------------------


def test_a_scheme_may_mix_specifications_names_and_the_default(blobs):
    X, y = blobs
    text = '"logistic-regression C=0.5" 0/1; svm 0/2; "" 1/2; {corn oak late {pine wheat}}'
    models = {"svm": SVC(C=10), "late": DecisionTreeClassifier(max_depth=2)}
    classifier = PolytomyClassifier(GaussianNB(), text, models=models, random_state=0).fit(X, y)
    kinds = [type(binary.estimator).__name__ for binary in classifier.binaries_]
    assert kinds[0] == "LogisticRegression"
    assert classifier.binaries_[0].estimator.C == 0.5
    assert kinds[2:] == ["GaussianNB", "DecisionTreeClassifier"]
    assert classifier.score(X, y) > 0.8


# -- weights --------------------------------------------------------------------------------------


def test_weights_count_as_repetitions(blobs):
    X, y = blobs
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = PolytomyClassifier(GaussianNB()).fit(X, y, sample_weight=weights)
    repeated = PolytomyClassifier(GaussianNB()).fit(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_allclose(weighted.decisions(X), repeated.decisions(X), atol=1e-6)


def test_weights_reach_the_last_step_of_a_pipeline(blobs):
    X, y = blobs
    weights = np.linspace(0.5, 2, len(X))
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    assert PolytomyClassifier(pipeline).fit(X, y, sample_weight=weights).score(X, y) > 0.8
    with pytest.raises(ArgumentError, match="KNeighborsClassifier does not support sample_weight"):
        PolytomyClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weights)


# -- with the rest of scikit-learn ----------------------------------------------------------------


def test_it_works_in_searches_pipelines_and_calibrated_classifiers(iris):
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


def test_batches_train_like_all_the_data(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-rest", reservoir_size=0)
    for start in range(0, len(X), 30):
        batch = slice(start, start + 30)
        classifier.partial_fit(X[batch], y[batch], classes=np.unique(y))
    whole = PolytomyClassifier(GaussianNB(), "one-vs-rest", final_calibration=None).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert not hasattr(PolytomyClassifier(SVC()), "partial_fit")
    with pytest.raises(ArgumentError, match="classes must list all labels"):
        PolytomyClassifier(GaussianNB()).partial_fit(X, y)
    with pytest.raises(ArgumentError, match="'elm', which is not among the classes"):
        classifier.partial_fit(X[:1], ["elm"])
    balanced = PolytomyClassifier(GaussianNB(), class_weight="balanced")
    with pytest.raises(AttributeError, match=r"has no attribute .* needs all the data at once"):
        balanced.partial_fit(X, y, classes=np.unique(y))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "least-square"}, "least-squares"),
        ({"solver": "price", "scheme": "one-vs-rest"}, "price.* needs a one-vs-one code"),
        ({"solver": "greedy"}, "greedy.* needs"),
        ({"calibration": "platt"}, "calibration must be .*; got 'platt'"),
        ({"cv": 1}, "cv=1 must be a number of folds"),
        ({"scheme": "m {setosa versicolor}"}, "does not name class 'virginica'"),
        ({"estimator": SVC}, "estimator is the class SVC. Use an object"),
        ({"scheme": '"svv C=1" {setosa n {versicolor virginica}}'}, "svv"),
    ],
)
def test_a_wrong_parameter_is_refused(options, words, iris):
    with pytest.raises(ValueError, match=words):
        PolytomyClassifier(**{"estimator": LinearSVC(), **options}).fit(*iris)


# -- rare cases -----------------------------------------------------------------------------------


def test_a_calibrator_that_returns_nan_is_refused(iris):
    X, y = iris
    classifier = PolytomyClassifier(
        SVC(kernel="linear"), calibration=IsotonicRegression(), random_state=0
    )
    with pytest.raises(ArgumentError, match=r'NaN .* out_of_bounds="clip"'):
        classifier.fit(X, y).predict_proba(10 * X)


def test_a_classifier_is_not_fitted_after_a_failed_fit(iris):
    X, y = iris
    classifier = PolytomyClassifier(LogisticRegression()).fit(X, y)
    classifier.set_params(scheme="one-vs-rest", estimator=SVC(C=-1))
    with pytest.raises(ValueError, match="C"):
        classifier.fit(X, y)
    with pytest.raises(NotFittedError):
        classifier.predict(X)


def test_only_the_first_batch_warns_of_a_class_without_samples(iris):
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


def test_semi_supervised_estimators_get_no_unknown_labels(blobs):
    # A target of −1 would mean that the label is unknown.
    X, y = blobs
    classifier = PolytomyClassifier(LabelPropagation(gamma=1), TREE_OF_PLANTS).fit(X, y)
    plain = LabelPropagation(gamma=1).fit(X, np.isin(y, ["oak", "pine"]).astype(int))
    expected = plain.predict_proba(X)[:, 1] * 2 - 1
    np.testing.assert_allclose(classifier.decisions(X)[:, 0], expected, atol=1e-12)


def test_an_estimator_may_weight_the_sides(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(SVC(class_weight={-1: 3.0}), TREE_OF_PLANTS).fit(X, y)
    side = np.where(np.isin(y, ["oak", "pine"]), 1, -1)
    plain = SVC(class_weight={-1: 3.0}).fit(X, side)
    scores = classifier.binaries_[0].scores(X)
    np.testing.assert_allclose(scores, plain.decision_function(X), atol=1e-6)


def test_warnings_point_to_the_line_of_the_user(iris):
    X, y = iris
    cv = [(np.arange(50, 150), np.arange(50))]  # only samples of one class are held out
    with pytest.warns(CalibrationWarning) as caught:
        PolytomyClassifier(final_calibration=None, cv=cv).fit(X, y)
    assert caught[0].filename == __file__
    text = "@one-vs-one {setosa versicolor virginica elm}"
    with pytest.warns(ControlWarning, match="elm") as caught:
        PolytomyClassifier(scheme=text).fit(X, y)
    assert caught[0].filename == __file__


class FailsAtPrediction(GaussianNB):
    def predict_proba(self, X):
        raise ValueError("not today")


def test_an_error_at_prediction_names_the_partition(iris):
    X, y = iris
    # A final calibration would ask the binaries in fit already.
    classifier = PolytomyClassifier(FailsAtPrediction(), final_calibration=None).fit(X, y)
    with pytest.raises(ValueError, match="not today") as caught:
        classifier.predict(X)
    assert caught.value.__notes__ == [
        'while predicting with the FailsAtPrediction of partition "one-vs-one-00"'
    ]


@pytest.mark.parametrize("estimator", [SVC(), make_pipeline(StandardScaler(), SVC())])
def test_sparse_samples_for_a_model_that_takes_dense_ones_are_one_clear_error(estimator, iris):
    X, y = iris
    classifier = PolytomyClassifier(estimator, scheme="direct", random_state=0).fit(X, y)
    kind = "SVC" if isinstance(estimator, SVC) else "Pipeline of StandardScaler, SVC"
    with pytest.raises(DataError) as caught:
        classifier.predict(sp.csr_array(X))
    message = str(caught.value)
    assert message.startswith(
        f'X is sparse, but the {kind} of partition "direct-00" needs dense samples: '
    )
    assert message.endswith(". Use X.toarray().")


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("design", ["chain", "tree"])
def test_greedy_follows_a_tree_that_is_written_as_a_flat_code(design, shared, iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), SVC())
    options = {"solver": "greedy", "random_state": 0, "shared_preprocessing": shared}
    tree = PolytomyClassifier(pipeline, scheme=design, **options).fit(X, y)
    flat = PolytomyClassifier(pipeline, scheme=tree.scheme_.flatten(), **options).fit(X, y)
    np.testing.assert_array_equal(flat.predict(X), tree.predict(X))


def test_a_class_instead_of_an_object_can_be_shown_but_not_fitted(iris):
    assert "SVC" in PolytomyClassifier(SVC)._repr_html_()
    with pytest.raises(ArgumentError, match=r"Use an object: SVC\(\)"):
        PolytomyClassifier(SVC).fit(*iris)


def test_the_random_state_seeds_a_users_calibrator(blobs):
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


@pytest.mark.parametrize("form", [pd.DataFrame, sp.csr_array, np.asarray])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("joblib_processes")
def test_an_estimator_that_works_in_place_does_not_change_the_data(form, n_jobs, iris):
    X, y = iris[0] * [1, 10, 100, 1000], iris[1]
    data, untouched = form(X.copy()), form(X.copy())
    scaler = MaxAbsScaler if form is sp.csr_array else StandardScaler
    careless = make_pipeline(scaler(copy=False), LogisticRegression(max_iter=500))
    careful = make_pipeline(scaler(), LogisticRegression(max_iter=500))
    answers = PolytomyClassifier(careless, "one-vs-rest", n_jobs=n_jobs).fit(data, y)
    expected = PolytomyClassifier(careful, "one-vs-rest").fit(untouched, y)
    np.testing.assert_allclose(answers.decisions(data), expected.decisions(untouched))
    difference = (data - untouched) if form is not pd.DataFrame else (data - untouched).to_numpy()
    assert abs(difference).max() == 0


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
def test_missing_values_are_left_to_the_binaries(estimator, iris):
    X, y = iris
    X = X.copy()
    X[::3, 0] = np.nan
    assert PolytomyClassifier(estimator).fit(X, y).score(X, y) > 0.9
    # A specification in the scheme may accept them although the default estimator does not.
    boosted = '"hist-gradient-boosting max_iter=5"'
    scheme = f"{boosted} {{setosa {boosted} {{versicolor virginica}}}}"
    assert PolytomyClassifier(scheme=scheme).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        PolytomyClassifier(SVC()).fit(X, y)
    fitted = PolytomyClassifier(SVC()).fit(iris[0], y)
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(X)


def test_splits_and_groups_keep_twins_together():
    X, y, groups = twins()
    folds = [(np.flatnonzero(groups % 4 != k), groups % 4 == k) for k in range(4)]
    Watcher.was_seen = ()
    PolytomyClassifier(Watcher(), cv=folds, random_state=0).fit(X, y)
    PolytomyClassifier(Watcher(), cv=GroupKFold(4), random_state=0).fit(X, y, groups=groups)
    assert Watcher.was_seen
    assert not any(Watcher.was_seen)


# -- estimators as text, and parameters that are wrong -----------------------------------------


@pytest.mark.parametrize("text", ["svc C=10", "-t 2 -c 10", "logistic-regression"])
def test_a_classifier_of_a_text_is_saved_and_loaded(text, iris, tmp_path):
    X, y = iris
    classifier = PolytomyClassifier(text, random_state=0).fit(X, y)
    pt.save(classifier, tmp_path / "m.polytomy")
    again = pt.load(tmp_path / "m.polytomy")
    assert again.estimator == text
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_a_file_answers_as_the_fitted_classifier_whatever_was_set_after_the_fit(iris, tmp_path):
    X, y = iris
    classifier = PolytomyClassifier(GaussianNB()).fit(X, y)
    classifier.set_params(solver="voting", prediction_dtype="float32")
    pt.save(classifier, tmp_path / "m.polytomy")
    again = pt.load(tmp_path / "m.polytomy")
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize("parameters", [{"solver": "lsq"}, {"estimator": "svcc"}, {"estimator": 3}])
def test_a_wrong_parameter_breaks_neither_hasattr_nor_the_diagram(parameters):
    classifier = PolytomyClassifier(**parameters)
    assert hasattr(classifier, "predict_proba")
    hasattr(classifier, "partial_fit")
    assert "PolytomyClassifier" in classifier._repr_html_()


@pytest.mark.parametrize("estimator", [None, "svc"])
def test_parameters_of_an_estimator_that_is_not_an_object_cannot_be_set(estimator):
    with pytest.raises(ArgumentError, match=r"estimator__C cannot be set, because estimator="):
        PolytomyClassifier(estimator).set_params(estimator__C=3)
    changed = PolytomyClassifier(estimator).set_params(estimator=SVC(), estimator__C=3)
    assert changed.estimator.C == 3


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        ("svcc", 'estimator="svcc" cannot be used: '),
        ("  ", "estimator is empty"),
        ("svc C=-1", 'estimator="svc C=-1" cannot be used: '),
        (3, "estimator=3 is not a scikit-learn estimator"),
        (SVC, "estimator is the class SVC"),
    ],
)
@pytest.mark.parametrize("kind", [PolytomyClassifier, pt.SchemeSearchCV])
def test_a_wrong_estimator_is_named(kind, estimator, words, iris):
    with pytest.raises(ArgumentError) as caught:
        kind(estimator).fit(*iris)
    assert caught.value.parameter == "estimator"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "value"),
    [({"setosa": -1}, "-1"), ({"setosa": np.nan}, "nan"), ({"setosa": "x"}, "'x'")],
)
def test_a_wrong_class_weight_names_its_class(weights, value, iris):
    with pytest.raises(ArgumentError, match=f"the weight of 'setosa' is {value}"):
        PolytomyClassifier(GaussianNB(), class_weight=weights).fit(*iris)


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([], "has no splits"),
        ([("a", "b")], "split 0 of cv is not a pair of lists"),
        ([([0], [1], [2])], "split 0 of cv is not a pair of lists"),
        ([([0], [1]), (1, 2)], "split 1 of cv is not a pair of lists"),
    ],
)
def test_a_wrong_list_of_splits_is_refused(cv, words, iris):
    with pytest.raises(ArgumentError, match=words) as caught:
        PolytomyClassifier(GaussianNB(), cv=cv).fit(*iris)
    assert caught.value.parameter == "cv"


# -- layouts of dense data ---------------------------------------------------------------------


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


# -- the order of classes -----------------------------------------------------------------------


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
    # A decoder would make up for part of a wrong order.
    adjacent = PolytomyClassifier(LogisticRegression(), "adjacent", final_calibration="bias")
    classifier = clone(adjacent).set_params(class_order=order).fit(X, y)
    assert list(classifier.scheme_.classes) == order
    assert classifier.classes_.tolist() == sorted(order)
    P = classifier.predict_proba(X)
    assert classifier.score(X, y) > 0.75
    assert (classifier.classes_[P.argmax(axis=1)] == classifier.predict(X)).all()
    # Cuts between neighbours are separable; cuts of the alphabet are not.
    with pytest.warns(ClassOrderWarning, match='"adjacent" needs the classes in order'):
        by_name = adjacent.fit(X, y)
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


ORDERED_COLUMNS = {
    "pandas Categorical": lambda y, order: pd.Categorical(y, order, ordered=True),
    "pandas Series": lambda y, order: pd.Series(pd.Categorical(y, order, ordered=True)),
    "polars Enum": lambda y, order: pl.Series(y.tolist(), dtype=pl.Enum(order)),
}


@pytest.mark.parametrize("column", ORDERED_COLUMNS)
@pytest.mark.parametrize("scheme", ["adjacent", "chain", "chain-backward", "tree", "ordered"])
def test_ordered_categories_bring_the_order_of_the_classes(levels, scheme, column):
    X, y = levels
    order = LEVELS.tolist()
    categories = ["none", *order, "beyond"]  # those that do not occur are left out
    labels = ORDERED_COLUMNS[column](y, categories)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = PolytomyClassifier(LogisticRegression(), scheme, random_state=0).fit(X, labels)
    given = PolytomyClassifier(LogisticRegression(), scheme, class_order=order, random_state=0)
    given.fit(X, y)
    assert classifier.scheme_ == given.scheme_
    assert classifier.class_order_ == given.class_order_ == order
    assert classifier.classes_.tolist() == sorted(order)
    np.testing.assert_array_equal(classifier.predict_proba(X), given.predict_proba(X))
    assert classifier.with_scheme(classifier.scheme).scheme_ == classifier.scheme_
    assert clone(classifier).class_order is None


def test_the_order_that_is_given_comes_before_that_of_the_categories(levels):
    X, y = levels
    labels = pd.Categorical(y, sorted(LEVELS.tolist()), ordered=True)
    order = LEVELS.tolist()
    classifier = PolytomyClassifier(LogisticRegression(), "adjacent", class_order=order)
    assert classifier.fit(X, labels).class_order_ == order


@pytest.mark.parametrize(
    "column",
    [
        lambda y, order: pd.Categorical(y, order),
        lambda y, order: pl.Series(y.tolist(), dtype=pl.Categorical()),
    ],
)
def test_categories_without_an_order_have_none(levels, column):
    X, y = levels
    classifier = PolytomyClassifier(LogisticRegression(), "adjacent")
    with pytest.warns(ClassOrderWarning, match='"adjacent" needs the classes in order'):
        classifier.fit(X, column(y, LEVELS.tolist()))
    assert classifier.class_order_ is None


def test_partial_fit_reads_the_order_of_the_categories(levels):
    X, y = levels
    order = LEVELS.tolist()
    labels = pd.Series(pd.Categorical(y, order, ordered=True))
    first = labels[:1]  # one class, but all categories
    classifier = PolytomyClassifier(SGDClassifier(random_state=0), "chain")
    classifier.partial_fit(X[:1], first, classes=order).partial_fit(X, labels)
    assert list(classifier.scheme_.classes) == classifier.class_order_ == order


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


@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsClassifier()])
def test_one_direct_model_is_the_estimator_itself(estimator, blobs):
    X, y = blobs
    classifier = PolytomyClassifier(
        estimator, "@direct {wheat corn oak pine}", final_calibration=None
    ).fit(X, y)
    expected = estimator.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-14)
    assert classifier.estimators_[0].n_features_in_ == 2


def test_a_hierarchy_multiplies_models_that_were_fitted_by_hand(blobs):
    X, y = blobs
    text = "plant {corn trees {oak pine} wheat}"
    exact = LogisticRegression(tol=1e-10, max_iter=1000)
    classifier = PolytomyClassifier(exact, text, final_calibration=None).fit(X, y)
    top = clone(exact).fit(X, np.where(np.isin(y, ["oak", "pine"]), "tree", y))
    is_tree = np.isin(y, ["oak", "pine"])
    below = clone(exact).fit(X[is_tree], y[is_tree]).predict_proba(X)
    corn, tree, wheat = top.predict_proba(X).T
    expected = np.column_stack([corn, tree * below[:, 0], tree * below[:, 1], wheat])
    np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-5)


@pytest.mark.parametrize("estimator", [SVC(), LinearSVC(), GaussianNB(), DecisionTreeClassifier()])
@pytest.mark.parametrize("scheme", [
    "@direct {corn oak pine wheat}",
    "m 0 / 1 / 2 3; n 0 1 / 2 / 3; {corn oak pine wheat}",
    "@one-vs-one {m {corn oak pine} wheat}",
])  # fmt: skip
def test_wide_partitions_give_probabilities_with_any_estimator(scheme, estimator, blobs):
    X, y = blobs
    classifier = PolytomyClassifier(estimator, scheme, random_state=0).fit(X, y)
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[proba.argmax(axis=1)])
    assert classifier.score(X, y) > 0.5
    assert classifier.out_of_fold_score_["accuracy"] > 0.4


def test_fitted_models_answer_for_wide_partitions(blobs):
    X, y = blobs
    model = LogisticRegression().fit(X, y)
    text = "m {wheat pine oak corn}"
    plain = PolytomyClassifier(SVC(), text, models={"m": model}, final_calibration=None)
    plain.fit(X, y)
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), atol=1e-14)
    with pytest.raises(
        pt.SchemeError, match='Model "m" has the classes corn oak pine wheat, which'
    ):
        PolytomyClassifier(SVC(), "m {a {corn oak} pine wheat}", models={"m": model}).fit(X, y)


def test_a_side_whose_classes_have_no_samples_gets_no_probability(blobs):
    X, y = blobs
    text = "@direct {corn oak pine wheat elm}"
    with pytest.warns(ControlWarning, match="'elm' of the scheme has no samples"):
        classifier = PolytomyClassifier(LogisticRegression(), text, final_calibration=None).fit(
            X, y
        )
    expected = LogisticRegression().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(classifier.predict_proba(X), expected, atol=1e-14)
