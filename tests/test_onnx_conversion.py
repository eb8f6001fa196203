"""Estimators that skl2onnx and onnxmltools convert answer the same in onnxruntime."""

from itertools import product

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from polytomy import onnx_conversion
from polytomy.errors import ArgumentError
from polytomy.export import to_onnx

pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")
pytest.importorskip("onnxmltools")


def made_data(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=90)
    samples = (rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[y]).astype(np.float32)
    # The values of single precision, so that no sample is rounded on its way to a tree.
    return samples.astype(np.float64), y


X, Y = made_data()
FAR = np.array([[1e30], [-1e30], [1e-30], [0.0]]) * np.ones(4)
NEW = np.vstack([X[:20], 3 * made_data(1)[0], 1e4 * made_data(2)[0], FAR])
NEW = NEW.astype(np.float32).astype(np.float64)


def assert_same(run, classifier, new=NEW, dtype="float32"):
    found = run(to_onnx(classifier, dtype=dtype), new.astype(dtype))
    expected = classifier.predict_proba(new)
    np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=1e-5)
    is_clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 1e-5
    np.testing.assert_array_equal(found["label"][is_clear], classifier.predict(new)[is_clear])


def fit(estimator, scheme="one-vs-one", **options):
    classifier = pt.PolytomyClassifier(estimator, scheme, cv=3, random_state=0, **options)
    return classifier.fit(X, Y)


ESTIMATORS = [
    AdaBoostClassifier(n_estimators=3),
    BaggingClassifier(n_estimators=3),
    DecisionTreeClassifier(max_depth=4),
    ExtraTreesClassifier(4),
    GaussianNB(),
    GradientBoostingClassifier(n_estimators=4),
    HistGradientBoostingClassifier(max_iter=4),
    LinearDiscriminantAnalysis(),
    MLPClassifier((3,), max_iter=20),
    QuadraticDiscriminantAnalysis(),
    RandomForestClassifier(4),
    make_pipeline(StandardScaler(), RandomForestClassifier(4)),
    make_pipeline(RobustScaler(), PCA(2), HistGradientBoostingClassifier(max_iter=4)),
    make_pipeline(SimpleImputer(), MinMaxScaler(clip=True), SVC()),
    make_pipeline(
        make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough"),
        GradientBoostingClassifier(n_estimators=4),
    ),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scheme", ["one-vs-one", "direct"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_a_converted_estimator_gives_the_same_answers(run, estimator, scheme):
    assert_same(run, fit(estimator, scheme))


@pytest.mark.parametrize("scheme", ["one-vs-one", "direct"])
def test_neighbours_give_the_same_answers(run, scheme):
    # At 1e30, the distances to all samples are the same, so that any of them may be the nearest.
    assert_same(run, fit(KNeighborsClassifier(5), scheme), NEW[: -len(FAR)])


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature", None])
@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingClassifier(n_estimators=4),
        HistGradientBoostingClassifier(max_iter=4),
        RandomForestClassifier(4),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_calibration_is_applied(run, estimator, calibration):
    assert_same(run, fit(estimator, calibration=calibration, final_calibration=None))
    if calibration != "isotonic":
        assert_same(run, fit(estimator, "direct", calibration=calibration))


@pytest.mark.parametrize(
    ("scheme", "final_calibration"),
    [
        *product(["one-vs-rest", "random"], ["bias", "decoder", LogisticRegression(), None]),
        *product([["one-vs-one", "direct"]], ["bias", "decoder"]),  # a pool
    ],
    ids=str,
)
def test_every_final_calibration_is_applied(run, scheme, final_calibration):
    assert_same(run, fit(GaussianNB(), scheme, final_calibration=final_calibration))


def test_steps_before_the_classifier_are_converted(run):
    shared = make_pipeline(PolynomialFeatures(2), StandardScaler(), SVC())
    new = NEW[: -len(FAR)]  # squares of 1e30 are more than a support vector machine can compare
    assert_same(run, fit(shared, shared_preprocessing=True), new)
    assert_same(run, make_pipeline(PCA(3), fit(GaussianNB())).fit(X, Y), new)


@pytest.mark.parametrize(
    "step",
    [
        Binarizer(),
        *[Normalizer(norm=each) for each in ("l1", "l2", "max")],
        PolynomialFeatures(3),
        PolynomialFeatures(2, interaction_only=True, include_bias=False),
    ],
    ids=str,
)
def test_transformers_are_exact_at_zero_and_far_away(run, step):
    tiny = np.array([[1e-30], [-1e-45], [1e-300]]) * np.ones(4)
    new = np.vstack([NEW, tiny, np.eye(4), np.zeros((1, 4))])
    classifier = make_pipeline(step, pt.PolytomyClassifier(LogisticRegression(), random_state=0))
    assert_same(run, classifier.fit(X, Y), new, "float64")


CODES = np.array([0.0, 1.0, 2.5, 3.0])


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("is_part", [True, False])
@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("estimator", [LogisticRegression(), RandomForestClassifier(3)], ids=str)
def test_categories_are_encoded_also_new_ones(run, estimator, drop, is_part):
    encoder = OneHotEncoder(drop=drop, handle_unknown="ignore")
    if is_part:
        steps = (StandardScaler(), [0, 3]), (encoder, slice(1, 3)), ("drop", [])
        encoder = make_column_transformer(*steps, remainder="passthrough")
    rng = np.random.default_rng(3)
    samples = CODES[(rng.integers(2, size=X.shape) + Y[:, np.newaxis]) % 4]
    samples[:, 2] = Y == 0  # two categories
    new = np.vstack([samples, rng.normal(size=(20, 4)), FAR]).astype(np.float32).astype(np.float64)
    pipeline = make_pipeline(encoder, estimator)
    for classifier in (
        pt.PolytomyClassifier(pipeline, random_state=0),
        pt.PolytomyClassifier(pipeline, random_state=0, shared_preprocessing=True),
    ):
        assert_same(run, classifier.fit(samples, Y), new, "float64")


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        (OneHotEncoder(max_categories=2), "infrequent categories cannot be converted"),
        (OneHotEncoder(handle_unknown="ignore"), "only categories that are numbers"),
    ],
)
def test_categories_that_cannot_be_encoded_are_named(encoder, words):
    missing = np.where(X > 1, np.nan, np.round(X))
    samples = missing if encoder.max_categories is None else np.round(X)
    pipeline = make_pipeline(encoder, LogisticRegression())
    classifier = pt.PolytomyClassifier(pipeline, shared_preprocessing=True, random_state=0)
    assert words in refusal(classifier.fit(samples, Y))


