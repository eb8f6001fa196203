"""Dichotomies: which estimator or trained model each partition gets."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, SchemeError
from polytomy.metrics import log_loss
from polytomy.model.arrangement import check_models, make_dichotomies, names_in
from polytomy.scheme import parse


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    return X, np.array(["corn", "oak", "pine", "wheat"])[y]


def test_a_name_gets_its_model_or_the_default_and_a_specification_its_own_estimator():
    default, named = SVC(), LogisticRegression()
    scheme = parse('a 0/1; b 0/2; "svc C=3" 1/2; {x y z}')
    first, second, third = make_dichotomies(scheme, default, {"b": named})
    assert (first.estimator, first.model) == (default, None)
    assert (second.estimator, second.model) == (named, "b")
    assert repr(third.estimator) == "SVC(C=3)"
    assert third.model is None
    assert [each.name for each in (first, second, third)] == ["a", "b", '"svc C=3" y / z']
    assert [(each.negative, each.positive) for each in (first, second, third)] == [
        ((0,), (1,)),
        ((0,), (2,)),
        ((1,), (2,)),
    ]


def test_schemes_with_the_same_specification_get_the_same_estimator():
    known = {}
    one = make_dichotomies(parse('"svc C=3" {x y}'), SVC(), None, known)
    other = make_dichotomies(parse('"svc C=3" {y z}'), SVC(), None, known)
    assert one[0].estimator is other[0].estimator


@pytest.mark.parametrize("scheme", ["direct", "m {pine corn wheat oak}"])
@pytest.mark.parametrize("is_named", [False, True])
def test_the_classes_of_a_frozen_model_are_found_by_their_labels(scheme, is_named, blobs):
    X, y = blobs
    model = LogisticRegression().fit(X, y)
    frozen, name = FrozenEstimator(model), "m" if scheme != "direct" else "direct-00"
    classifier = PolytomyClassifier(
        None if is_named else frozen,
        scheme,
        models={name: frozen} if is_named else None,
        final_calibration=None,
    ).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("scheme", ["one-vs-one", "m {oak corn}", '"" {oak corn}'])
def test_the_two_classes_of_a_frozen_model_are_found_by_their_labels(scheme, blobs):
    X, y = (part[np.isin(blobs[1], ["corn", "oak"])] for part in blobs)
    model = LogisticRegression().fit(X, y)
    classifier = PolytomyClassifier(FrozenEstimator(model), scheme, final_calibration=None)
    probabilities = classifier.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)


def test_a_frozen_model_is_not_used_for_different_partitions(blobs):
    X, y = blobs
    frozen = FrozenEstimator(LogisticRegression().fit(X, y == "corn"))
    with pytest.raises(SchemeError, match="FrozenEstimator is used for different partitions"):
        PolytomyClassifier(frozen).fit(X, y)


@pytest.mark.parametrize("is_named", [False, True])
def test_a_frozen_model_that_is_not_fitted_is_refused(is_named, blobs):
    frozen = FrozenEstimator(LogisticRegression())
    options = {"scheme": "m {corn oak pine wheat}", "models": {"m": frozen}}
    classifier = PolytomyClassifier(**options) if is_named else PolytomyClassifier(frozen, "direct")
    message = (
        "the LogisticRegression in the FrozenEstimator is not fitted. Fit it, or pass it without "
        "FrozenEstimator."
    )
    with pytest.raises(ArgumentError, match=message):
        classifier.fit(*blobs)


def test_a_frozen_model_is_calibrated_with_the_rows_of_the_fit(blobs):
    X, y = blobs
    model = SVC(C=100).fit(X[::2], y[::2])
    classifier = PolytomyClassifier(FrozenEstimator(model), "direct", random_state=0)
    classifier.fit(X[1::2], y[1::2])
    plain = clone(classifier).set_params(final_calibration=None).fit(X[1::2], y[1::2])
    calibrated = log_loss(y[1::2], classifier.predict_proba(X[1::2]))
    assert calibrated < log_loss(y[1::2], plain.predict_proba(X[1::2]))


def test_long_sides_are_shortened_in_the_name_of_a_partition():
    scheme = parse('"" {0 @adjacent "" {1 2 3 4 5 6 7}}')
    assert make_dichotomies(scheme, SVC(), None)[0].name == '"" 0 / 1 2 3 4 5 …'


def test_a_fitted_model_is_not_trained_again(blobs):
    X, y = blobs
    pair = np.isin(y, ["corn", "oak"])
    own_labels = LogisticRegression().fit(X[pair], y[pair])
    signs = LogisticRegression().fit(X, np.where(np.isin(y, ["pine", "wheat"]), 1, -1))
    before = own_labels.coef_.copy()
    classifier = PolytomyClassifier(
        GaussianNB(), "top {first {corn oak} second {pine wheat}}",
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


def test_one_fitted_model_cannot_answer_for_two_partitions(blobs):
    X, y = blobs
    model = GaussianNB().fit(X, y == "oak")
    text = "top {m {corn oak} m {pine wheat}}"
    with pytest.raises(
        SchemeError, match='"m" is used for different partitions, corn / oak and pine'
    ):
        PolytomyClassifier(GaussianNB(), text, models={"m": model}).fit(X, y)
    unfitted = PolytomyClassifier(GaussianNB(), text, models={"m": SVC()}, random_state=0)
    assert unfitted.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("kind", [bool, float, int, str])
def test_a_fitted_model_has_the_right_sides_whatever_the_type_of_its_labels(kind):
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100].astype(kind)
    model = LogisticRegression().fit(X, y)
    swapped = PolytomyClassifier(scheme="m {1 0}" if kind is not bool else "m {True False}")
    swapped.set_params(models={"m": model}, final_calibration=None).fit(X, y)
    np.testing.assert_allclose(swapped.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_the_sides_of_a_model_with_truth_values_are_false_and_true():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    is_zero = LogisticRegression().fit(X, y == 0)
    classifier = PolytomyClassifier(scheme="is-zero {1 0}", models={"is-zero": is_zero})
    assert classifier.fit(X, y).score(X, y) == 1


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ({"svm": SVC()}, "models has 'svm', which the scheme does not name. Use the names in the "),
        ({"a": None}, "models has no estimator for 'a'. Provide one, or remove the name."),
    ],
)
def test_models_are_estimators_for_names_in_the_scheme(models, words):
    with pytest.raises(ArgumentError) as caught:
        check_models([parse("a {x y}"), parse("b {x y}")], models)
    assert str(caught.value).startswith(words)
    assert caught.value.parameter == "models"


def test_each_model_needs_to_be_named_by_one_of_the_schemes_only():
    check_models([parse("a {x y}"), parse("b {x y}")], {"a": SVC(), "b": SVC()})
    check_models([parse("a {x y}")], None)


def test_specifications_are_not_names():
    assert names_in(parse('a {x "svc" {y b {z w}}}')) == {"a", "b"}


def test_the_sides_of_a_wide_partition_share_it_and_one_of_them_counts():
    first, second, third, pair = make_dichotomies(parse("m 0/1 2/3; n 1/2; {a b c d}"), SVC(), None)
    assert first.whole is second.whole is third.whole
    assert first.whole.sides == ((0,), (1, 2), (3,))
    assert (second.negative, second.positive) == ((0, 3), (1, 2))
    assert pair.whole is None
    assert [each.is_counted for each in (first, second, third, pair)] == [True, False, False, True]


def test_what_is_separated_does_not_depend_on_the_order_of_sides():
    one = make_dichotomies(parse("m 0 / 1 2 / 3; n 1 / 2; {a b c d}"), SVC(), None)
    other = make_dichotomies(parse("k 3 / 0 / 1 2; l 1 / 2; {a b c d}"), SVC(), None)
    assert {each.sides_key for each in one} == {each.sides_key for each in other}


def test_a_fitted_model_of_many_sides_is_for_one_partition(blobs):
    model = LogisticRegression().fit(*blobs)
    text = "t 0 / 1; {m {corn oak pine wheat} m {a b c d}}"
    with pytest.raises(SchemeError, match='the trained model "m" is used for different partitions'):
        make_dichotomies(parse(text), SVC(), {"m": model})
