"""Specifications: text to estimator and back, and errors that quote the text."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.discovery import all_estimators

from polytomy.errors import ArgumentError
from polytomy.learners.specification import estimator_from, specification_of


def same(one, other):
    return type(one) is type(other) and one.get_params() == other.get_params()


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ("svc", SVC()),
        ("svc C=10 gamma=0.1", SVC(C=10, gamma=0.1)),
        ("  svc   kernel=poly ", SVC(kernel="poly")),
        ("svc kernel='poly'", SVC(kernel="poly")),
        ("SVC C=2", SVC(C=2)),
        ("svc class_weight={-1:2,1:3}", SVC(class_weight={-1: 2, 1: 3})),
        ("svc 'class_weight={-1: 2, 1: 3}'", SVC(class_weight={-1: 2, 1: 3})),
        ("svc C=inf", SVC(C=math.inf)),
        ("linear-svc loss=hinge", LinearSVC(loss="hinge")),
        ("nu-svc nu=0.2", NuSVC(nu=0.2)),
        ("logistic-regression C=0.1", LogisticRegression(C=0.1)),
        ("logistic-regression solver=newton-cg", LogisticRegression(solver="newton-cg")),
        ("LogisticRegression", LogisticRegression()),
        ("sgd-classifier loss=log_loss", SGDClassifier(loss="log_loss")),
        ("sgd alpha=1e-3", SGDClassifier(alpha=1e-3)),
        ("k-neighbors-classifier n_neighbors=3", KNeighborsClassifier(n_neighbors=3)),
        ("k-neighbors n_neighbors=3", KNeighborsClassifier(n_neighbors=3)),
        ("decision-tree max_depth=None", DecisionTreeClassifier(max_depth=None)),
        ("extra-tree", ExtraTreeClassifier()),
        ("random-forest bootstrap=False", RandomForestClassifier(bootstrap=False)),
        ("hist-gradient-boosting", HistGradientBoostingClassifier()),
        ("mlp hidden_layer_sizes=(10,5)", MLPClassifier(hidden_layer_sizes=(10, 5))),
        ("linear-discriminant-analysis", LinearDiscriminantAnalysis()),
        ("-c 10 -g 0.1", SVC(C=10, gamma=0.1, cache_size=100)),
    ],
)
def test_a_name_and_parameters_describe_a_classifier(specification, expected):
    assert same(estimator_from(specification, default=KNeighborsClassifier()), expected)


def test_an_empty_specification_is_a_clone_of_the_default():
    default = LogisticRegression(C=3)
    made = estimator_from("", default)
    assert same(made, default)
    assert made is not default


def test_parameters_alone_change_a_clone_of_the_default():
    default = LogisticRegression(C=3, max_iter=50)
    assert same(estimator_from("C=10", default), LogisticRegression(C=10, max_iter=50))
    assert default.C == 3


def test_parameters_may_belong_to_a_step():
    default = make_pipeline(StandardScaler(), SVC())
    made = estimator_from("svc__C=10 standardscaler__with_mean=False", default)
    assert made.named_steps["svc"].C == 10
    assert made.named_steps["standardscaler"].with_mean is False


def test_a_quoted_value_may_have_spaces():
    default = make_pipeline(TfidfVectorizer(), LinearSVC())
    made = estimator_from("'tfidfvectorizer__token_pattern=a b'", default)
    assert made.named_steps["tfidfvectorizer"].token_pattern == "a b"


@pytest.mark.parametrize(
    ("specification", "words"),
    [
        (
            "logistic-regresion C=1",
            "logistic-regresion is not a scikit-learn classifier. Did you mean "
            '"logistic-regression"? Pass any other estimator as an object: '
            'models={"name": estimator}.',
        ),
        (
            "zigzag",
            "zigzag is not a scikit-learn classifier. Pass any other estimator as an object: "
            'models={"name": estimator}.',
        ),
        (
            "voting",
            "voting needs estimators, which cannot be written as text. "
            'Pass the estimator as an object: models={"name": estimator}.',
        ),
        ("svc c=10", 'SVC has no parameter c. Did you mean "C"?'),
        ("svc gama=10", 'SVC has no parameter gama. Did you mean "gamma"?'),
        ("gama=10", 'SVC has no parameter gama. Did you mean "gamma"?'),
        (
            "linear-discriminant-analysis alpha=1",
            "LinearDiscriminantAnalysis has no parameter alpha. It has covariance_estimator, "
            "n_components, priors, shrinkage, solver, store_covariance, tol.",
        ),
        (
            "svc C=",
            "C must be a literal (10, 0.1, None, True, (1, 2)) or a word; got nothing.",
        ),
        (
            "svc C=1O",
            "C must be a literal (10, 0.1, None, True, (1, 2)) or a word; got 1O.",
        ),
        (
            "svc C=__import__(os)",
            "C must be a literal (10, 0.1, None, True, (1, 2)) or a word; got __import__(os).",
        ),
        ("svc C=1 C=2", "C occurs twice. Remove one of them."),
        (
            "svc -c 10",
            "-c does not have the form parameter=value. A value with spaces needs quotes: "
            "'class_weight={-1: 2, 1: 1}'.",
        ),
        ("svc 'C=1", "No closing quotation. Close the quotes."),
        ("-c", "option -c has no value. Add one after it."),
    ],
)
def test_errors_quote_the_specification(specification, words):
    with pytest.raises(ArgumentError) as caught:
        estimator_from(specification, default=SVC())
    assert str(caught.value) == f'Specification "{specification}": {words}'


@pytest.mark.parametrize("specification", ["svc C=-1", "C=-1", "-c -1", "svc shrinking=false"])
def test_values_are_checked_before_fitting(specification):
    with pytest.raises(
        ArgumentError, match=r"^Specification \"[^\"]+\": The '.+' parameter of SVC"
    ):
        estimator_from(specification, default=SVC())


def test_the_values_of_a_step_are_checked_and_its_parameters_suggested():
    default = make_pipeline(StandardScaler(), SVC())
    with pytest.raises(ArgumentError, match=r"The 'C' parameter of SVC must be a float"):
        estimator_from("svc__C=-1", default)
    with pytest.raises(
        ArgumentError, match=r'Pipeline has no parameter C. Did you mean "svc__C"\?'
    ):
        estimator_from("C=1", default)


@pytest.mark.parametrize(
    ("estimator", "specification"),
    [
        (SVC(), "svc"),
        (SVC(C=10, gamma=0.1), "svc C=10 gamma=0.1"),
        (SVC(C=np.float64(0.5)), "svc C=0.5"),
        (KNeighborsClassifier(n_neighbors=3), "k-neighbors-classifier n_neighbors=3"),
        (
            MLPClassifier(hidden_layer_sizes=(10, 5)),
            "mlp-classifier 'hidden_layer_sizes=(10, 5)'",
        ),
        (SVC(tol=math.nan), "svc tol=nan"),
        (LogisticRegressionCV(Cs=[0.1, 1]), "logistic-regression-cv 'Cs=[0.1, 1]'"),
    ],
)
def test_the_specification_has_the_parameters_that_are_not_defaults(estimator, specification):
    assert specification_of(estimator) == specification


@given(
    C=st.floats(min_value=1e-300, exclude_min=True, allow_infinity=True),
    kernel=st.sampled_from(["linear", "poly", "rbf", "sigmoid"]),
    class_weight=st.none()
    | st.just("balanced")
    | st.dictionaries(st.sampled_from([-1, 1]), st.floats(0, 10), min_size=1),
    random_state=st.none() | st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_writing_then_reading_returns_the_same_estimator(C, kernel, class_weight, random_state):
    estimator = SVC(C=C, kernel=kernel, class_weight=class_weight, random_state=random_state)
    assert same(estimator_from(specification_of(estimator), default=None), estimator)


@given(st.text(max_size=12))
@settings(deadline=None)
def test_writing_then_reading_returns_the_same_text(text):
    estimator = LogisticRegression(penalty=text)
    try:
        specification = specification_of(estimator)
    except ArgumentError:
        return
    # scikit-learn refuses such a penalty, and its error quotes the text that was read.
    if text in ("l1", "l2", "elasticnet", "deprecated"):
        assert estimator_from(specification, default=None).penalty == text
    else:
        with pytest.raises(ArgumentError, match=r"The 'penalty' parameter") as caught:
            estimator_from(specification, default=None)
        assert f"Got {text!r} instead." in str(caught.value)


@pytest.mark.filterwarnings("ignore:Class .* is deprecated:FutureWarning")
def test_every_classifier_without_required_arguments_has_a_specification():
    named = 0
    for name, kind in all_estimators(type_filter="classifier"):
        if name == "SelfTrainingClassifier":  # it refuses its own default, estimator=None
            continue
        try:
            estimator = kind()
        except TypeError:
            continue
        assert type(estimator_from(specification_of(estimator), default=None)) is kind
        named += 1
    assert named > 30


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (
            make_pipeline(SVC()),
            "Pipeline is not a scikit-learn classifier, so it has no specification. "
            'Give the estimator a name: models={"name": estimator}.',
        ),
        (
            SVC(kernel=max),
            f"kernel={max!r} of SVC cannot be written in a specification. "
            'Give the estimator a name: models={"name": estimator}.',
        ),
        (
            LogisticRegressionCV(Cs=np.array([1.0])),
            "Cs=array([1.]) of LogisticRegressionCV cannot be written in a specification. "
            'Give the estimator a name: models={"name": estimator}.',
        ),
    ],
)
def test_an_estimator_that_text_cannot_describe_is_refused(estimator, words):
    with pytest.raises(ArgumentError) as caught:
        specification_of(estimator)
    assert str(caught.value) == words


@pytest.mark.parametrize("specification", ["zigzag", "voting"])
def test_the_command_line_leaves_out_what_only_python_can_do(specification):
    with pytest.raises(ArgumentError) as caught:
        estimator_from(specification, default=SVC())
    assert "models=" in str(caught.value)
    assert "models=" not in caught.value.worded(str)
    assert caught.value.worded(str).startswith(f'Specification "{specification}": {specification}')
