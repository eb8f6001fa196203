"""Data as commands read it."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from polytomy.cli.data_options import (
    SCALES,
    check_choice,
    join_choices,
    make_scaler,
    parse_column,
    to_json,
)
from polytomy.datasets import FORMATS, read_data
from polytomy.errors import ArgumentError


def test_every_command_reads_standard_input(polytomy, model):
    content = Path("iris.csv").read_bytes()
    for line in ("predict iris.polytomy", "evaluate iris.polytomy", "distances", "design tree"):
        name, *options = line.split()
        expected = polytomy(name, *options, "iris.csv")
        assert expected.code == 0
        assert polytomy(name, *options, "-", typed=content) == expected
    assert polytomy("train", "-", "-o", "again.polytomy", typed=content).code == 0
    files = ["--train-file", "a.csv", "--test-file", "b.csv"]
    assert polytomy("split", "-", *files, typed=content).code == 0
    assert read_data("a.csv").n_samples + read_data("b.csv").n_samples == 150
    outcome = polytomy("split", "-", typed=content)
    assert outcome.code == 2
    assert outcome.err.startswith("polytomy: standard input has no name; use --output PREFIX")


def test_pipes_and_gzipped_pipes_are_read(finish, model):
    expected = finish("predict", model, "iris.csv").out
    line = f"gzip -c iris.csv > p.csv.gz; cat p.csv.gz | polytomy predict {model} /dev/stdin"
    assert finish(shell=line) == (0, expected, "")
    line = f"mkfifo ff; cat iris.csv > ff & polytomy predict {model} ff"
    assert finish(shell=line) == (0, expected, "")


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
        "nor an integer. Set --target to the label column.\n"
    )
    Path("bare.csv").write_text("1,2,0.5\n3,4,1\n")
    assert (
        "bare.csv, column -1: labels must be classes; 0.5 is"
        in polytomy("distances", "bare.csv").err
    )


def test_the_help_lists_every_format(polytomy):
    words = polytomy("train", "--help").out.replace("│", "").split()
    assert set(FORMATS) <= {word.strip(",;") for word in words}


@pytest.mark.parametrize("scale", SCALES)
def test_scaling_keeps_sparse_data_sparse(scale):
    X = np.array([[0.0, 1], [2, 0], [4, 3]])
    scaler = make_scaler(scale, csr_array(X))
    if scale == "none":
        assert scaler is None
    else:
        assert scaler.fit_transform(csr_array(X)).nnz == 4


def test_a_column_is_a_position_if_it_is_an_integer():
    assert [parse_column(text) for text in ("-1", "07", "kind", "1.5")] == [-1, 7, "kind", "1.5"]


def test_json_has_null_for_numbers_that_are_not_finite():
    value = {"a": np.array([1.0, np.nan]), 2: (np.inf, "é")}
    assert json.loads(to_json(value)) == {"a": [1.0, None], "2": [None, "é"]}


def test_choices_are_joined_and_checked():
    assert join_choices(["a", "b", "c"]) == "a, b or c"
    with pytest.raises(ArgumentError, match=r'^--letter must be a, b or c; got "d"$'):
        check_choice("--letter", "d", ["a", "b", "c"])
