"""Control files that name trained models."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from needs import needs_posix
from persistence.border_samples import write_borders, write_normalisation
from polytomy import parse, solve
from polytomy.datasets import read_data
from polytomy.errors import ControlError, ModelFileError
from polytomy.persistence import load, load_control, read_info, read_libsvm, save

FOLDER = Path(__file__).parents[1] / "libsvm"


@pytest.fixture(scope="module")
def X():
    return read_data(FOLDER / "flowers.svm").X.toarray()


def _control(tmp_path, text, name="flowers.control"):
    for model in ("first", "second", "rbf"):
        shutil.copy(FOLDER / f"{model}.model", tmp_path)
    (tmp_path / "models").mkdir(exist_ok=True)
    shutil.copy(FOLDER / "second.model", tmp_path / "models")
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_tree_of_models_predicts_as_its_models_do(X, tmp_path):
    path = _control(tmp_path, "first.model {7 models/second.model {-2 4}}")
    classifier = load(path)
    first, second = (read_libsvm(FOLDER / f"{name}.model") for name in ("first", "second"))
    not_seven = first.predict_proba(X)[:, 1]
    four = second.predict_proba(X)[:, 1]
    expected = np.column_stack([not_seven * (1 - four), not_seven * four, 1 - not_seven])
    assert classifier.classes_.tolist() == [-2, 4, 7]
    np.testing.assert_allclose(classifier.predict_proba(X), expected, rtol=0, atol=1e-12)
    printed = [line.split() for line in (FOLDER / "first.out").read_text().splitlines()]
    assert printed[0] == ["labels", "1", "-1"]
    # svm-predict stops within 0.005 / 2 of the answer.
    svm_predict = np.array([float(words[1]) for words in printed[1:]])
    np.testing.assert_allclose(not_seven, svm_predict, rtol=0, atol=0.0025)
    is_right = np.array([words[0] == "1" for words in printed[1:]])
    np.testing.assert_array_equal(classifier.decisions(X)[:, 0] > 0, is_right)


def test_suffixes_can_be_left_out_in_trees_and_codes(X, tmp_path):
    tree = load(_control(tmp_path, "first {a second {b c}}"))
    text = "first 0 / 1 2; second 1 / 2; {a b c}"
    flat = load(_control(tmp_path, text))
    np.testing.assert_allclose(flat.decisions(X), tree.decisions(X), rtol=0, atol=0)
    np.testing.assert_allclose(flat.predict_proba(X), tree.predict_proba(X), rtol=0, atol=1e-9)
    assert tree.predict(X).tolist() == flat.predict(X).tolist()


def test_a_model_with_the_labels_of_its_sides_finds_them(X, tmp_path):
    text = (FOLDER / "second.model").read_text()
    assert "label 1 0" in text or "label 0 1" in text
    swapped = text.replace("label 1 0", "label 4 -2").replace("label 0 1", "label -2 4")
    (tmp_path / "own.model").write_text(swapped)
    (tmp_path / "a.control").write_text("own {4 -2}")
    (tmp_path / "b.control").write_text("own {-2 4}")
    first, second = (load(tmp_path / name) for name in ("a.control", "b.control"))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_array_equal(first.decisions(X), -second.decisions(X))


def test_information_about_a_control_file_with_models(tmp_path):
    info = read_info(_control(tmp_path, "first {7 second {-2 4}}"))
    assert (info.kind, info.kinds) == ("control file with models", {"svc": 2})
    assert info.classes.tolist() == [-2, 4, 7]
    assert parse(info.scheme) == parse("first {7 second {-2 4}}")
    texts = [(FOLDER / f"{name}.model").read_text() for name in ("first", "second")]
    totals = [int(re.search(r"total_sv (\d+)", text)[1]) for text in texts]
    assert info.n_support_vectors == sum(totals)


def test_a_loaded_classifier_can_be_saved_and_rearranged(X, tmp_path):
    classifier = load(_control(tmp_path, "first {7 second {-2 4}}"))
    save(classifier, tmp_path / "m.polytomy")
    again = load(tmp_path / "m.polytomy")
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    flat = again.with_scheme(again.scheme_.flatten())
    np.testing.assert_allclose(flat.predict_proba(X), again.predict_proba(X), rtol=0, atol=1e-9)


def test_models_without_probabilities_vote(X, tmp_path):
    text = (FOLDER / "first.model").read_text()
    bare = "".join(line for line in text.splitlines(True) if not line.startswith("prob"))
    (tmp_path / "bare.model").write_text(bare)
    (tmp_path / "c.control").write_text("bare {0 1}")
    classifier = load_control(tmp_path / "c.control")
    assert classifier.solver == "hamming"
    # In the file the label 1, the right side, comes first; there it is the -1 side of the pair.
    values = read_libsvm(tmp_path / "bare.model").binaries_[0].scores(X)
    np.testing.assert_array_equal(classifier.predict(X), (values < 0).astype(int))


def test_all_models_can_be_given_more_features(X, tmp_path):
    classifier = load(_control(tmp_path, "first {7 second {-2 4}}"), n_features=7)
    assert classifier.n_features_in_ == 7


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"-c 10" {a b}', '"-c 10" describes a model to train, but is not the name of a'),
        ("third {a b}", "there is no model file .*third, with or without .model, .svm or .brd"),
        ("first", "control: the text is a single class and names no model"),
        (". {0 1}", r"control: \. is a folder, but not the name of a model file"),
        ("models/.. {0 1}", r"control: models/\.\. is a folder, but not the name of a model"),
        ("models/ {0 1}", "control: models/ is a folder, but not the name of a model file"),
        ("models {0 1}", "there is no model file .*models, with or without"),
        ("x" * 300 + " {0 1}", "cannot be read: File name too long"),
        ("rbf {a b}", r'rbf.model: Model "rbf" has the classes .*; a binary has exactly two'),
    ],
)
def test_names_that_are_not_two_class_models_are_refused(text, words, tmp_path):
    with pytest.raises(ModelFileError, match=words):
        load(_control(tmp_path, text))


def test_a_file_that_is_not_a_model_is_not_quoted(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret").write_text("password 12345\n")
    (tmp_path / "inner" / "c.control").write_text("../secret {0 1}")
    with pytest.raises(ModelFileError) as info:
        load(tmp_path / "inner" / "c.control")
    assert str(info.value) == f"{tmp_path / 'inner' / '..' / 'secret'}: this is not a LIBSVM model"


@needs_posix
def test_pipes_and_devices_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name in ("pipe", "zeros"):
        (tmp_path / "c.control").write_text(f"{name} {{0 1}}")
        with pytest.raises(ModelFileError, match=f"there is no model file .*{name}"):
            load(tmp_path / "c.control")


def test_a_control_file_in_the_working_directory_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(_control(tmp_path, "first {0 1}").parent)
    assert load("flowers.control").classes_.tolist() == [0, 1]
    (tmp_path / "dot").write_text(". {0 1}")
    with pytest.raises(ModelFileError, match=r"dot: \. is a folder"):
        load("dot")


def test_one_vs_one_of_models_with_probabilities_is_solved_by_least_squares(X, tmp_path):
    text = "first 0 / 1; second 0 / 2; first 1 / 2; {a b c}"
    classifier = load(_control(tmp_path, text))
    assert classifier.scheme_.code.is_one_vs_one
    assert classifier.solver == "least-squares"
    expected = solve(classifier.scheme_, classifier.decisions(X), method="least-squares")
    np.testing.assert_array_equal(classifier.predict_proba(X), expected)


def test_mistakes_in_a_control_file_are_shown_with_their_places(tmp_path):
    with pytest.raises(ControlError, match=r"c\.control:1:"):
        load(_control(tmp_path, "first {a a}", "c.control"))


# -- border samples of libAGF ---------------------------------------------------------------------

# As multi_borders writes a tree whose second branch is a code of three.
AGF_CONTROL = """bar {
  bar.00 {
    1
    2
  }
  bar.01-00 0 1 / 2;
  bar.01-01 0 / 1 2;
  {
    bar.01.00 {
      3
      4
    }
    5
    6
  }
}
"""


def test_border_samples_answer_by_the_nearest_one(tmp_path):
    random = np.random.default_rng(0)
    names = ["bar", "bar.00", "bar.01-00", "bar.01-01", "bar.01.00"]
    (tmp_path / "foobar.txt").write_text(AGF_CONTROL)
    samples = random.normal(size=(20, 3)).astype(np.float32).astype(float)
    expected = {}
    for name in names:
        borders, gradients = random.normal(size=(2, 15, 3)).astype(np.float32)
        write_borders(tmp_path, name, borders, gradients)
        nearest = ((samples[:, None] - borders) ** 2).sum(axis=2).argmin(axis=1)
        expected[name] = np.tanh((gradients[nearest] * (samples - borders[nearest])).sum(axis=1))
    classifier = load(tmp_path / "foobar.txt")
    assert classifier.classes_.tolist() == [1, 2, 3, 4, 5, 6]
    order = [str(partition.binary) for partition in classifier.scheme_.partitions]
    answers = classifier.decisions(samples)
    for column, name in enumerate(order):
        np.testing.assert_allclose(answers[:, column], expected[name], rtol=0, atol=1e-12)
    probabilities = classifier.predict_proba(samples)
    # Down the tree: R = P(right) - P(left).
    left = (1 - expected["bar"]) / 2
    np.testing.assert_allclose(probabilities[:, :2].sum(axis=1), left, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        probabilities[:, 0], left * (1 - expected["bar.00"]) / 2, rtol=0, atol=1e-12
    )
    save(classifier, tmp_path / "m.polytomy")
    again = load(tmp_path / "m.polytomy")
    np.testing.assert_array_equal(again.predict_proba(samples), probabilities)
    assert again.predict(samples).tolist() == classifier.predict(samples).tolist()


def test_border_samples_with_another_number_of_features_are_refused(tmp_path):
    write_borders(tmp_path, "m", [[1.0]], [[1.0]])
    (tmp_path / "c.control").write_text("m {a b}")
    with pytest.raises(ModelFileError, match="have 1 features instead of 3"):
        load(tmp_path / "c.control", n_features=3)


# -- normalisation --------------------------------------------------------------------------------

MEANS, DEVIATIONS = np.array([100.0, -3.0, 0.5]), np.array([20.0, 0.25, 8.0])


def _write_normalised_tree(folder):
    """Write border samples of a tree; return those samples, their gradients, and raw samples."""
    random = np.random.default_rng(1)
    models = {}
    for name in ("bar", "bar.00"):
        models[name] = random.normal(size=(2, 15, 3)).astype(np.float32).astype(float)
        write_borders(folder, name, *models[name])
    (folder / "foobar.txt").write_text("bar {bar.00 {1 2} 3}")
    return models, random.normal(size=(20, 3)) * DEVIATIONS + MEANS


def test_samples_are_normalised_before_they_reach_border_samples(tmp_path):
    models, X = _write_normalised_tree(tmp_path)
    write_normalisation(tmp_path / "bar.std", MEANS, DEVIATIONS)
    classifier = load(tmp_path / "foobar.txt")
    normalised = (X - MEANS) / DEVIATIONS
    borders, gradients = models["bar"]
    nearest = ((normalised[:, None] - borders) ** 2).sum(axis=2).argmin(axis=1)
    right = np.tanh((gradients[nearest] * (normalised - borders[nearest])).sum(axis=1))
    assert classifier.n_features_in_ == 3
    # The file holds the factors in single precision.
    np.testing.assert_allclose(
        classifier.predict_proba(X)[:, 2], (1 + right) / 2, rtol=0, atol=1e-5
    )
    save(classifier, tmp_path / "m.polytomy")
    again = load(tmp_path / "m.polytomy")
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert read_info(tmp_path / "foobar.txt").kinds == {"borders": 2}


def test_samples_are_normalised_before_they_reach_libsvm_models(X, tmp_path):
    path = _control(tmp_path, "first 0 / 1 2; second 1 / 2; {a b c}")
    raw = load(path)
    means, deviations = np.full(X.shape[1], 2.0), np.full(X.shape[1], 4.0)
    write_normalisation(tmp_path / "flowers.std", means, deviations)
    normalised = load(path)
    expected = raw.predict_proba((X - means) / deviations)
    np.testing.assert_allclose(normalised.predict_proba(X), expected, rtol=0, atol=1e-12)
    with pytest.raises(ModelFileError, match="has 4 features instead of 9"):
        load(path, n_features=9)


@pytest.mark.parametrize("name", ["bar", "foobar.txt", "foobar"])
def test_a_normalisation_is_found_by_the_name_of_the_models_or_the_control_file(name, tmp_path):
    _, X = _write_normalised_tree(tmp_path)
    bare = load(tmp_path / "foobar.txt")
    write_normalisation(tmp_path / "other.std", MEANS, DEVIATIONS)
    assert not hasattr(load(tmp_path / "foobar.txt"), "steps")
    write_normalisation(tmp_path / f"{name}.std", MEANS, DEVIATIONS)
    normalised = load(tmp_path / "foobar.txt")
    np.testing.assert_allclose(
        normalised.predict_proba(X), bare.predict_proba((X - MEANS) / DEVIATIONS), atol=1e-5
    )


def test_a_partition_of_three_sides_names_no_model_file(tmp_path):
    path = tmp_path / "wide.control"
    path.write_text("m {1 2 3}")
    with pytest.raises(ModelFileError, match="partition m has 3 sides, but model files have two"):
        load_control(path)