def test_a_first_step_that_does_nothing_is_left_out(run):
    assert_same(run, make_pipeline("passthrough", fit(GaussianNB())).fit(X, Y))


@pytest.mark.parametrize("method", ["fourier", "borders"])
def test_compressed_classifiers_are_exported(run, method):
    others = np.vstack([made_data(seed)[0] for seed in range(3, 8)])
    classifier = fit(SVC()).compress(others, method=method, max_accuracy_loss=1.0)
    assert_same(run, classifier, NEW[: -len(FAR)])


def test_histogram_boosting_is_exact_at_its_thresholds_and_for_missing_values(run):
    samples = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    boosting = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=5)
    classifier = pt.PolytomyClassifier(boosting, "direct", random_state=0).fit(samples, Y)
    trees = [tree for each in classifier.estimators_[0]._predictors for tree in each]
    thresholds = np.concatenate([tree.nodes["num_threshold"] for tree in trees])
    near = np.concatenate([thresholds, np.nextafter(thresholds, 9.0), [np.nan]])
    assert_same(run, classifier, np.repeat(near[:, np.newaxis], 4, axis=1), "float64")


BOOSTERS = {
    "xgboost": ("XGBClassifier", {"n_estimators": 5, "n_jobs": 1}),
    "lightgbm": ("LGBMClassifier", {"n_estimators": 5, "n_jobs": 1, "verbose": -1}),
    "catboost": (
        "CatBoostClassifier",
        {"iterations": 5, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
    ),
}


@pytest.mark.parametrize("scheme", ["one-vs-one", "direct"])
@pytest.mark.parametrize("package", BOOSTERS)
def test_boosters_give_the_same_answers(run, package, scheme):
    name, parameters = BOOSTERS[package]
    booster = getattr(pytest.importorskip(package), name)(**parameters)
    assert_same(run, fit(booster, scheme))


def refusal(classifier):
    with pytest.raises(ArgumentError) as caught:
        to_onnx(classifier)
    return str(caught.value)


def test_an_estimator_that_no_converter_takes_is_named():
    assert refusal(fit(GaussianProcessClassifier(max_iter_predict=5))).startswith(
        'binary "one-vs-one-00" is a GaussianProcessClassifier with the output probability, which '
        "cannot be exported: it would need operators of com.microsoft. Fit with SVC or NuSVC"
    )
    categories = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    samples = np.column_stack([Y % 2, X[:, 1]])
    classifier = pt.PolytomyClassifier(categories, random_state=0).fit(samples, Y)
    assert "categorical features cannot be converted" in refusal(classifier)


def test_a_missing_converter_is_named_with_the_command_that_installs_it(monkeypatch):
    def fail(estimator, method):
        raise ImportError("No module named 'skl2onnx'", name="skl2onnx")

    monkeypatch.setattr(onnx_conversion, "_convert_sklearn", fail)
    words = 'cannot be exported: skl2onnx is not installed: pip install "polytomy[onnx]".'
    assert words in refusal(fit(GaussianNB()))


class Reversed(GaussianNB):
    """A classifier that a converter takes for its parent, with other probabilities."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_a_converted_model_with_other_answers_is_refused(monkeypatch):
    def convert(estimator, method):
        return original(GaussianNB().fit(X[Y < 2], Y[Y < 2]), method)

    original = onnx_conversion._convert_sklearn
    monkeypatch.setattr(onnx_conversion, "_convert_sklearn", convert)
    words = refusal(pt.PolytomyClassifier(Reversed(), cv=3, random_state=0).fit(X[Y < 2], Y[Y < 2]))
    assert words.startswith(
        'binary "one-vs-one-00" is a Reversed with the output probability, which cannot be '
        "exported: its converted model gives other answers."
    )


def test_zeros_that_are_missing_values_are_refused():
    name, others = BOOSTERS["lightgbm"]
    booster = getattr(pytest.importorskip("lightgbm"), name)(**others, zero_as_missing=True)
    assert "zeros that are missing values cannot" in refusal(fit(booster))


@pytest.mark.parametrize(
    ("package", "parameters"),
    [
        ("lightgbm", {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
        ("lightgbm", {"linear_tree": True}),
        ("lightgbm", {"sigmoid": 2.0}),
        ("catboost", {"boost_from_average": True}),
    ],
    ids=str,
)
def test_boosters_whose_converter_ignores_a_parameter_are_refused(package, parameters):
    name, others = BOOSTERS[package]
    booster = getattr(pytest.importorskip(package), name)(**others, **parameters)
    assert "its converted model gives other answers" in refusal(fit(booster))
