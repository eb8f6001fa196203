"""libAGF's classifiers in one text file."""

import numpy as np
import pytest

from persistence.border_samples import print_matrix, write_borders, write_normalisation
from polytomy.errors import ModelFileError
from polytomy.persistence import load, read_info

LABELS = (5, 0, 2)
# The rows of the codes as libAGF has them, by classes in the order of the file.
CODES = {
    "1v1": [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]],
    "1vR": [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    "ADJ": [[-1, 1, 1], [-1, -1, 1]],
}


def _models(kind):
    random = np.random.default_rng(3)
    return [random.normal(size=(2, 9, 4)).round(3) for _ in CODES[kind]]


def _text(kind, signs=None):
    signs = [1] * len(CODES[kind]) if signs is None else signs
    lines = [kind, "   3", "".join(f"{label:4d}" for label in LABELS), " ".join(map(str, signs))]
    matrices = [print_matrix(rows) for model in _models(kind) for rows in model]
    return "\n".join(lines) + " \n" + "".join(matrices)


def _control_text(kind, signs):
    """Return the control text of the same classifier."""
    text = ""
    for k, (row, sign) in enumerate(zip(CODES[kind], signs, strict=True)):
        left, right = ([i for i, v in enumerate(row) if v * sign == side] for side in (-1, 1))
        text += f"m-{k} {' '.join(map(str, left))} / {' '.join(map(str, right))};\n"
    return text + "{" + " ".join(map(str, LABELS)) + "}"


@pytest.mark.parametrize("kind", sorted(CODES))
@pytest.mark.parametrize("is_flipped", [False, True])
def test_it_answers_as_the_control_file_with_the_same_models(kind, is_flipped, tmp_path):
    signs = [-1 if is_flipped and k % 2 else 1 for k in range(len(CODES[kind]))]
    (tmp_path / "one.txt").write_text(_text(kind, signs))
    (tmp_path / "many.txt").write_text(_control_text(kind, signs))
    for k, model in enumerate(_models(kind)):
        write_borders(tmp_path, f"m-{k}", *model)
    X = np.random.default_rng(4).normal(size=(30, 4))
    one, many = load(tmp_path / "one.txt"), load(tmp_path / "many.txt")
    assert one.classes_.tolist() == [0, 2, 5]
    assert one.solver == "least-squares"
    # Border files have single precision.
    np.testing.assert_allclose(one.predict_proba(X), many.predict_proba(X), rtol=0, atol=1e-5)


def test_information_about_a_file(tmp_path):
    (tmp_path / "m.mbm").write_text(_text("ADJ"))
    info = read_info(tmp_path / "m.mbm")
    assert (info.kind, info.kinds) == ("all-in-one model of libAGF", {"borders": 2})
    assert (info.classes.tolist(), info.n_features) == ([0, 2, 5], 4)


def test_samples_are_normalised_if_there_is_a_normalisation(tmp_path):
    (tmp_path / "m.mbm").write_text(_text("1v1"))
    bare = load(tmp_path / "m.mbm")
    write_normalisation(tmp_path / "m.std", np.full(4, 10.0), np.full(4, 2.0))
    X = np.random.default_rng(4).normal(size=(30, 4))
    scaled = load(tmp_path / "m.mbm")
    np.testing.assert_allclose(
        scaled.predict_proba(2 * X + 10), bare.predict_proba(X), rtol=0, atol=1e-12
    )
    write_normalisation(tmp_path / "m.std", np.full(3, 10.0), np.full(3, 2.0))
    with pytest.raises(ModelFileError, match="the border samples have 4 features instead of 3"):
        load(tmp_path / "m.mbm")


def test_the_number_of_features_is_that_of_the_border_samples(tmp_path):
    (tmp_path / "m.mbm").write_text(_text("1v1"))
    assert load(tmp_path / "m.mbm", n_features=4).n_features_in_ == 4
    with pytest.raises(ModelFileError, match="the border samples have 4 features instead of 5"):
        load(tmp_path / "m.mbm", n_features=5)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("   3\n", "   999999999\n", "line 3: the line is not a label for each class"),
        ("   3\n", "   1\n", "line 3: the line is not a label for each class"),
        ("   5   0   2", "   5   0   5", "line 3: there must be two different classes or more"),
        ("   5   0   2", "   5   0   x", "line 3: the line is not a label for each class"),
        ("1 1 1 \n", "1 1 \n", "line 4: the line is not a sign for each partition"),
        ("1 1 1 \n", "1 0 1 \n", "line 4: signs must be 1 or -1"),
        ("9 4\n", "9 5\n", "line 5: the next 9 lines are not 5 finite numbers each"),
        ("9 4\n", "900000000 4\n", "a matrix of 900000000 rows and 4 columns does not follow"),
        ("9 4\n", "-9 4\n", "a matrix of -9 rows and 4 columns does not follow"),
        ("9 4\n", "0 4\n", "a matrix of 0 rows and 4 columns does not follow"),
        ("9 4\n", "8 4\n", "the line is not the numbers of rows and columns of a matrix"),
        ("9 4\n", "9 4\nnan 1 1 1\n", "line 5: the next 9 lines are not 4 finite numbers each"),
        ("9 4\n", "9 4\nx 1 1 1\n", "line 5: the next 9 lines are not 4 finite numbers each"),
    ],
)
def test_damaged_files_are_refused_with_the_line(old, new, words, tmp_path):
    text = _text("1v1")
    assert old in text
    (tmp_path / "m.mbm").write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=words):
        load(tmp_path / "m.mbm")


def test_incomplete_and_longer_files_are_refused(tmp_path):
    text = _text("1v1")
    (tmp_path / "m.mbm").write_text(text + "1 1\n1\n")
    with pytest.raises(ModelFileError, match="there is text after the last model"):
        load(tmp_path / "m.mbm")
    lines = text.splitlines(True)
    for n_lines in range(2, len(lines)):
        (tmp_path / "m.mbm").write_text("".join(lines[:n_lines]))
        with pytest.raises(ModelFileError, match=r"m\.mbm, line \d+: "):
            load(tmp_path / "m.mbm")
