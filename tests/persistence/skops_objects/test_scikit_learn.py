"""Laws of scikit-learn's estimators in model files: they are trusted, unless there is a reason."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, chi2
from sklearn.gaussian_process import GaussianProcessClassifier, kernels
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

import polytomy as pt
from polytomy.errors import PolytomyError, PolytomyWarning
from polytomy.persistence.skops_objects import TRUSTED, check_skops_objects

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]

#: Estimators that cannot be made or trained here without an argument of their own.
NEED_ARGUMENTS = {
    *("ClassifierChain", "ColumnTransformer", "FeatureUnion", "FixedThresholdClassifier"),
    *("MultiOutputClassifier", "OneVsOneClassifier", "OneVsRestClassifier"),
    *("OutputCodeClassifier", "RFE", "RFECV", "SelectFromModel", "SelfTrainingClassifier"),
    *("SequentialFeatureSelector", "SparseCoder", "StackingClassifier", "StackingRegressor"),
    *("TunedThresholdClassifierCV", "VotingClassifier", "VotingRegressor"),
    # For text, dicts or labels instead of samples, for one feature, or for very many.
    *("CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer"),
    *("TfidfVectorizer", "LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer"),
    *("PatchExtractor", "IsotonicRegression", "KernelCenterer", "MissingIndicator", "TSNE"),
    *("CCA", "PLSCanonical", "PLSRegression", "PLSSVD"),
    *("GaussianRandomProjection", "SparseRandomProjection"),
}
#: Estimators that are not saved, or not loaded without `trusted`, and why.
REASONS = {
    "BisectingKMeans": "it holds a private function of its module",
    "Birch": "skops cannot save its tree of Python objects",
}


def save_and_load(estimator, path, X=X, Y=Y):
    """Return what a classifier and its copy after loading predict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = pt.PolytomyClassifier(
            estimator, "one-vs-rest", calibration=None, final_calibration=None, random_state=0
        )
        classifier.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PolytomyWarning)
        pt.save(classifier, path / "m.polytomy")
    return classifier.predict(X), pt.load(path / "m.polytomy").predict(X)


def names_of(kind):
    return [name for name, _ in all_estimators(type_filter=kind)]


@pytest.mark.parametrize(
    "name", sorted({*names_of("classifier"), *names_of("transformer")} - NEED_ARGUMENTS)
)
def test_estimators_of_scikit_learn_are_trusted_or_there_is_a_reason(name, tmp_path):
    estimator = dict(all_estimators())[name]()
    if not hasattr(estimator, "predict_proba") and hasattr(estimator, "transform"):
        estimator = make_pipeline(estimator, LogisticRegression())
    if name in REASONS:
        with pytest.raises((PolytomyError, PolytomyWarning)):
            save_and_load(estimator, tmp_path, np.abs(X), Y)
        return
    before, after = save_and_load(estimator, tmp_path, np.abs(X), Y)
    np.testing.assert_array_equal(before, after)


def test_there_is_a_reason_only_for_estimators_that_exist():
    known = {name for name, _ in all_estimators()}
    assert {*REASONS, *NEED_ARGUMENTS} <= known


MODEL = LogisticRegression()


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SimpleImputer(), KBinsDiscretizer(quantile_method="linear"), MODEL),
        CalibratedClassifierCV(GaussianNB(), cv=2),
        CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2),
        OneVsRestClassifier(MODEL),
        StackingClassifier([("a", MODEL), ("b", GaussianNB())], MODEL, cv=2),
        VotingClassifier([("a", MODEL), ("b", DecisionTreeClassifier())]),
        GridSearchCV(MODEL, {"C": [1, 2]}, cv=2),
        make_pipeline(make_union(StandardScaler(), SelectKBest(chi2, k=2)), MODEL),
        make_pipeline(RFE(MODEL, n_features_to_select=2), MODEL),
        make_pipeline(SelectFromModel(DecisionTreeClassifier()), MODEL),
        make_pipeline(FunctionTransformer(np.log1p), MODEL),
        KNeighborsClassifier(algorithm="ball_tree"),
        KNeighborsClassifier(algorithm="kd_tree", p=3),
        KNeighborsClassifier(algorithm="kd_tree", metric="manhattan"),
        KNeighborsClassifier(algorithm="brute"),
        MLPClassifier(solver="sgd", max_iter=5),
        GaussianProcessClassifier(1.0 * kernels.RBF() + kernels.WhiteKernel() + kernels.Matern()),
        GradientBoostingClassifier(init=MODEL, n_estimators=2),
        GradientBoostingClassifier(init="zero", n_estimators=2),
        BaggingClassifier(DecisionTreeClassifier(), 2, max_features=2),
    ],
)
def test_everyday_estimators_are_trusted(estimator, tmp_path):
    before, after = save_and_load(estimator, tmp_path)
    np.testing.assert_array_equal(before, after)


