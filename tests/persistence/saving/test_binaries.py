"""Trained binaries and their calibrators in saved models."""

import dataclasses

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from persistence.round_trips import LABELS, X, Y, assert_same_after_reload, reload
from polytomy import PolytomyClassifier
from polytomy.errors import CalibrationWarning
from polytomy.learners.bank import Bank
from polytomy.persistence import saving


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature", None])
def test_calibrators_answer_the_same(calibration, tmp_path):
    classifier = PolytomyClassifier(LinearSVC(), calibration=calibration, random_state=0)
    assert_same_after_reload(classifier.fit(X, LABELS), tmp_path)


@pytest.mark.parametrize(
    "calibration", [LogisticRegression(), IsotonicRegression(out_of_bounds="clip")], ids=str
)
def test_calibrators_of_users_answer_the_same(calibration, tmp_path):

    classifier = PolytomyClassifier(SVC(), calibration=calibration, random_state=0)
    again = reload(classifier.fit(X, Y), tmp_path)
    np.testing.assert_array_equal(again.decisions(X), classifier.decisions(X))


def test_what_is_known_about_the_training_is_kept(tmp_path):
    cv = [(np.arange(50, 150), np.arange(50))]  # only samples of one class are held out
    classifier = PolytomyClassifier(
        LinearSVC(), "one-vs-rest", final_calibration=None, cv=cv, random_state=0
    )
    with pytest.warns(CalibrationWarning, match="calibrat"):
        classifier.fit(X, Y)
    classifier.cv = 5  # lists of rows are not saved
    again = reload(classifier, tmp_path)
    assert any(binary.shortcoming for binary in again.binaries_)
    for first, second in zip(classifier.binaries_, again.binaries_, strict=True):
        assert (second.shortcoming, second.seconds) == (first.shortcoming, first.seconds)


@pytest.mark.parametrize("column", [30, 2**31 - 1])
def test_columns_of_a_precomputed_kernel_lie_within_the_features(
    column, save_to_bytes, refusal, monkeypatch
):
    monkeypatch.setattr(saving, "_check_readable", lambda *parts: None)
    kernel = X[::5] @ X[::5].T
    classifier = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(kernel, Y[::5])
    composition = classifier.composition_
    first, *others = composition.binaries
    wrong = dataclasses.replace(first, columns=np.append(first.columns[:-1], column))
    bank = Bank([wrong, *others])
    classifier.composition_ = dataclasses.replace(composition, bank=bank)
    words = "model.n_features is not that of the binary one-vs-one-00"
    assert refusal(save_to_bytes(classifier)) == words
