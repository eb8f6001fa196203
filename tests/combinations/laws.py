"""Laws that hold for every fitted classifier, whatever it was combined from.

A law is a function of a `Case`. It raises an AssertionError if it is broken, and a PolytomyError if
the classifier refuses what the law asks for, which every classifier may.
"""

from __future__ import annotations

import ast
import pickle
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from traceback import walk_tb
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

import polytomy as pt
from combinations.combination import (
    FEW_VALUES,
    LEARNERS,
    PAIRWISE_MACHINES,
    SAME_AS_ARRAY,
    Combination,
)
from onnx_sessions import run_model

# Of one call.
_MOST_WARNINGS = 3

# What rounding may change, in probabilities.
_ROUNDING = {"float64": 1e-6, "float32": 1e-2}


@dataclass(frozen=True)
class Case:
    """A combination, its fitted classifier and samples to predict."""

    combination: Combination
    classifier: Any
    samples: Any
    folder: Path

    @property
    def has_probabilities(self):
        return hasattr(self.classifier, "predict_proba")

    @property
    def rounding(self):
        return _ROUNDING[self.combination.prediction_dtype]

    @property
    def counts_votes(self):
        """Whether a model is an SVC of more than two classes, alone, frozen or in a pipeline."""
        models = [getattr(each, "estimator", each) for each in self.classifier.estimators_]
        last = [each[-1] if isinstance(each, Pipeline) else each for each in models]
        return any(isinstance(each, SVC | NuSVC) and len(each.classes_) > 2 for each in last)

    def scores(self):
        """Return the probabilities or scores of the samples."""
        return self.classifier.composition_.scores(self.samples)

    def settled_rows(self):
        """Return which samples keep their scores if rounding changes.

        Solvers that choose a class look at the signs of the answers, so no binary may answer zero.
        If all samples are the same, calibrators learn from rounding errors. An SVC of several
        classes counts votes, with ties if the features have few values.
        """
        combination = self.combination
        has_few_values = combination.shape in FEW_VALUES or combination.container in FEW_VALUES
        if combination.shape == "only constants" or (has_few_values and self.counts_votes):
            return np.zeros(_count(self.samples), dtype=bool)
        decisions = self.classifier.decisions(self.samples)
        return self.has_probabilities | (np.abs(decisions) > self.rounding).all(axis=1)

    def refit(self, sample_weight=None, **changes):
        """Return the classifier fitted again, with some parameters changed."""
        X, y, _ = self.combination.data
        return self.combination.make_classifier(**changes).fit(X, y, sample_weight)

    def assert_same_scores(self, scores):
        """Assert that other scores of the samples are the same but for rounding."""
        rows = self.settled_rows()
        np.testing.assert_allclose(
            scores[rows], self.scores()[rows], atol=self.rounding, rtol=self.rounding
        )


def fit(combination, folder):
    """Return the case of a combination, or raise the error with which it is refused."""
    X, y, samples = combination.data
    with few_warnings():
        classifier = combination.make_classifier().fit(X, y, combination.sample_weight)
    return Case(combination, classifier, samples, folder)