def test_text_and_frames_are_trusted(tmp_path):
    texts = np.array(["a b", "b c", "c d", "d e", "a e", "b d"] * 4, dtype=object)
    labels = np.array([0, 1, 2, 0, 1, 2] * 4)
    for vectorizer in (CountVectorizer(token_pattern="."), TfidfVectorizer(token_pattern=".")):
        model = make_pipeline(vectorizer, pt.PolytomyClassifier(MODEL, random_state=0))
        pt.save(model.fit(texts, labels), tmp_path / "m.polytomy")
        again = pt.load(tmp_path / "m.polytomy")
        np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    frame = pd.DataFrame({"a": texts, "b": np.arange(24.0)})
    for columns in (["a"], make_column_selector(pattern="a")):
        encode = make_column_transformer(
            (OneHotEncoder(), columns), (OrdinalEncoder(), ["a"]), remainder="passthrough"
        )
        before, after = save_and_load(make_pipeline(encode, MODEL), tmp_path, frame, labels)
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    "name",
    [
        *("builtins.eval", "builtins.exec", "builtins.getattr", "functools.partial", "os.system"),
        *("numpy.load", "numpy.save", "joblib.load", "operator.methodcaller", "types.MethodType"),
    ],
)
def test_what_calls_or_opens_what_it_is_given_is_not_trusted(name):
    assert name not in TRUSTED


# -- numbers that scikit-learn would follow outside of its arrays ----------------------------------


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_trees_of_neighbours_are_those_of_their_samples(algorithm):
    model = KNeighborsClassifier(algorithm=algorithm, leaf_size=5).fit(X, Y)
    check_skops_objects([model])
    for place, index, value in [(1, 0, 10**9), (2, 0, 10**6), (3, (0, 0, 0), 9e9)]:
        state = list(model._tree.__getstate__())
        if place == 2:
            state[2] = state[2].copy()
            state[2]["idx_end"][index] = value
        else:
            state[place] = changed(state[place], index, value)
        other = KNeighborsClassifier(algorithm=algorithm, leaf_size=5).fit(X, Y)
        other._tree.__setstate__(tuple(state))
        with pytest.raises(ValueError, match="tree of neighbours do not fit together"):
            check_skops_objects([other])


@pytest.mark.parametrize("labels", [Y[:-1], np.where(Y == 2, 99, Y), np.where(Y == 2, -1, Y)])
def test_labels_of_neighbours_are_classes(labels):
    model = KNeighborsClassifier(algorithm="brute").fit(X, Y)
    check_skops_objects([model])
    model._y = labels
    with pytest.raises(ValueError, match="samples and labels of neighbours do not fit"):
        check_skops_objects([model])


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 10**6), ("right", 0), ("feature_idx", 4), ("feature_idx", -1), ("is_categorical", 1)],
)
def test_nodes_of_histogram_trees_stay_inside_their_arrays(field, value):
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    check_skops_objects([model])
    model._predictors[1][0].nodes[field][0] = value
    with pytest.raises(ValueError, match="do not fit together"):
        check_skops_objects([model])


def test_boosted_trees_have_a_column_for_each_class():
    model = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    check_skops_objects([model])
    model.init_ = GradientBoostingClassifier(n_estimators=2).fit(X, Y > 0)
    with pytest.raises(ValueError, match="trees of a boosted model do not fit its classes"):
        check_skops_objects([model])


def test_trees_of_subsets_have_the_features_of_their_subset():
    model = BaggingClassifier(DecisionTreeClassifier(), 2, max_features=2).fit(X, Y)
    check_skops_objects([model])
    model.estimators_features_ = [np.arange(1), np.arange(2)]
    with pytest.raises(ValueError, match="have other numbers of features"):
        check_skops_objects([model])
