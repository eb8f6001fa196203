"""Estimators of scikit-learn as states: plain, made again, or left to skops."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from persistence.round_trips import LABELS, TREE, X, Y, assert_same_after_reload
from polytomy import PolytomyClassifier
from polytomy.errors import ModelFileError, PolytomyError
from polytomy.learners.borders import BorderMachine
from polytomy.learners.estimator_states import features_of, share_support_vectors
from polytomy.learners.svm.machines import KernelMachine
from polytomy.states import find_kind_of
from remade import remake

TARGET = np.where(Y == 0, -1, 1)
PLAIN = [
    SVC(),
    SVC(C=10, kernel="poly", degree=2, coef0=1),
    SVC(kernel="sigmoid", gamma=0.01, class_weight="balanced"),
    NuSVC(nu=0.2),
    SVC(kernel="linear"),
    LinearSVC(C=0.5),
    LogisticRegression(C=3),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    RidgeClassifier(alpha=2.0),
    Perceptron(),
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(MinMaxScaler((0, 2)), LinearSVC()),
    make_pipeline(MaxAbsScaler(), "passthrough", LogisticRegression()),
    make_pipeline("passthrough", StandardScaler(), "passthrough", LinearSVC()),
    make_pipeline(StandardScaler(with_mean=False, with_std=False), RidgeClassifier()),
    make_pipeline(StandardScaler(), make_pipeline(MaxAbsScaler(), SVC(gamma=0.3))),
    make_pipeline(make_pipeline(StandardScaler()), MinMaxScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("estimator", PLAIN, ids=str)
def test_plain_estimators_answer_the_same(estimator, tmp_path):
    classifier = PolytomyClassifier(estimator, TREE, random_state=0).fit(X, LABELS)
    again = assert_same_after_reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize("estimator", PLAIN, ids=str)
def test_plain_estimators_keep_their_parameters_before_the_fit(estimator):
    again = remake(estimator)
    assert type(again) is type(estimator)
    assert repr(again) == repr(estimator)
    assert features_of(again) is None


@pytest.mark.parametrize(
    "estimator",
    [
        SGDClassifier(average=True),
        LogisticRegression(random_state=np.random.RandomState(0)),
        Pipeline([("svc", LinearSVC())], verbose=True),
        SVC(kernel="precomputed"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_other_estimators_are_left_to_skops(estimator):
    samples = X @ X.T if getattr(estimator, "kernel", None) == "precomputed" else X
    estimator.fit(samples, TARGET)
    assert find_kind_of(estimator).state(estimator) is None


@pytest.mark.parametrize("estimator", [SVC(), LogisticRegression(max_iter=500)])
def test_models_of_more_than_two_classes_are_left_to_skops(estimator):
    estimator.fit(X, Y)
    assert find_kind_of(estimator).state(estimator) is None


@pytest.mark.parametrize("estimator", [GaussianNB(), PolynomialFeatures()])
def test_other_types_are_no_kinds(estimator):
    assert find_kind_of(estimator) is None


def test_a_seed_is_not_one_of_the_parameters():
    estimator = SGDClassifier(alpha=0.5, random_state=7).fit(X, TARGET)
    state = find_kind_of(estimator).state(estimator)
    assert (state["parameters"], state["seed"]) == ({"alpha": 0.5}, 7)
    assert remake(estimator).random_state == 7


def test_names_of_features_are_kept():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    again = remake(StandardScaler().fit(frame))
    assert again.get_feature_names_out().tolist() == ["a", "b", "c", "d"]


def test_the_number_of_features_is_that_of_the_first_step():
    scaler = StandardScaler().fit(X)
    assert features_of(scaler) == 4
    assert features_of(make_pipeline("passthrough", scaler, SVC())) == 4
    assert features_of(make_pipeline("passthrough")) is None
    assert features_of(None) is None


# -- shared support vectors ----------------------------------------------------------------------


def vectors_of(shared):
    pools = [getattr(each, "machine", each).pool for each in shared.values()]
    return {id(pool): pool.vectors for pool in pools}.values()


@pytest.mark.parametrize("samples", [X, csr_matrix(X)], ids=["dense", "sparse"])
def test_machines_of_the_same_samples_share_their_vectors(samples):
    machines = [SVC().fit(samples, k == Y) for k in range(3)]
    estimators = [machines[0], Pipeline([("a", Pipeline([("b", machines[1])]))]), machines[2]]
    shared = share_support_vectors([LinearSVC(), *estimators])
    assert set(shared) == {id(machine) for machine in machines}
    (vectors,) = vectors_of(shared)
    support = np.unique(np.concatenate([machine.support_ for machine in machines]))
    assert vectors.shape[0] == len(np.unique(X[support], axis=0))
    for machine in machines:
        own = shared[id(machine)].machine
        np.testing.assert_allclose(own.decision_function(X), machine.decision_function(samples))


def test_machines_that_share_a_pool_keep_only_what_they_use():
    classifier = PolytomyClassifier(SVC(gamma=0.5), random_state=0).fit(X, Y)
    machines = [binary.estimator for binary in classifier.binaries_]
    assert all(isinstance(machine, KernelMachine) for machine in machines)
    (vectors,) = vectors_of(share_support_vectors(machines))
    support = np.unique(np.concatenate([machine.support_ for machine in machines]))
    np.testing.assert_array_equal(vectors, machines[0].pool.vectors[support])


# -- wrong values --------------------------------------------------------------------------------

SCALER = StandardScaler().fit(X)
LINEAR = LinearSVC().fit(X, TARGET)
MACHINE = SVC(gamma=0.5).fit(X, TARGET)
PIPELINE = Pipeline([("a", SCALER), ("b", LINEAR)])


@pytest.mark.parametrize(
    ("estimator", "name", "value", "words"),
    [
        (SCALER, "parameters", {"a": 1}, "StandardScaler has no parameter a"),
        (SCALER, "parameters", {"copy": "x"}, "copy"),
        (SCALER, "parameters", {1: 2}, "it.parameters is not a dict of parameters"),
        (SCALER, "parameters", [], "it.parameters is not a dict of parameters"),
        (SCALER, "n_features", 3, r"it.mean_ is not an array of floats of shape \(3,\)"),
        (SCALER, "mean_", None, "it.mean_ is not an array"),
        (SCALER, "scale_", None, "it.scale_ is not an array"),
        (SCALER, "scale_", np.zeros(4), "it.scale_ is not free of zeros"),
        (SCALER, "n_samples", "many", "it.n_samples is not a number"),
        (MinMaxScaler().fit(X), "parameters", {"feature_range": ("a", 1)}, "could not convert"),
        (MinMaxScaler().fit(X), "parameters", {"feature_range": (2, 1)}, "two ascending numbers"),
        (LINEAR, "coefficients", np.ones((4, 1)), "it.coefficients is not an array"),
        (LINEAR, "coefficients", np.ones((1, 0)), "it.coefficients is not a row of numbers"),
        (LINEAR, "intercept", np.ones(2), "it.intercept is not an array"),
        (LINEAR, "classes", np.arange(3), "it.classes is not an array of labels"),
        (LINEAR, "classes", np.array([1, 1]), "it.classes is not an array of different labels"),
        (LINEAR, "feature_names", ["a"], "it.feature_names is not 4 names"),
        (LINEAR, "seed", -1, "it.seed is not an integer from 0 to 4294967295"),
        (MACHINE, "machine", LINEAR, "it.machine is not a machine"),
        (MACHINE, "parameters", {"kernel": "poly"}, "it.parameters is not those of a machine"),
        (MACHINE, "parameters", {"gamma": 0.5, "probability": True}, "it.parameters is not those"),
        (MACHINE, "parameters", {"C": -1.0}, "C"),
        (PIPELINE, "names", ["a", "a"], "it.names is not a list of different names of steps"),
        (PIPELINE, "names", ["a", "memory"], "it.names is not a list of different names of steps"),
        (PIPELINE, "names", ["a"], "it.names is not a name for each step"),
        (PIPELINE, "steps", [LINEAR, LINEAR], "it.steps is not a list of transformers"),
        (PIPELINE, "steps", [SCALER, "x"], "it.steps is not a list of transformers"),
        (PIPELINE, "steps", [SCALER, LinearSVC()], "it.steps is not a list of steps that are all"),
        (
            PIPELINE,
            "steps",
            [StandardScaler().fit(X[:, :3]), LINEAR],
            "it.steps is not a list of steps for one number of features",
        ),
    ],
)
def test_each_value_is_checked(estimator, name, value, words):
    with pytest.raises((PolytomyError, ValueError), match=words):
        remake(estimator, **{name: value})


def test_labels_that_a_ridge_classifier_cannot_have_are_refused():
    model = RidgeClassifier().fit(X, TARGET)
    with pytest.raises((ModelFileError, ValueError), match="label"):
        remake(model, classes=np.array([0.5, 1.5]))


def test_border_classifiers_answer_the_same():
    machine = BorderMachine(*np.random.default_rng(0).normal(size=(2, 5, 4)))
    np.testing.assert_array_equal(
        remake(machine).decision_function(X), machine.decision_function(X)
    )


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(MaxAbsScaler(), RidgeClassifier()),
        make_pipeline(MinMaxScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
    ],
    ids=str,
)
def test_models_that_were_fitted_in_single_precision_answer_the_same(estimator, tmp_path):
    samples = X.astype(np.float32)
    classifier = PolytomyClassifier(estimator, random_state=0).fit(samples, LABELS)
    again = assert_same_after_reload(classifier, tmp_path, samples)
    for one, other in zip(classifier.estimators_, again.estimators_, strict=True):
        np.testing.assert_array_equal(other.predict(samples), one.predict(samples))
        np.testing.assert_array_equal(
            other.decision_function(samples), one.decision_function(samples)
        )
