"""Validation rows: every partition gets the rows of its own classes, with its own labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy import PolytomyClassifier, PolytomyRegressor, SchemeSearchCV
from polytomy.errors import ArgumentError
from polytomy.learners.validation import split_validation


class Boosting(ClassifierMixin, BaseEstimator):
    """Takes the arguments of XGBClassifier's fit, and keeps what it is given."""

    def fit(self, X, y, sample_weight=None, eval_set=None, sample_weight_eval_set=None):
        self.classes_ = np.unique(y)
        self.eval_set_, self.weights_ = eval_set, sample_weight_eval_set
        self.model_ = LogisticRegression().fit(X, y)
        for _, labels in eval_set:
            if not set(labels) <= set(self.classes_):
                raise ValueError("y contains previously unseen labels")
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def clouds(seed, n=90):
    """Samples of three classes, whose number is also their last feature."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(n) % 3)
    X = np.column_stack([rng.normal(size=(n, 2)) + 2 * numbers[:, np.newaxis], numbers])
    return X, np.array(["corn", "oak", "wheat"])[numbers]


X, Y = clouds(0)
X_VAL, Y_VAL = clouds(1, 60)


def fit(scheme, estimator=None, **options):
    estimator = Boosting() if estimator is None else estimator
    classifier = PolytomyClassifier(estimator, scheme=scheme, random_state=0)
    return classifier.fit(X, Y, **options)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_each_pair_of_classes_sees_its_own_rows_with_the_labels_of_its_sides(kind):
    classifier = fit("one-vs-one", eval_set=[(kind(X_VAL), Y_VAL), (kind(X), Y)])
    for dichotomy, binary in zip(
        classifier.composition_.dichotomies, classifier.binaries_, strict=True
    ):
        for (samples, labels), every in zip(binary.estimator.eval_set_, (Y_VAL, Y), strict=True):
            names = np.unique(Y)[[*dichotomy.negative, *dichotomy.positive]]
            numbers = np.asarray(samples)[:, -1].astype(int)
            assert len(labels) == np.isin(every, names).sum()
            np.testing.assert_array_equal(labels, np.isin(numbers, dichotomy.positive))


def test_weights_of_validation_rows_follow_their_rows():
    weight = X_VAL[:, 0]
    classifier = fit("one-vs-rest", eval_set=[(X_VAL, Y_VAL)], sample_weight_eval_set=[weight])
    pairs = fit("one-vs-one", eval_set=[(X_VAL, Y_VAL)], sample_weight_eval_set=[weight])
    for binary in [*classifier.binaries_, *pairs.binaries_]:
        ((samples, _),), (own,) = binary.estimator.eval_set_, binary.estimator.weights_
        np.testing.assert_array_equal(own, samples[:, 0])


def test_a_model_of_several_sides_gets_the_numbers_of_its_sides():
    classifier = fit("direct", eval_set=[(X_VAL, Y_VAL)])
    ((samples, labels),) = classifier.estimators_[0].eval_set_
    np.testing.assert_array_equal(labels, samples[:, -1])


def test_a_single_pair_is_a_list_of_one():
    classifier = fit("one-vs-rest", eval_set=(X_VAL, Y_VAL))
    ((_, labels),) = classifier.binaries_[0].estimator.eval_set_
    assert set(labels) == {0, 1}


def test_early_stopping_of_histogram_boosting_uses_the_rows():
    estimator = HistGradientBoostingClassifier(
        max_iter=30, early_stopping=True, n_iter_no_change=2, random_state=0
    )
    binaries = fit("one-vs-one", estimator, X_val=X_VAL, y_val=Y_VAL).binaries_
    for binary, (first, second) in zip(binaries, [(0, 1), (0, 2), (1, 2)], strict=True):
        numbers = X[:, -1].astype(int)
        own, held_out = (np.isin(each[:, -1].astype(int), (first, second)) for each in (X, X_VAL))
        alone = HistGradientBoostingClassifier(
            max_iter=30, early_stopping=True, n_iter_no_change=2, random_state=0
        ).fit(
            X[own],
            numbers[own] == second,
            X_val=X_VAL[held_out],
            y_val=X_VAL[held_out, -1].astype(int) == second,
        )
        assert binary.estimator.n_iter_ == alone.n_iter_


def test_as_many_validation_rows_as_training_rows_are_not_taken_for_values_of_these():
    estimator = HistGradientBoostingClassifier(max_iter=3, early_stopping=True)
    other, labels = clouds(2, len(Y))
    assert fit("one-vs-one", estimator, X_val=other, y_val=labels).score(X, Y) > 0.9


def test_a_search_and_a_regressor_pass_validation_rows_on():
    search = SchemeSearchCV(Boosting(), ["one-vs-one", "one-vs-rest"], cv=3, random_state=0)
    search.fit(X, Y, eval_set=[(X_VAL, Y_VAL)])
    assert search.score(X, Y) > 0.9
    regressor = PolytomyRegressor(Boosting(), n_bins=3, random_state=0)
    regressor.fit(X, X[:, 0], eval_set=[(X_VAL, X_VAL[:, 0])])
    ((_, labels),) = regressor.classifier_.binaries_[0].estimator.eval_set_
    assert set(labels) == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eval_set": [(X_VAL, np.repeat("rye", 60))]}, "eval_set has the label 'rye', which y"),
        ({"y_val": Y_VAL}, "X_val and y_val must be given together."),
        ({"eval_set": [X_VAL]}, r"eval_set must be a list of pairs \(X, y\)."),
        ({"eval_set": [(X_VAL, Y_VAL[:9])]}, "eval_set must have a label for each row; got 60"),
        (
            {"eval_set": [(X_VAL[Y_VAL == "oak"], Y_VAL[Y_VAL == "oak"])]},
            'eval_set has no rows of the classes of partition "one-vs-one-01". Add rows of all',
        ),
    ],
)
def test_invalid_validation_rows_are_an_error(arguments, message):
    with pytest.raises(ArgumentError, match=f"^{message}"):
        fit("one-vs-one", **arguments)


@pytest.mark.parametrize("shared", [False, True])
def test_rows_that_a_pipeline_would_not_transform_are_an_error(shared):
    pipeline = make_pipeline(StandardScaler(), Boosting())
    classifier = PolytomyClassifier(pipeline, shared_preprocessing=shared)
    with pytest.raises(ArgumentError, match=r"^boosting__eval_set: the steps of a pipeline do not"):
        classifier.fit(X, Y, boosting__eval_set=[(X_VAL, Y_VAL)])


def test_an_estimator_without_validation_rows_says_so_itself():
    with pytest.raises(TypeError, match="eval_set"):
        fit("one-vs-one", SVC(), eval_set=[(X_VAL, Y_VAL)])


def test_partial_fit_takes_no_validation_rows():
    from sklearn.linear_model import SGDClassifier

    with pytest.raises(ArgumentError, match=r"^partial_fit does not take eval_set\.$"):
        PolytomyClassifier(SGDClassifier()).partial_fit(
            X, Y, np.unique(Y), eval_set=[(X_VAL, Y_VAL)]
        )


def test_arguments_that_are_none_are_passed_as_they_are():
    others, found = split_validation({"eval_set": None, "verbose": 0})
    assert (others, found) == ({"eval_set": None, "verbose": 0}, ())
