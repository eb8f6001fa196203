"""Control files that name trained models."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from persistence.libagf.border_samples import write_borders
from polytomy import parse
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
        ("rbf {a b}", r'rbf.model: Model "rbf" has the classes .*; a binary has exactly two'),
    ],
)
def test_names_that_are_not_two_class_models_are_refused(text, words, tmp_path):
    with pytest.raises(ModelFileError, match=words):
        load(_control(tmp_path, text))


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
