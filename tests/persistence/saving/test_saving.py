"""Saving classifiers: what is written, and what is refused."""

import re
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import polytomy as pt
from persistence.round_trips import LABELS, TREE, X, Y
from persistence.saved_archives import unpack
from polytomy import PolytomyClassifier, designs
from polytomy.calibration.calibrators import UncalibratedMap
from polytomy.errors import Argument, ArgumentError
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.persistence import load, read_info, save, saving
from polytomy.persistence import models as compositions
from polytomy.persistence.models import compose_classifier
from polytomy.scheme.nodes import number_binaries


def test_a_plain_model_has_a_description_and_an_array_for_each_type(tmp_path):
    save(PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS), tmp_path / "m.polytomy")
    with zipfile.ZipFile(tmp_path / "m.polytomy") as archive:
        names = set(archive.namelist())
    assert names == {"model.json", "float64.npy", "float16.npy", "uint8.npy"}


def test_every_field_of_the_description_is_described_at_the_top_of_the_module(tmp_path):
    classifier = PolytomyClassifier(GaussianNB(), random_state=0).fit(X, Y)
    save(classifier, tmp_path / "m.polytomy", metadata={"of": "the user"})
    description, members = unpack((tmp_path / "m.polytomy").read_bytes())
    words = set(re.findall(r"[\w.-]+\w", saving.__doc__))
    assert set(description) - words == set()
    assert "others.skops" in members
    assert "others.skops" in words


def test_out_of_fold_scores_are_saved_only_if_asked_for(tmp_path):
    classifier = PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS)
    sizes = []
    for out_of_fold in (False, True):
        save(classifier, tmp_path / "m.polytomy", out_of_fold=out_of_fold)
        with zipfile.ZipFile(tmp_path / "m.polytomy") as archive:
            assert ("float32.npy" in archive.namelist()) == out_of_fold
            sizes.append(sum(info.file_size for info in archive.infolist()))
    assert sizes[1] - sizes[0] >= 4 * 2 * len(X)  # single precision, two binaries


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
    monkeypatch.setattr(compositions, "MOST_ENTRIES", 3)
    classifier = PolytomyClassifier(LogisticRegression(), "one-vs-rest", random_state=0).fit(X, Y)
    save(classifier, tmp_path / "m.polytomy")
    description, _ = unpack((tmp_path / "m.polytomy").read_bytes())
    composition = description["model"]["composition"]
    assert composition["schemes"][0].startswith("@one-vs-rest")
    assert "sides" not in composition
    again = load(tmp_path / "m.polytomy")
    assert again.scheme_ == classifier.scheme_
    for one, other in zip(
        again.composition_.dichotomies, classifier.composition_.dichotomies, strict=True
    ):
        assert one[:4] == other[:4]
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def of_many_classes(scheme):
    """Return a classifier whose binaries are all the same, as if it had been trained."""
    model = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [-1, 1])
    binaries = [
        TrainedBinary(str(each.binary), Output.MARGIN, model, UncalibratedMap())
        for each in scheme.partitions
    ]
    return compose_classifier(scheme, binaries, "least-squares", 2)


@pytest.mark.parametrize(
    ("design", "n_classes"), [("adjacent", 2000), ("orthogonal", 2000), ("adjacent", 5000)]
)
def test_codes_of_thousands_of_classes_are_kept(design, n_classes, tmp_path):
    classifier = of_many_classes(designs.design(design, list(range(n_classes))))
    save(classifier, tmp_path / "m.polytomy")
    again = load(tmp_path / "m.polytomy")
    assert again.scheme_ == classifier.scheme_
    np.testing.assert_array_equal(again.decisions([[0.3, 0.1]]), classifier.decisions([[0.3, 0.1]]))
    assert read_info(tmp_path / "m.polytomy").scheme.startswith(f"@{design} {{0 1 2")


def test_a_scheme_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    code = pt.CodingMatrix(np.random.default_rng(0).choice([-1, 1], (1100, 1000)))
    scheme = pt.Scheme.from_code(code, range(1000), number_binaries("m", 1100))
    classifier = of_many_classes(scheme)
    monkeypatch.setattr(compositions, "MAX_CHARACTERS", 10**6)
    with pytest.raises(ArgumentError, match=r"control text has [0-9,]+ characters, and texts of"):
        save(classifier, tmp_path / "m.polytomy")
    assert list(tmp_path.iterdir()) == []


def test_the_way_out_of_a_text_that_is_too_long_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr(compositions, "MAX_CHARACTERS", 10**5)
    orthogonal = [of_many_classes(designs.orthogonal(1100, random_state=k)) for k in (0, 7)]
    words = r"an orthogonal code with random_state=0, or a tree\. To keep this model, use joblib"
    with pytest.raises(ArgumentError, match=words):
        save(orthogonal[1], tmp_path / "m.polytomy")
    save(orthogonal[0], tmp_path / "m.polytomy")
    assert load(tmp_path / "m.polytomy").scheme_ == orthogonal[0].scheme_


def test_a_model_that_could_not_be_loaded_is_not_written(tmp_path):
    classifier = PolytomyClassifier(LogisticRegression(), final_calibration=None).fit(X, Y)
    classifier.binaries_[1].estimator.coef_[0, 2] = 1e101
    words = r"could not be loaded again: .*coefficients is not an array of numbers from -1e\+100"
    with pytest.raises(ArgumentError, match=words):
        save(classifier, tmp_path / "m.polytomy")
    assert list(tmp_path.iterdir()) == []