@contextmanager
def few_warnings():
    """Raise an AssertionError if polytomy warns often, or its arithmetic does at all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    own = [each for each in caught if issubclass(each.category, pt.PolytomyWarning)]
    assert len(own) <= _MOST_WARNINGS, [str(each.message) for each in own]
    for each in caught:
        if issubclass(each.category, RuntimeWarning):
            place = f"{each.filename}:{each.lineno}: {each.message}"
            assert _find_package(each.filename) is not pt, place


def is_refusal(error):
    """Return whether an error is the right way to refuse a combination.

    That is a PolytomyError, or a ValueError or TypeError of scikit-learn: its message says what is
    wrong with the data. An error that arises elsewhere is a fault.
    """
    if isinstance(error, pt.PolytomyError):
        return True
    packages = [
        _find_package(frame.f_code.co_filename) for frame, _ in walk_tb(error.__traceback__)
    ]
    # NumPy and SciPy raise errors on behalf of those who call them.
    callers = [package for package in packages if package is not None]
    return isinstance(error, ValueError | TypeError) and callers[-1:] == [sklearn]


def _find_package(filename):
    """Return polytomy, scikit-learn or None: to which of them a file belongs."""
    if filename.startswith("sklearn/"):  # compiled code: sklearn/svm/_libsvm.pyx
        return sklearn
    folders = {package: Path(package.__file__).parent for package in (pt, sklearn)}
    owners = [each for each, folder in folders.items() if Path(filename).is_relative_to(folder)]
    return owners[0] if owners else None


# -- laws ------------------------------------------------------------------------------------------


def probabilities_are_finite_and_sum_to_one(case):
    if case.has_probabilities:
        probabilities = case.classifier.predict_proba(case.samples)
        assert np.isfinite(probabilities).all()
        assert (probabilities >= 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-9)
        assert probabilities.shape[1] == len(case.classifier.classes_)
    else:
        assert np.isfinite(case.classifier.decision_function(case.samples)).all()


def prediction_is_the_largest_score(case):
    classifier = case.classifier
    predicted = classifier.predict(case.samples)
    values = classifier.decision_function(case.samples)
    if values.ndim == 1:
        values = np.column_stack([np.zeros(len(values)), values])
    largest = values.argmax(axis=1) if values.shape[1] else np.zeros(len(values), dtype=int)
    np.testing.assert_array_equal(predicted, classifier.classes_[largest])
    if case.has_probabilities:
        largest = classifier.predict_proba(case.samples).argmax(axis=1)
        np.testing.assert_array_equal(predicted, classifier.classes_[largest])
        np.testing.assert_array_equal(predicted, classifier.predict_top_k(case.samples, 1)[0][:, 0])


def decisions_are_from_minus_one_to_one(case):
    decisions = case.classifier.decisions(case.samples)
    # Probabilities of a learner may be a little over one. Naive Bayes has NaN for constants.
    assert not (np.abs(decisions) > 1 + 1e-12).any()
    assert np.isfinite(decisions).all() or case.combination.learner in ("naive Bayes", "binned")


def its_own_prior_changes_nothing(case):
    classifier = case.classifier
    # A class whose samples have no weight has a prior of zero, which would rule it out.
    if case.has_probabilities and (classifier.prior_ > 0).all():
        prior = dict(zip(classifier.classes_, classifier.prior_, strict=True))
        case.assert_same_scores(classifier.with_prior(prior).predict_proba(case.samples))


def its_own_solver_changes_nothing(case):
    again = case.classifier.with_solver(case.classifier.composition_.solver)
    case.assert_same_scores(again.composition_.scores(case.samples))


def sets_have_the_predicted_class(case):
    if not case.has_probabilities:
        return
    classifier = case.classifier
    predicted = np.searchsorted(classifier.classes_, classifier.predict(case.samples))
    rows = np.arange(len(predicted))
    for score in ("lac", "aps", "raps"):
        sets = classifier.predict_set(case.samples, [0.05, 0.5, 0.9, 0.999], score)
        assert sets[rows, predicted].all(), score


def loaded_is_the_same(case):
    path = case.folder / "model.polytomy"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pt.save(case.classifier, path)
    named = [re.search(r"trusted=(\[.*\])", str(each.message)) for each in caught]
    trusted = [name for each in named if each for name in ast.literal_eval(each[1])]
    again = pt.load(path, trusted=trusted)
    if case.combination.learner == "nu":
        # If the kernel hardly varies, LIBSVM swaps the sides of a NuSVC, and loading swaps them
        # back: the support vectors are summed in another order.
        case.assert_same_scores(again.composition_.scores(case.samples))
    else:
        _assert_equal(case, again)


def pickled_is_the_same(case):
    _assert_equal(case, pickle.loads(pickle.dumps(case.classifier)))


def exported_is_the_same(case):
    model = pt.to_onnx(case.classifier, dtype="float64")
    outputs = run_model(model, _as_array(case.samples))
    case.assert_same_scores(outputs["probabilities" if case.has_probabilities else "scores"])
    rows = case.settled_rows() & _has_clear_winner(case.scores(), 10 * case.rounding)
    predicted = case.classifier.predict(case.samples)
    np.testing.assert_array_equal(outputs["label"][rows], predicted[rows])


def one_row_is_as_many(case):
    rows = [_take(case.samples, slice(k, k + 1)) for k in range(_count(case.samples))]
    case.assert_same_scores(np.vstack([case.classifier.composition_.scores(row) for row in rows]))


def two_jobs_give_the_same(case):
    _assert_equal(case, case.refit(case.combination.sample_weight, n_jobs=2))


def weights_of_one_change_nothing(case):
    if case.combination.weights not in ("none", "ones"):
        return
    ones = np.ones(len(case.combination.data[1]))
    again = case.refit(None if case.combination.weights == "ones" else ones)
    case.assert_same_scores(again.composition_.scores(case.samples))


def names_of_classes_do_not_matter(case):
    combination = case.combination
    # Numbers that are written as text have two orders.
    has_own_order = combination.has_class_order or combination.labels == "numbers as text"
    if has_own_order or combination.scheme in ("paths", "ordered"):
        return
    again = fit(replace(combination, labels="numbers", label_container="array"), case.folder)
    case.assert_same_scores(again.scores())


def containers_do_not_matter(case):
    if case.combination.container not in SAME_AS_ARRAY:
        return
    if case.combination.learner in ("SGD", "perceptron"):
        return  # random steps, which depend on whether rows are left out or have no weight
    again = fit(replace(case.combination, container="array"), case.folder)
    case.assert_same_scores(again.scores())


def machines_are_those_of_svc(case):
    combination = case.combination
    is_pairwise = combination.scheme == "one-vs-one" and combination.n_classes > 2
    if not is_pairwise or combination.learner not in PAIRWISE_MACHINES:
        return
    if combination.class_weight is not None or combination.weights == "some zero":
        return  # weights that scikit-learn's machine has no words for
    if isinstance(combination.cv, float):
        return  # trained on some of the rows
    X, y, samples = combination.data
    machine = clone(LEARNERS[combination.learner]).set_params(decision_function_shape="ovo")
    values = machine.fit(X, y, combination.sample_weight).decision_function(samples)
    pairs = list(combinations(range(combination.n_classes), 2))
    estimators = case.classifier.estimators_
    assert len(estimators) == len(pairs)
    for k, estimator in enumerate(estimators):
        # Positive values are those of the first class of a pair, or of the second class of two.
        own = -estimator.decision_function(samples)
        tolerance = 1e-2 * np.abs(values[:, k]).max() + 1e-9  # LIBSVM stops at 1e-3
        np.testing.assert_allclose(own, values[:, k], atol=tolerance, err_msg=str(pairs[k]))


LAWS = (
    probabilities_are_finite_and_sum_to_one,
    prediction_is_the_largest_score,
    decisions_are_from_minus_one_to_one,
    its_own_prior_changes_nothing,
    its_own_solver_changes_nothing,
    sets_have_the_predicted_class,
    pickled_is_the_same,
    loaded_is_the_same,
    one_row_is_as_many,
    machines_are_those_of_svc,
    exported_is_the_same,  # the last, because it skips the rest if onnxruntime is missing
)

LAWS_OF_REFITS = (
    weights_of_one_change_nothing,
    names_of_classes_do_not_matter,
    containers_do_not_matter,
)
"""Laws that need as long as all others, so each combination has one of them."""


# -- parts of the above ----------------------------------------------------------------------------


def _assert_equal(case, other):
    """Assert that another classifier gives the same answers, bit for bit."""
    np.testing.assert_array_equal(other.classes_, case.classifier.classes_)
    # Text may become shorter: "<U5" of ["a", "b"] is "<U1" in a file.
    assert other.classes_.dtype.kind == case.classifier.classes_.dtype.kind
    for method in ("decisions", "decision_function", "predict"):
        np.testing.assert_array_equal(
            getattr(other, method)(case.samples), getattr(case.classifier, method)(case.samples)
        )


def _has_clear_winner(scores, margin):
    """Return which rows have a largest score that rounding does not change."""
    if scores.shape[1] == 1:
        return np.ones(len(scores), dtype=bool)
    second, first = np.sort(scores, axis=1)[:, -2:].T
    return first - second > margin


def _as_array(samples):
    dense = samples.toarray() if issparse(samples) else np.asarray(samples)
    return np.ascontiguousarray(dense, dtype=np.float64)


def _count(samples):
    return len(samples) if isinstance(samples, list) else samples.shape[0]


def _take(samples, rows):
    return samples.iloc[rows] if hasattr(samples, "iloc") else samples[rows]
