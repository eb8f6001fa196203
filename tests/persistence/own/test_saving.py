"""Saving classifiers: what is written, and what is refused."""

import re
import zipfile

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from persistence.own.round_trips import LABELS, TREE, X, Y
from persistence.own.saved_archives import unpack
from polytomy import PolytomyClassifier
from polytomy.errors import Argument, ArgumentError
from polytomy.persistence import load, own, read_info, save
from polytomy.persistence.own import composition_fields, saving
from polytomy.persistence.own.saving import scheme_member


def test_a_plain_model_has_five_members(tmp_path):
    save(PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS), tmp_path / "m.polytomy")
    with zipfile.ZipFile(tmp_path / "m.polytomy") as archive:
        names = set(archive.namelist())
    plain = {"model.json", "scheme.control", "floats.npy", "integers.npy"}
    assert names == {*plain, "conformity.npy"}


# Their fields are named by the user, by packages or by estimators.
NAMED_ELSEWHERE = ("versions", "metadata", "members", "arrays")


def fields_in(value, path=()):
    """Return the names of all fields of a description."""
    if isinstance(value, list):
        return set().union(*(fields_in(each, path) for each in value))
    if not isinstance(value, dict):
        return set()
    if (path[-1:] and path[-1] in NAMED_ELSEWHERE) or path == ("composition", "models"):
        return set()
    return set(value).union(*(fields_in(each, (*path, key)) for key, each in value.items()))


@pytest.mark.parametrize(
    "model",
    [
        PolytomyClassifier(random_state=0),
        PolytomyClassifier("svc C=10", "random-trees", class_weight={0: 2}, random_state=0),
        PolytomyClassifier(LinearSVC(), calibration="isotonic", class_order=[2, 1, 0]),
        PolytomyClassifier(make_pipeline(MinMaxScaler(), LogisticRegression()), memory_budget=1e6),
        PolytomyClassifier(scheme="a {0 b {1 2}}", models={"a": LogisticRegression()}),
        PolytomyClassifier(GaussianNB(), calibration=IsotonicRegression(out_of_bounds="clip")),
        make_pipeline(StandardScaler(), PolytomyClassifier(random_state=0)),
    ],
    ids=lambda model: "",
)
def test_every_field_of_a_file_is_described_at_the_top_of_the_package(model, tmp_path):
    if "GaussianNB" in repr(model):
        pytest.importorskip("skops")
    save(model.fit(X, Y), tmp_path / "m.polytomy", metadata={"of": "the user"})
    description, members = unpack((tmp_path / "m.polytomy").read_bytes())
    words = set(re.findall(r"[\w.-]+\w", own.__doc__))
    assert fields_in(description) - words == set()
    assert {re.sub(r"-\d+", "", name) for name in members} - words == set()


def test_out_of_fold_scores_are_a_member_only_if_asked_for(tmp_path):
    classifier = PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS)
    sizes = []
    for out_of_fold in (False, True):
        save(classifier, tmp_path / "m.polytomy", out_of_fold=out_of_fold)
        with zipfile.ZipFile(tmp_path / "m.polytomy") as archive:
            assert ("out_of_fold.npy" in archive.namelist()) == out_of_fold
            sizes.append(sum(info.file_size for info in archive.infolist()))
    assert sizes[1] - sizes[0] >= 4 * 2 * len(X)  # single precision, two binaries


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, 2),
        ({"final_calibration": None}, 1),
        ({"solver": "voting"}, 1),
        ({"final_calibration": None, "shared_preprocessing": True}, 2),
    ],
)
def test_only_what_0_1_cannot_answer_needs_a_new_version(parameters, expected, tmp_path):
    """Version 0.1 answers as this version does if it reads a file in format 1."""
    machine = make_pipeline(StandardScaler(), SVC())
    classifier = PolytomyClassifier(machine, random_state=0, **parameters)
    save(classifier.fit(X, Y), tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").format_version == expected


def test_schemes_of_an_ensemble_are_numbered():
    assert [scheme_member(k) for k in range(3)] == [
        "scheme.control",
        "scheme-1.control",
        "scheme-2.control",
    ]


def test_the_same_model_gives_the_same_file(tmp_path):
    classifier = PolytomyClassifier(random_state=0).fit(X, Y)
    for name in ("a", "b"):
        save(classifier, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_support_vectors_are_stored_once(tmp_path):
    random = np.random.default_rng(1)
    samples = random.normal(size=(600, 30))
    labels = random.integers(0, 6, 600)  # nothing to learn: all samples support all their machines
    classifier = PolytomyClassifier(SVC(gamma=0.03), calibration=None).fit(samples, labels)
    n_supports = sum(len(binary.estimator.support_) for binary in classifier.binaries_)
    assert n_supports > 4 * len(samples)  # the samples of a class support five machines each
    save(classifier, tmp_path / "m.polytomy")
    assert read_info(tmp_path / "m.polytomy").n_support_vectors <= len(samples)
    assert (tmp_path / "m.polytomy").stat().st_size < 1.5 * samples.nbytes


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        (PolytomyClassifier(), "the classifier is not fitted, so there is nothing to save"),
        (SVC(), r"SVC cannot be saved\. Pass a PolytomyClassifier or a PolytomyRegressor, or a"),
    ],
)
def test_only_fitted_classifiers_are_saved(classifier, words, tmp_path):
    with pytest.raises(ArgumentError, match=words):
        save(classifier, tmp_path / "m.polytomy")
    assert list(tmp_path.iterdir()) == []


def test_out_of_fold_scores_that_are_missing_cannot_be_saved(tmp_path):
    classifier = PolytomyClassifier(final_calibration=None).fit(X, Y)
    words = r'out_of_fold=True, but .* Leave it out, or fit with final_calibration="bias"\.'
    with pytest.raises(ArgumentError, match=words):
        save(classifier, tmp_path / "m.polytomy", out_of_fold=True)
    assert list(tmp_path.iterdir()) == []


def test_metadata_that_is_not_plain_is_refused(tmp_path):
    metadata = {"a": object()}
    with pytest.raises(ArgumentError, match=r"cannot be saved\. Pass a dict of text") as caught:
        save(PolytomyClassifier().fit(X, Y), tmp_path / "m.polytomy", metadata=metadata)
    assert Argument("metadata", metadata) in caught.value.args
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.polytomy")


def test_one_vs_rest_of_many_classes_is_saved_in_few_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "MOST_CLASSES_WRITTEN_OUT", 2)
    monkeypatch.setattr(composition_fields, "_MOST_ENTRIES", 3)
    classifier = PolytomyClassifier(LogisticRegression(), "one-vs-rest", random_state=0).fit(X, Y)
    save(classifier, tmp_path / "m.polytomy")
    description, members = unpack((tmp_path / "m.polytomy").read_bytes())
    assert members["scheme.control"].startswith(b"@one-vs-rest")
    assert description["format_version"] == saving.FORMAT_VERSION  # older versions cannot read it
    assert "sides" not in description["composition"]
    again = load(tmp_path / "m.polytomy")
    assert again.scheme_ == classifier.scheme_
    for one, other in zip(
        again.composition_.dichotomies, classifier.composition_.dichotomies, strict=True
    ):
        assert one[:4] == other[:4]
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
