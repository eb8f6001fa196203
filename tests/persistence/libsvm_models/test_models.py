"""LIBSVM models as classifiers, against the answers of LIBSVM's own programs."""

import numpy as np
import pytest
from sklearn.svm import SVC

from persistence.libsvm.libsvm_files import (
    FOLDER,
    KERNELS,
    WITH_PROBABILITIES,
    decision_values,
    machine_scores,
)
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence import load, read_libsvm, save, write_libsvm


@pytest.mark.parametrize("name", list(KERNELS))
def test_decision_values_are_those_of_the_file(name, flowers):
    X, _ = flowers
    classifier = read_libsvm(FOLDER / f"{name}.model")
    _, _, expected = decision_values(name, X)
    scores = machine_scores(classifier, X)
    assert scores.keys() == expected.keys()
    for pair, values in expected.items():
        np.testing.assert_allclose(scores[pair], values, rtol=0, atol=1e-9)


def test_votes_are_those_of_svm_predict(flowers):
    X, _ = flowers
    classifier = load(FOLDER / "votes.model")
    assert classifier.solver == "hamming"
    expected = [int(line) for line in (FOLDER / "votes.out").read_text().split()]
    assert classifier.predict(X).tolist() == expected


def test_a_tie_of_votes_goes_to_the_first_label_of_the_file(tmp_path):
    # Three machines without vectors, in a ring: each label beats the next one.
    text = """svm_type c_svc
kernel_type linear
nr_class 3
total_sv 3
rho -1 1 -1
label 7 -2 4
nr_sv 1 1 1
SV
0 0 1:1
0 0 1:2
0 0 1:3
"""
    (tmp_path / "ring.model").write_text(text)
    classifier = read_libsvm(tmp_path / "ring.model")
    X = np.zeros((2, 1))
    assert classifier.decision_function(X).tolist() == [[0.0, 0.0, 0.0]] * 2
    assert classifier.predict(X).tolist() == [7, 7]


def _coupled(pairwise, tolerance, most):
    """Iterate as LIBSVM does (Wu, Lin and Weng 2004, algorithm 2)."""
    n = len(pairwise)
    Q = -pairwise.T * pairwise
    Q[np.diag_indices(n)] = (pairwise**2).sum(axis=0)
    p = np.full(n, 1 / n)
    for _ in range(most):
        Qp = Q @ p
        if np.abs(Qp - p @ Qp).max() < tolerance:
            break
        for t in range(n):
            p[t] += (p @ Q @ p - Q[t] @ p) / Q[t, t]
            p /= p.sum()
    return p


@pytest.mark.parametrize("name", WITH_PROBABILITIES)
def test_probabilities_are_those_of_svm_predict(name, flowers):
    """svm-predict stops its iteration early; least squares is what it iterates towards."""
    X, _ = flowers
    fields, labels, values = decision_values(name, X)
    n = len(labels)
    pairwise = np.zeros((len(X), n, n))
    for number, (first, second) in enumerate(values):
        A, B = float(fields["probA"][number]), float(fields["probB"][number])
        P = np.clip(1 / (1 + np.exp(A * values[first, second] + B)), 1e-7, 1 - 1e-7)
        i, j = labels.index(first), labels.index(second)
        pairwise[:, i, j], pairwise[:, j, i] = P, 1 - P
    lines = (FOLDER / f"{name}.out").read_text().splitlines()
    assert lines[0].split() == ["labels", *map(str, labels)]
    printed = np.array([line.split()[1:] for line in lines[1:]], dtype=float)
    stopped = np.array([_coupled(each, 0.005 / n, 100) for each in pairwise])
    np.testing.assert_allclose(stopped, printed, rtol=0, atol=1e-6)

    classifier = read_libsvm(FOLDER / f"{name}.model")
    assert classifier.classes_.tolist() == [-2, 4, 7]
    order = [classifier.classes_.tolist().index(label) for label in labels]
    np.testing.assert_allclose(classifier.predict_proba(X)[:, order], printed, rtol=0, atol=1e-6)
    np.testing.assert_allclose(classifier.predict_proba(X)[:, order], stopped, rtol=0, atol=1e-9)
    limit = np.array([_coupled(each, 1e-14, 100_000) for each in pairwise])
    exact = classifier.with_solver("least-squares").predict_proba(X)[:, order]
    np.testing.assert_allclose(exact, limit, rtol=0, atol=1e-6)
    winners = [int(float(line.split()[0])) for line in lines[1:]]
    assert classifier.predict(X).tolist() == winners


def test_samples_may_have_more_features_than_the_vectors(flowers):
    X, _ = flowers
    wide = np.hstack([X, np.ones((len(X), 2))])
    narrow = read_libsvm(FOLDER / "rbf.model").decisions(X)
    classifier = read_libsvm(FOLDER / "rbf.model", n_features=6)
    assert classifier.n_features_in_ == 6
    assert not np.allclose(classifier.decisions(wide), narrow)  # |x − y|² has two terms more
    with pytest.raises(ModelFileError, match="has a feature 4, but n_features=3"):
        read_libsvm(FOLDER / "rbf.model", n_features=3)


def test_a_precomputed_kernel_is_not_written_for_libsvm(flowers, tmp_path):
    X, y = flowers
    classifier = PolytomyClassifier(SVC(kernel="precomputed"), random_state=0).fit(X @ X.T, y)
    with pytest.raises(ArgumentError, match="such models cannot be written for LIBSVM"):
        write_libsvm(classifier, tmp_path / "again.model")


def test_a_libsvm_model_can_be_saved(flowers, tmp_path):
    X, _ = flowers
    for name in (*KERNELS, "first"):
        classifier = load(FOLDER / f"{name}.model")
        save(classifier, tmp_path / "m.polytomy")
        np.testing.assert_array_equal(
            load(tmp_path / "m.polytomy").decisions(X), classifier.decisions(X)
        )
