"""Loading saved classifiers: the same answers, or a ModelFileError and nothing else."""

import io
import random
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from persistence.mutations import cut_or_flip, mutate
from persistence.round_trips import (
    LABELS,
    X,
    Y,
    assert_same,
    assert_same_after_reload,
    reload,
)
from persistence.saved_archives import array_to_bytes, pack, replace_field, unpack
from polytomy import PolytomyClassifier
from polytomy.calibration.calibrators import UncalibratedMap
from polytomy.errors import ArgumentError, ModelFileError, PolytomyError
from polytomy.language import parse_text
from polytomy.learners.bank import Bank
from polytomy.learners.borders import BorderMachine
from polytomy.learners.svm.machines import KernelMachine
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.persistence import load, read_info, saving
from polytomy.scheme import reading


@pytest.mark.parametrize(
    "labels", [Y, Y.astype(np.uint8), Y.astype(float), LABELS, LABELS.astype(object)]
)
def test_labels_of_every_type(labels, tmp_path):
    assert_same_after_reload(PolytomyClassifier(random_state=0).fit(X, labels), tmp_path)


def test_truth_values_and_single_classes(tmp_path):
    assert_same_after_reload(PolytomyClassifier(random_state=0).fit(X, Y > 0), tmp_path)
    alone = PolytomyClassifier().fit(X, np.zeros(150, dtype=int))
    assert reload(alone, tmp_path).predict_proba(X[:2]).tolist() == [[1], [1]]


def test_machines_that_share_vectors_still_share_them(tmp_path):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(1200, 3))
    labels = np.digitize(samples[:, 0] + 0.3 * samples[:, 1], [-0.6, 0, 0.6])
    classifier = PolytomyClassifier(SVC(gamma=0.5), random_state=0).fit(samples, labels)
    assert isinstance(classifier.binaries_[0].estimator, KernelMachine)
    again = assert_same_after_reload(classifier, tmp_path, samples)
    assert len({id(binary.estimator.pool) for binary in again.binaries_}) == 1


@pytest.mark.parametrize("estimator", [SVC(), LinearSVC()], ids=str)
def test_sparse_data(estimator, tmp_path):
    samples = csr_matrix(np.where(X > 2, X, 0))
    classifier = PolytomyClassifier(estimator, random_state=0).fit(samples, Y)
    assert_same_after_reload(classifier, tmp_path, samples)


def test_frames_keep_their_names(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    classifier = PolytomyClassifier(LogisticRegression(), random_state=0).fit(frame, Y)
    again = assert_same_after_reload(classifier, tmp_path, frame)
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["b", "a", "c", "d"]])


def test_names_that_are_not_those_of_a_binary_are_refused(save_to_bytes, assert_field_is_checked):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    content = save_to_bytes(PolytomyClassifier(LogisticRegression(), random_state=0).fit(frame, Y))
    words = "model.feature_names is not the list of names of the binary one-vs-one-00"
    assert_field_is_checked(content, ("model", "feature_names"), ["a", "b", "d", "c"], words)


def test_a_loaded_classifier_can_be_trained_further(tmp_path):
    classifier = PolytomyClassifier(SGDClassifier(random_state=0), random_state=0)
    classifier.partial_fit(X[::2], Y[::2], classes=[0, 1, 2])
    again = reload(classifier, tmp_path, reservoir=True)
    assert_same(classifier.partial_fit(X[1::2], Y[1::2]), again.partial_fit(X[1::2], Y[1::2]))


@pytest.mark.parametrize("before", [[StandardScaler()], ["passthrough", MinMaxScaler()], []])
def test_a_pipeline_that_ends_in_a_classifier(before, tmp_path):
    classifier = make_pipeline(*before, PolytomyClassifier(random_state=0)).fit(X, LABELS)
    again = reload(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert repr(again) == repr(classifier)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"format_version": 5, "versions": {"polytomy": "9.9"}},
            "the file was written by polytomy 9.9 in format 5; this version reads formats up to 1",
        ),
        ({"format_version": 5, "versions": 3}, "the file was written by polytomy None in format 5"),
        ({"format_version": "1"}, "the format version is missing"),
        ({"format": "zip"}, "this is not a model saved by polytomy"),
    ],
)
def test_other_formats_are_refused(svm_model, changes, words, refusal):
    description, members = unpack(svm_model)
    assert refusal(pack({**description, **changes}, members)).startswith(words)


