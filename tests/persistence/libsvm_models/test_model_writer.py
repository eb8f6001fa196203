"""Classifiers written as LIBSVM models."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, NuSVC

from persistence.libsvm.libsvm_files import FOLDER, KERNELS, machine_scores
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, CalibrationWarning
from polytomy.persistence import load, read_libsvm, write_libsvm


@pytest.mark.parametrize("name", [*KERNELS, "first"])
def test_writing_and_reading_gives_the_same_answers(name, flowers, tmp_path):
    X, _ = flowers
    classifier = read_libsvm(FOLDER / f"{name}.model")
    write_libsvm(classifier, tmp_path / "again.model")
    again = read_libsvm(tmp_path / "again.model")
    assert again.solver == classifier.solver
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    if name != "votes":
        np.testing.assert_allclose(
            again.predict_proba(X), classifier.predict_proba(X), rtol=0, atol=1e-12
        )
    first, second = machine_scores(classifier, X), machine_scores(again, X)
    for pair, values in first.items():
        other = second[pair] if pair in second else -second[pair[::-1]]
        np.testing.assert_allclose(values, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("estimator", [SVC(C=5, gamma=0.2), NuSVC(nu=0.1, kernel="linear")])
def test_a_trained_classifier_is_written_for_libsvm(estimator, tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(estimator, final_calibration=None, random_state=0).fit(X, y)
    write_libsvm(classifier, tmp_path / "iris.model")
    text = (tmp_path / "iris.model").read_text()
    assert text.startswith("svm_type c_svc" if isinstance(estimator, SVC) else "svm_type nu_svc")
    again = load(tmp_path / "iris.model")
    np.testing.assert_allclose(again.decisions(X), classifier.decisions(X), rtol=0, atol=1e-12)
    expected = classifier.with_solver("libsvm").predict_proba(X)
    np.testing.assert_allclose(again.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_a_final_calibration_is_left_out_with_a_warning(tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(SVC(C=5, gamma=0.2), solver="libsvm", random_state=0).fit(X, y)
    words = r"cannot hold a final calibration, .* fit with final_calibration=None\."
    with pytest.warns(CalibrationWarning, match=words) as caught:
        write_libsvm(classifier, tmp_path / "iris.model")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    again = read_libsvm(tmp_path / "iris.model")
    assert again.composition_.final is None
    assert again.final_calibration is None
    plain = replace(classifier.composition_, final=None)
    np.testing.assert_allclose(again.predict_proba(X), plain.scores(X), rtol=0, atol=1e-12)
    assert np.abs(again.predict_proba(X) - classifier.predict_proba(X)).max() > 0.01


@pytest.mark.parametrize(
    ("classifier", "labels", "words"),
    [
        (PolytomyClassifier(), None, "the classifier is not fitted"),
        (PolytomyClassifier(), ["a", "b", "c"], "labels of LIBSVM must be integers; got 'a'"),
        (PolytomyClassifier(scheme="one-vs-rest"), [0, 1, 2], "one machine for each pair"),
        (
            PolytomyClassifier(SVC(gamma=1), 'one 0 / 1; "gamma=2" 0 / 2; one 1 / 2; {0 1 2}'),
            [0, 1, 2],
            "all have the same kernel and no scalers",
        ),
        (
            PolytomyClassifier(LogisticRegression()),
            [0, 1, 2],
            "needs support vector machines that all have the same",
        ),
        (
            PolytomyClassifier(make_pipeline(StandardScaler(), SVC(gamma=1))),
            [0, 1, 2],
            "same kernel and no scalers",
        ),
        (
            PolytomyClassifier(SVC(gamma=1), calibration="isotonic"),
            [0, 1, 2],
            "can only be calibrated with sigmoids",
        ),
    ],
)
def test_classifiers_that_libsvm_cannot_hold_are_refused(classifier, labels, words, tmp_path):
    X, y = load_iris(return_X_y=True)
    if labels is not None:
        classifier.fit(X, np.array(labels)[y])
    with pytest.raises(ArgumentError, match=words):
        write_libsvm(classifier, tmp_path / "iris.model")
    assert list(tmp_path.iterdir()) == []


def test_a_shared_scaler_is_written_like_one_before_the_classifier(tmp_path):
    X, y = load_iris(return_X_y=True)
    options = {"final_calibration": None, "random_state": 0}
    machine = make_pipeline(StandardScaler(), SVC(gamma=0.2))
    inside = PolytomyClassifier(machine, shared_preprocessing=True, **options).fit(X, y)
    outside = make_pipeline(StandardScaler(), PolytomyClassifier(machine[-1], **options)).fit(X, y)
    with pytest.raises(ArgumentError, match="range_file is missing: the pipeline scales features"):
        write_libsvm(inside, tmp_path / "a.model")
    for name, classifier in [("a", inside), ("b", outside)]:
        ranges = tmp_path / f"{name}.range"
        write_libsvm(classifier, tmp_path / f"{name}.model", range_file=ranges)
    for kind in ("model", "range"):
        assert (tmp_path / f"a.{kind}").read_text() == (tmp_path / f"b.{kind}").read_text()


@pytest.mark.parametrize(
    ("before", "options", "words"),
    [
        (
            [StandardScaler()],
            {},
            r"range_file is missing: the pipeline scales features, .* Name a file for the scaling",
        ),
        (
            [],
            {"range_file": "m.range"},
            "range_file is for the scaler of a pipeline, but there",
        ),
        (
            [MinMaxScaler(clip=True)],
            {"range_file": "m.range"},
            "svm-scale cannot do what MinMaxScaler",
        ),
        (
            [PCA(2)],
            {"range_file": "m.range"},
            r"svm-scale cannot do what PCA\(n_components=2\) does",
        ),
    ],
)
def test_scalers_that_cannot_be_written_are_refused(before, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(*before, PolytomyClassifier(SVC(gamma=0.2))).fit(X, y)
    with pytest.raises(ArgumentError, match=words):
        write_libsvm(pipeline, "m.model", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_prior_or_costs_cannot_be_written(tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(SVC(), final_calibration=None, random_state=0).fit(X, y)
    for changed in (classifier.with_prior([0.2, 0.3, 0.5]), classifier.with_cost(reject_cost=0.1)):
        with pytest.raises(ArgumentError, match=r"can hold neither a prior nor costs. To write it"):
            write_libsvm(changed, tmp_path / "m.model")
        assert not (tmp_path / "m.model").exists()
