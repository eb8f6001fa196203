"""Support vector machines of a scheme that are trained together."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.designs import one_vs_one
from polytomy.errors import ArgumentError
from polytomy.learners.svm.machines import KernelMachine
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.fitting import fit_binaries, plan_training
from shared_kernel_cases import clouds


def fit(X, y, svc=None, scheme="one-vs-one", **options):
    options = {"random_state": 0, **options}
    return PolytomyClassifier(SVC() if svc is None else svc, scheme=scheme, **options).fit(X, y)


def machines(classifier):
    return [binary.estimator for binary in classifier.binaries_]


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "adjacent", "tree"])
@pytest.mark.parametrize("svc", [SVC(), SVC(C=10, gamma=0.1), SVC(kernel="poly", gamma=0.05)])
def test_a_classifier_answers_as_if_each_binary_were_trained_alone(scheme, svc):
    X, y = clouds(200, 4, spread=2.0)
    together = fit(X, y, svc, scheme)
    alone = fit(X, y, svc, scheme, memory_budget=0)
    assert all(type(machine) is KernelMachine for machine in machines(together))
    assert all(type(machine) is SVC for machine in machines(alone))
    np.testing.assert_allclose(together.predict_proba(X), alone.predict_proba(X), atol=0.01)


def test_the_result_does_not_depend_on_the_number_of_jobs():
    X, y = clouds(300, 4, spread=2.0)
    one, two = (fit(X, y, n_jobs=n_jobs).predict_proba(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_classifier_is_stored_with_each_vector_once():
    X, y = clouds(300, 5, n_features=40, spread=3.0)
    together, alone = (len(pickle.dumps(fit(X, y, memory_budget=b))) for b in (None, 0))
    assert together < 0.5 * alone


def test_frames_are_predicted_without_warnings(recwarn):
    X, y = clouds(60)
    frame = pd.DataFrame(X, columns=list("abcd"))
    classifier = fit(frame, y)
    np.testing.assert_array_equal(classifier.predict(frame), fit(X, y).predict(X))
    assert not recwarn.list


def test_other_estimators_are_trained_alone():
    X, y = clouds(60)
    classifier = fit(X, y, GaussianNB())
    assert all(type(model) is GaussianNB for model in machines(classifier))


@pytest.mark.parametrize("n_samples", [6, 60])
def test_small_problems_are_trained_together_too(n_samples):
    X, y = clouds(n_samples)
    assert all(type(machine) is KernelMachine for machine in machines(fit(X, y)))


def test_a_wrong_budget_is_refused_whatever_the_size():
    X, y = clouds(60)
    with pytest.raises(
        ArgumentError,
        match=r"memory_budget must be a non-negative number of bytes .*; got 'much'",
    ):
        fit(X, y, memory_budget="much")


def test_notes_say_how_the_binaries_are_trained(capsys):
    X, y = clouds(60)
    fit(X, y, verbose=1)
    assert "3 binaries are trained on one matrix of 60 rows, 14.4 kB." in capsys.readouterr().err
    fit(X, y, verbose=1, memory_budget=0)
    assert "more than memory_budget, 0 bytes" in capsys.readouterr().err


class Notes(TrainingListener):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def notes_of(estimator, n_classes, models=None, **options):
    """Return the notes on training one-vs-one."""
    X, y = clouds(60, n_classes)
    scheme = one_vs_one(n_classes, name="pair")
    dichotomies = plan_training([scheme], np.arange(n_classes), estimator, models).dichotomies
    listener = Notes()
    fit_binaries(dichotomies, X, TrainingOptions(**options).of_labels(y), listener)
    return listener.notes


def test_notes_on_one_binary_are_in_the_singular():
    assert notes_of(SVC(), 2) == ["1 binary is trained on one matrix of 60 rows, 14.4 kB."]
    (note,) = notes_of(SVC(), 2, memory_budget=0)
    assert note.startswith("1 binary is trained alone: ")
    # One of three binaries is not a support vector machine.
    assert notes_of(SVC(), 3, {"pair-00": GaussianNB()}) == [
        "2 binaries are trained on one matrix of 60 rows, 14.4 kB.",
        "1 binary is trained alone: GaussianNB is not an SVC.",
    ]


def test_notes_on_many_binaries_are_in_the_plural():
    assert notes_of(SVC(), 3) == ["3 binaries are trained on one matrix of 60 rows, 14.4 kB."]
    (note,) = notes_of(GaussianNB(), 3)
    assert note == "3 binaries are trained one by one: GaussianNB is not an SVC."
    *_, note = notes_of(SVC(), 3, memory_budget=0)
    assert note.startswith("3 binaries are trained one by one: ")
