"""Data as commands read it."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from needs import needs_posix
from polytomy.cli.data import make_scaler, to_json
from polytomy.cli.options import NAMES, parse_integer
from polytomy.datasets import FORMATS, read_data


def test_every_command_reads_standard_input(polytomy, model):
    content = Path("iris.csv").read_bytes()
    for line in ("predict iris.polytomy", "evaluate iris.polytomy", "distances", "design tree"):
        name, *options = line.split()
        expected = polytomy(name, *options, "iris.csv")
        assert expected.code == 0
        assert polytomy(name, *options, "-", typed=content) == expected
    assert polytomy("train", "-", "-o", "again.polytomy", typed=content).code == 0
    assert polytomy("split", "-", "-o", "a", typed=content).code == 0
    assert read_data("a.train.csv").n_samples + read_data("a.test.csv").n_samples == 150
    outcome = polytomy("split", "-", typed=content)
    assert outcome.code == 2
    assert outcome.err.startswith("polytomy: standard input has no name; use --output PREFIX")


@needs_posix
def test_pipes_and_gzipped_pipes_are_read(polytomy, model):
    expected = polytomy("predict", model, "iris.csv").out
    with subprocess.Popen(["gzip", "-c", "iris.csv"], stdout=subprocess.PIPE) as gzip:
        name = f"/dev/fd/{gzip.stdout.fileno()}"
        assert polytomy("predict", model, name) == (0, expected, "")
    os.mkfifo("ff")
    with subprocess.Popen("cat iris.csv > ff", shell=True):
        assert polytomy("predict", model, "ff") == (0, expected, "")


@needs_posix
def test_an_empty_or_closed_pipe_is_a_message(polytomy, finish, model):
    outcome = polytomy("predict", model, "-", typed=b"")
    assert outcome == (2, "", "polytomy: <standard input>: the file is empty\n")
    outcome = finish(shell=f"polytomy predict {model} - <&-")
    assert outcome == (2, "", "polytomy: <standard input>: Bad file descriptor\n")


def test_a_header_of_numbers_can_be_given(polytomy, here):
    lines = Path("iris.csv").read_text().splitlines()
    Path("years.csv").write_text("\n".join(["2001,2003,2007,2010,2011", *lines[1:]]))
    train = ["train", "years.csv", "-o", "y.polytomy", "--json"]
    by_name = json.loads(polytomy(*train, "--target", "2011").out)
    assert by_name["samples"] == 150
    # The model knows its columns by name, and finds them.
    assert len(polytomy("predict", "y.polytomy", "years.csv").out.splitlines()) == 151
    assert json.loads(polytomy(*train, "--header").out)["samples"] == 150
    outcome = polytomy(*train, "--no-header")
    assert json.loads(outcome.out)["samples"] == 151
    Path("counted.csv").write_text("\n".join(["1,2,3,4,5", *lines[1:]]))
    outcome = polytomy("train", "counted.csv", "-o", "c.polytomy")
    words = "polytomy: counted.csv, line 1: 1, 2, 3 … may be column names or a sample. Use "
    assert outcome == (2, "", f"{words}--header or --no-header.\n")


def test_labels_that_are_not_classes_are_an_error(polytomy, here):
    outcome = polytomy("train", "iris.csv", "--target", "sepal_width", "-o", "m.polytomy")
    outcome_one_hot = polytomy(
        "train", "iris.csv", "--target", "sepal_width", "--one-hot", "-o", "m.polytomy"
    )
    assert "line 2, column 5" in outcome.err  # the species is text, and not the label
    assert outcome_one_hot.err == (
        'polytomy: iris.csv, column "sepal_width": labels must be classes; 3.5 is neither a word '
        "nor an integer. Set --target to the label column. For numbers, use train --regress.\n"
    )
    Path("bare.csv").write_text("1,2,0.5\n3,4,1\n")
    assert (
        "bare.csv, column -1: labels must be classes; 0.5 is"
        in polytomy("distances", "bare.csv").err
    )


def test_the_help_lists_every_format(polytomy):
    words = polytomy("train", "--help").out.replace("│", "").split()
    assert set(FORMATS) <= {word.strip(",;") for word in words}


@pytest.mark.parametrize("scale", list(NAMES["scales"]))
def test_scaling_keeps_sparse_data_sparse(scale):
    X = np.array([[0.0, 1], [2, 0], [4, 3]])
    scaler = make_scaler(scale, csr_array(X))
    if scale == "none":
        assert scaler is None
    else:
        assert scaler.fit_transform(csr_array(X)).nnz == 4


def test_a_column_is_a_position_if_it_is_an_integer():
    assert [parse_integer(text) for text in ("-1", "07", "kind", "1.5")] == [-1, 7, "kind", "1.5"]


def test_json_has_null_for_numbers_that_are_not_finite():
    value = {"a": np.array([1.0, np.nan]), 2: (np.inf, "é")}
    assert json.loads(to_json(value)) == {"a": [1.0, None], "2": [None, "é"]}


@pytest.fixture
def svmlight(here):
    """Write data with features numbered from 0, of which feature 0 matters most."""
    X = np.round(np.random.default_rng(0).normal(size=(60, 3)), 3)
    y = np.arange(60) % 2
    X[:, 0] = np.where(y == 0, 0, 5)
    dump_svmlight_file(X, y, "zero.svm", zero_based=True)
    dump_svmlight_file(X, y, "one.svm", zero_based=False)
    # Of these samples no line has an index 0.
    dump_svmlight_file(X[y == 0], y[y == 0], "some.svm", zero_based=True)
    assert " 0:" not in Path("some.svm").read_text()
    return here


def test_features_may_be_numbered_from_zero(polytomy, svmlight):
    for name in ("zero", "one"):
        outcome = polytomy("train", f"{name}.svm", "-o", f"{name}.polytomy")
        assert "60 samples of 3 features" in outcome.out
    predicted = [
        polytomy("predict", f"{n}.polytomy", f"{n}.svm", "--proba") for n in ("zero", "one")
    ]
    assert predicted[0] == predicted[1]
    for line in ("design decoc", "distances", "search -c decoc -c one-vs-one --folds 2 --json"):
        name, *options = line.split()
        found = [polytomy(name, *options, f"{each}.svm") for each in ("zero", "one")]
        assert found[0].code == 0
        if name != "search":  # prints times
            assert found[0].out == found[1].out


def test_data_to_predict_is_read_as_the_training_data_was(polytomy, svmlight):
    polytomy("train", "zero.svm", "-o", "zero.polytomy")
    whole = polytomy("predict", "zero.polytomy", "zero.svm", "--proba").out.splitlines()
    part = polytomy("predict", "zero.polytomy", "some.svm", "--proba").out.splitlines()
    assert part[1:] == whole[1::2]
    typed = Path("some.svm").read_bytes()
    piped = polytomy("predict", "zero.polytomy", "-", "--proba", typed=typed)
    assert piped.out.splitlines() == part
    answer = polytomy("evaluate", "zero.polytomy", "some.svm", "--json").out
    assert json.loads(answer)["accuracy"] > 0.9
    other = polytomy("predict", "zero.polytomy", "one.svm", "--zero-based", "no", "--proba")
    assert other.out.splitlines() == whole


def test_an_index_zero_after_training_from_one_is_an_error_with_the_option(polytomy, svmlight):
    polytomy("train", "one.svm", "-o", "one.polytomy")
    outcome = polytomy("predict", "one.polytomy", "zero.svm")
    assert outcome.code == 2
    assert "If they are numbered from 0, use --zero-based yes." in outcome.err
    assert polytomy("predict", "one.polytomy", "zero.svm", "--zero-based", "yes").code == 0
    outcome = polytomy("train", "one.svm", "--zero-based", "maybe", "-o", "x.polytomy")
    assert outcome.err == 'polytomy: --zero-based must be auto, yes or no; got "maybe".\n'


def test_split_keeps_where_the_numbers_start(polytomy, svmlight):
    polytomy("split", "zero.svm")
    whole = read_data("zero.svm").X.toarray().tolist()
    for part in ("train", "test"):
        data = read_data(f"zero.{part}.svm", features=3)
        assert data.is_zero_based
        assert all(row in whole for row in data.X.toarray().tolist())