COMPOSITION = ("model", "composition")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "model.composition: scheme:"),
        ("a {0 0}", "model.composition: scheme:1:6: class 0 is already used"),
        ("a {0 1}", "model.composition.columns is not a binary for each of 1 partitions"),
        ("a {0 b {1 3}}", "model.composition: the scheme does not name class 2"),
        ("c 0 / 1 2; {0 1 2}", "model.composition: scheme:"),
        ("@tree {0 1 2}", "the scheme has more partitions than the 2 of the model"),
    ],
)
def test_schemes_that_do_not_fit_are_refused(svm_model, text, words, assert_field_is_checked):
    assert_field_is_checked(svm_model, (*COMPOSITION, "schemes", 0), text, re.escape(words))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("model",), None, "model is not a classifier or a regressor"),
        (("model",), {"kind": "calibrator/none"}, "model is not a classifier or a regressor"),
        (("model", "kind"), "magic", "model is of the kind magic, which is not known. If another"),
        (("model", "n_features"), 0, "model.n_features is not an integer from 1 to 2147483647"),
        (("model", "n_features"), 2**52, "model.n_features is not an integer from 1 to 2147"),
        (("model", "n_features"), 5, "model.n_features is not that of the binary a"),
        (("model", "feature_names"), [1], "model.feature_names is not a list of texts"),
        (("model", "feature_names"), ["a"], "there are 1 names for 4 features"),
        (("metadata",), {"x": 1}, "metadata is not a value that polytomy writes"),
    ],
)
def test_each_field_is_checked(svm_model, path, value, words, assert_field_is_checked):
    assert_field_is_checked(svm_model, path, value, words)


def test_numbers_that_belong_to_nothing_are_refused(svm_model, refusal):
    description, members = unpack(svm_model)
    floats = np.load(io.BytesIO(members["float64.npy"]))
    longer = array_to_bytes(np.append(floats, 1.0))
    words = refusal(pack(description, {**members, "float64.npy": longer}))
    assert words == "the file has more numbers of type float64 than the model"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("names",), ["a"], "model.names is not a name for each step"),
        (("names",), ["a", "a"], "model.names is not a list of different names of steps"),
        (("names",), ["a__b", "c"], "model.names is not a list of different names of steps"),
        (("steps", 1), 3, "model.steps is not a list of transformers that may end in a classifier"),
    ],
)
def test_each_field_of_a_pipeline_is_checked(
    piped_model, path, value, words, assert_field_is_checked
):
    assert_field_is_checked(piped_model, ("model", *path), value, words)


def test_a_scaler_for_other_features_is_refused(tmp_path):
    scaler = StandardScaler().fit(X[:, :3])
    classifier = PolytomyClassifier(random_state=0).fit(X, Y)
    words = "model.steps is not a list of steps for one number of features"
    with pytest.raises(ArgumentError, match=words):
        pt.save(Pipeline([("a", scaler), ("b", classifier)]), tmp_path / "m.polytomy")


def test_binaries_must_agree_on_the_number_of_features(save_to_bytes, refusal, monkeypatch):
    monkeypatch.setattr(saving, "_check_readable", lambda *parts: None)

    def saved(n_features, *binaries):
        classifier = PolytomyClassifier(scheme="a {0 b {1 2}}", random_state=0).fit(X, Y)
        composition = classifier.composition_
        classifier.composition_ = replace(composition, bank=Bank(binaries), final=None)
        classifier.n_features_in_ = n_features
        return save_to_bytes(classifier)

    def binary(name, n_features, columns=None):
        machine = BorderMachine(np.ones((1, n_features)), np.ones((1, n_features)))
        calibrator = UncalibratedMap()
        return TrainedBinary(name, Output.MARGIN, machine, calibrator, columns=columns)

    constant = TrainedBinary("c", Output.CONSTANT)
    for content, wrong in [
        (saved(3, constant, binary("a", 2)), "a"),
        (saved(3, binary("b", 3), binary("a", 4)), "a"),
        (saved(3, constant, binary("a", 2, np.array([0, 3]))), "a"),
        (saved(3, constant, binary("a", 2, np.array([0, 1, 2]))), "a"),
    ]:
        assert refusal(content) == f"model.n_features is not that of the binary {wrong}"


