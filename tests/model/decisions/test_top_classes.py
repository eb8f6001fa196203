"""The likeliest classes of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError

N_CLASSES = 12


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(360) % N_CLASSES
    return rng.normal(size=(N_CLASSES, 5))[y] + rng.normal(size=(360, 5)), y


def expected_best(classifier: PolytomyClassifier, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    proba = classifier.predict_proba(X)
    order = np.argsort(-proba, axis=1, kind="stable")[:, :k]
    return classifier.classes_[order], np.take_along_axis(proba, order, axis=1)


SCHEMES = ["tree", "cluster-tree", "one-vs-rest", "random", "random-trees"]
FINALS = ["auto", None, "decoder"]


@pytest.mark.parametrize(
    ("estimator", "scheme", "final"),
    [
        # Every pair of an estimator and a scheme, of a scheme and a final calibration, …
        (estimator, scheme, FINALS[(i + j) % len(FINALS)])
        for i, estimator in enumerate([LogisticRegression(), LinearSVC(), SVC()])
        for j, scheme in enumerate(SCHEMES)
    ],
    ids=repr,
)
def test_the_best_are_those_of_predict_proba(
    estimator: Any, scheme: str, final: str | None, samples: tuple
) -> None:
    X, y = samples
    classifier = PolytomyClassifier(estimator, scheme, final_calibration=final, random_state=0).fit(
        X, y
    )
    labels, proba = classifier.predict_top_k(X[:50], 3)
    expected_labels, expected_proba = expected_best(classifier, X[:50], 3)
    np.testing.assert_allclose(proba, expected_proba, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_array_equal(labels[:, 0], classifier.predict(X[:50]))


def test_scaled_and_sparse_samples_are_searched_too(samples: tuple) -> None:
    X, y = samples
    options = {"scheme": "tree", "final_calibration": None, "random_state": 0}
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    for estimator, data in ((scaled, X), (LogisticRegression(), csr_array(X * (X > 0)))):
        classifier = PolytomyClassifier(estimator, **options).fit(data, y)
        labels, proba = classifier.predict_top_k(data, 3)
        expected_labels, expected_proba = expected_best(classifier, data, 3)
        np.testing.assert_allclose(proba, expected_proba, rtol=1e-9)
        np.testing.assert_array_equal(labels, expected_labels)


def test_labels_may_be_text_and_all_may_be_asked_for(samples: tuple) -> None:
    X, y = samples
    names = np.array([f"class {k:02d}" for k in y])
    classifier = PolytomyClassifier(LogisticRegression(), "tree", random_state=0).fit(X, names)
    labels, proba = classifier.predict_top_k(X[:5], N_CLASSES)
    assert all(sorted(row) == sorted(set(names)) for row in labels.tolist())
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("k", [0, -1, N_CLASSES + 1, 2.0, True, None])
def test_a_number_of_classes_out_of_range_is_an_error(k: Any, samples: tuple) -> None:
    X, y = samples
    classifier = PolytomyClassifier(LogisticRegression(), "tree", random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match="must be a whole number from 1 to 12"):
        classifier.predict_top_k(X, k)


def test_scores_that_are_not_probabilities_have_no_best_ones(samples: tuple) -> None:
    X, y = samples
    classifier = PolytomyClassifier(LogisticRegression(), solver="voting", random_state=0)
    assert not hasattr(classifier.fit(X, y), "predict_top_k")
    with pytest.raises(ArgumentError, match="gives scores, not probabilities"):
        classifier.composition_.top_classes(X, 2)


def test_a_single_class_is_the_best(samples: tuple) -> None:
    X, _ = samples
    classifier = PolytomyClassifier(LogisticRegression()).fit(X, np.zeros(len(X), dtype=int))
    labels, proba = classifier.predict_top_k(X[:2], 1)
    assert labels.tolist() == [[0], [0]]
    assert proba.tolist() == [[1.0], [1.0]]