# -- damaged files ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_models(save_to_bytes, svm_model, scaled_model, piped_model, tmp_path_factory):
    """Return saved models of as many kinds as there are, all for the samples X."""
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    ensemble = pt.designs.tree_ensemble(["setosa", "versicolor", "virginica"], 3, random_state=0)
    nested = make_pipeline(MinMaxScaler((0, 2)), make_pipeline(StandardScaler(), SVC(gamma=0.3)))
    fitted = LogisticRegression().fit(X, Y == 0)
    text = 'is-setosa {"svc C=10" {versicolor virginica} setosa}'
    sparse = csr_matrix(np.where(X > 2, X, 0))
    alone = np.zeros(len(X), dtype=int)
    classifiers = [
        PolytomyClassifier(RidgeClassifier(), ensemble).fit(X, LABELS),
        PolytomyClassifier(LogisticRegression()).fit(frame, LABELS.astype(object)),
        PolytomyClassifier(nested, calibration="temperature", class_weight="balanced").fit(X, Y),
        PolytomyClassifier(scheme=text, models={"is-setosa": fitted}).fit(X, LABELS),
        PolytomyClassifier(SVC(), "one-vs-rest", solver="voting", calibration=None).fit(sparse, Y),
        PolytomyClassifier().fit(X, alone),
    ]
    folder = tmp_path_factory.mktemp("borders")
    rows = np.random.default_rng(0).normal(size=(4, 5, 4)).astype("<f4")
    for name, (borders, gradients) in zip("ab", rows.reshape(2, 2, 5, 4), strict=True):
        for suffix, part in (("brd", borders), ("bgd", gradients)):
            (folder / f"{name}.{suffix}").write_bytes(np.int32(4).tobytes() + part.tobytes())
    (folder / "c.control").write_text("a {0 b {1 2}}")
    contents = [save_to_bytes(each) for each in (*classifiers, load(folder / "c.control"))]
    return [svm_model, scaled_model, piped_model, *contents]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_loaded_or_refused_and_nothing_else(many_models, seed, tmp_path):
    """Whatever is not a PolytomyError is a value that was used before it was checked."""
    source = random.Random(seed)
    path = tmp_path / "m.polytomy"
    n_loaded = 0
    for number in range(60):
        damage = cut_or_flip if number % 10 == 0 else mutate
        path.write_bytes(damage(source.choice(many_models), source))
        with suppress(PolytomyError):
            read_info(path)
        with suppress(PolytomyError):
            classifier = load(path)
            n_loaded += 1
            n_features = getattr(classifier, "n_features_in_", 4)
            if n_features < 1000:
                classifier.predict(np.ones((2, n_features)))
    assert 0 < n_loaded < 60  # the damage is neither harmless nor always the same


@pytest.mark.filterwarnings("ignore::polytomy.CalibrationWarning")
@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_calibration_is_learnt_again_or_refused_and_nothing_else(
    decoder_model, svm_model, seed, tmp_path
):
    """The final calibration, and the out-of-fold scores of one of the models, are damaged too."""
    source = random.Random(seed)
    path = tmp_path / "m.polytomy"
    n_loaded = 0
    for _ in range(40):
        path.write_bytes(mutate(source.choice([decoder_model, decoder_model, svm_model]), source))
        with suppress(PolytomyError):
            read_info(path)
        with suppress(PolytomyError):
            classifier = load(path)
            n_loaded += 1
            if classifier.n_features_in_ == 4:
                classifier.predict(X[::50])
                classifier.with_solver("divergence").predict(X[::50])
            with suppress(AttributeError):
                assert classifier.out_of_fold_proba_.shape[1] == len(classifier.classes_)
    assert 0 < n_loaded < 40


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_file_with_skops_objects_is_loaded_or_refused(
    skops_model, provided_model, seed, tmp_path
):
    source = random.Random(seed)
    path = tmp_path / "m.polytomy"
    for number in range(60):
        path.write_bytes(mutate((skops_model, provided_model)[number % 2], source))
        with suppress(ModelFileError):
            load(path)


# -- control texts of hostile files ---------------------------------------------------------------


def test_a_text_with_more_partitions_than_the_model_is_refused_unread(
    svm_model, refusal, monkeypatch
):
    description, members = unpack(svm_model)
    monkeypatch.setattr(reading, "parse_text", lambda source: pytest.fail("it was parsed"))
    for text in ('"" 0 / 1; ' * 100_000 + "{0 1 2}", "m {0 " * 100_000, "a 0/9;" * 3 + "{0 1}"):
        replace_field(description, (*COMPOSITION, "schemes", 0), text)
        words = refusal(pack(description, members))
        assert words.endswith("the scheme has more partitions than the 2 of the model")


def test_a_text_is_parsed_once(svm_model, tmp_path, monkeypatch):
    texts = []

    def counted(source):
        texts.append(source.text)
        return parse_text(source)

    monkeypatch.setattr(reading, "parse_text", counted)
    (tmp_path / "m.polytomy").write_bytes(svm_model)
    load(tmp_path / "m.polytomy")
    assert len(texts) == 1


def test_signs_in_quoted_labels_are_not_counted_as_partitions(tmp_path):
    path = tmp_path / "quoted.polytomy"
    labels = np.array(["a;{b", 'c"{;', "#;{"])[Y]
    pt.save(PolytomyClassifier(random_state=0).fit(X, labels), path)
    assert load(path).classes_.tolist() == sorted(set(labels))
