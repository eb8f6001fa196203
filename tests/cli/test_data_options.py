"""What commands read: pipes, headers, labels that are no classes."""

import json
from pathlib import Path

import numpy as np
import pytest

from polytomy.datasets import read_data


@pytest.fixture
def model(polytomy, here):
    assert polytomy("train", "iris.csv", "--estimator", "svc C=10", "-o", "iris.polytomy").code == 0
    return "iris.polytomy"


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
    words = "polytomy: standard input has no name; give --train-file and --test-file\n"
    assert outcome == (2, "", words)


def test_pipes_are_streamed(finish, model):
    expected = finish("predict", model, "iris.csv").out
    line = f"gzip -c iris.csv > p.csv.gz; cat p.csv.gz | polytomy predict {model} /dev/stdin"
    assert finish(shell=line) == (0, expected, "")
    line = f"mkfifo ff; cat iris.csv > ff & polytomy predict {model} ff"
    assert finish(shell=line) == (0, expected, "")


def test_a_pipe_that_ends_at_once_or_is_closed(polytomy, finish, model):
    outcome = polytomy("predict", model, "-", typed=b"")
    assert outcome == (2, "", "polytomy: <standard input>: the file is empty\n")
    outcome = finish(shell=f"polytomy predict {model} - <&-")
    assert outcome == (2, "", "polytomy: <standard input>: Bad file descriptor\n")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "5,3,1,x\n", "5,3,1,0.2\n5,3,1,y\n", ""])
def test_bad_samples_leave_no_output_at_all(polytomy, model, text):
    Path("bad.csv").write_text(text)
    outcome = polytomy("predict", model, "bad.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("polytomy: bad.csv")


def test_a_header_of_numbers(polytomy, here):
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
    words = "polytomy: counted.csv, line 1: 1, 2, 3 … may name the columns, or be a sample. Say "
    assert outcome == (2, "", f"{words}--header or --no-header\n")


def test_labels_that_are_no_classes_are_told_with_their_column(polytomy, here):
    outcome = polytomy("train", "iris.csv", "--target", "sepal_width", "-o", "m.polytomy")
    outcome_one_hot = polytomy(
        "train", "iris.csv", "--target", "sepal_width", "--one-hot", "-o", "m.polytomy"
    )
    assert "line 2, column 5" in outcome.err  # the species is text, and no label
    words = 'iris.csv, column "sepal_width": labels such as 3.5 are no classes, which are words'
    assert words in outcome_one_hot.err
    assert "Name the column of the class with --target." in outcome_one_hot.err
    Path("bare.csv").write_text("1,2,0.5\n3,4,1\n")
    assert "bare.csv, column -1: labels such as 0.5" in polytomy("distances", "bare.csv").err


def test_a_single_class_is_warned_of(polytomy, here):
    Path("one.csv").write_text("a,kind\n1,oak\n2,oak\n3,oak\n")
    outcome = polytomy("train", "one.csv", "-o", "one.polytomy")
    assert outcome.code == 0
    words = "one.csv: all samples are of class oak; the model will answer nothing else"
    assert outcome.err == f"polytomy: warning: {words}\n"
    assert polytomy("predict", "one.polytomy", "one.csv").out.split() == [
        "prediction",
        *["oak"] * 3,
    ]


def test_probabilities_and_predictions_agree(polytomy, here):
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 2)).round(1)
    lines = [f"{a},{b},{label}" for (a, b), label in zip(rows, np.arange(60) % 4, strict=True)]
    Path("noise.csv").write_text("\n".join(["a,b,kind", *lines]) + "\n")
    for scheme in ("one-vs-one", "one-vs-rest", "tree"):
        polytomy("train", "noise.csv", "--scheme", scheme, "-o", "n.polytomy")
        plain = polytomy("predict", "n.polytomy", "noise.csv").out.splitlines()
        shown = polytomy("predict", "n.polytomy", "noise.csv", "--proba").out.splitlines()
        assert plain == [line.partition(",")[0] for line in shown]
        answers = np.array([line.split(",") for line in shown[1:]], float)
        np.testing.assert_array_equal(answers[:, 0], answers[:, 1:].argmax(axis=1))


@pytest.mark.parametrize(
    "line",
    [
        "predict iris.polytomy iris.csv -o iris.csv",
        "predict iris.polytomy iris.csv -o iris.polytomy",
        "distances iris.csv -o iris.csv",
        "search iris.csv -o iris.csv",
        "design tree iris.csv -o iris.csv",
    ],
)
def test_nothing_is_written_over_what_is_read(polytomy, model, line):
    before = Path("iris.csv").read_bytes(), Path(model).read_bytes()
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert "would be written over what is read; give another file" in outcome.err
    assert (Path("iris.csv").read_bytes(), Path(model).read_bytes()) == before


def test_a_forest_is_warned_of_and_loads_with_the_option_named(polytomy, here):
    pytest.importorskip("skops")
    estimator = "random-forest n_estimators=3"
    outcome = polytomy("train", "iris.csv", "--estimator", estimator, "-o", "f.polytomy")
    assert outcome.code == 0
    option = "--trust sklearn.tree._tree.Tree"
    words = "RandomForestClassifier can be loaded only by those who trust its types; they say"
    assert outcome.err == f"polytomy: warning: {words} {option}\n"
    refused = polytomy("predict", "f.polytomy", "iris.csv")
    assert (refused.code, refused.out) == (2, "")
    assert f"If you know that they are harmless, say {option}." in refused.err
    accepted = polytomy("predict", "f.polytomy", "iris.csv", *option.split())
    assert accepted.code == 0


def test_neighbours_that_are_not_there_are_told_in_training(polytomy, here):
    estimator = "k-neighbors n_neighbors=101"
    outcome = polytomy("train", "iris.csv", "--estimator", estimator, "-o", "k.polytomy")
    assert outcome.code == 2
    assert (
        'Partition "one-vs-one-00" has 100 samples, fewer than the n_neighbors=101' in outcome.err
    )
    assert "Use n_neighbors=100 or fewer." in outcome.err
    assert not Path("k.polytomy").exists()


def test_a_warning_of_many_binaries_is_shown_once(polytomy, here):
    estimator = "mlp hidden_layer_sizes=2 max_iter=1"
    outcome = polytomy("train", "iris.csv", "--estimator", estimator, "-o", "m.polytomy")
    assert outcome.code == 0
    assert outcome.err.count("Maximum iterations (1) reached") == 1


def test_parts_of_a_split_are_those_of_the_trials(polytomy, here):
    from polytomy.trials.protocol import split_classes

    polytomy("split", "iris.csv", "--test", "0.25", "--seed", "3")
    data = read_data("iris.csv")
    codes = np.unique(data.y, return_inverse=True)[1]
    is_test = split_classes(codes, 0.25, np.random.default_rng(3))
    np.testing.assert_array_equal(read_data("iris.test.csv").X, data.X[is_test])


def test_parts_whose_names_tell_no_format_are_written_like_the_data(polytomy, here):
    Path("heart").write_text("1 1:1 3:2\n2 2:1\n" * 4)
    assert polytomy("split", "heart", "--test", "0.5").code == 0
    assert read_data("heart.train").X.shape == (4, 3)
    files = ["--train-file", "a", "--test-file", "b"]
    assert polytomy("split", "iris.csv", *files).code == 0
    assert read_data("a").columns == read_data("iris.csv").columns


def test_dense_models_take_sparse_data_and_the_reverse(polytomy, here):
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(40, 3)) + np.repeat([[0], [3]], 20, axis=0)
    y = np.repeat([1, 2], 20)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
    Path("d.csv").write_text("\n".join(["a,b,c,kind", *rows]) + "\n")
    lines = [
        f"{label} " + " ".join(f"{k}:{value}" for k, value in enumerate(row, 1) if value)
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    Path("d.svm").write_text("\n".join(lines) + "\n")
    for trained in ("d.csv", "d.svm"):
        assert polytomy("train", trained, "-o", "m.polytomy").code == 0
        outcomes = [polytomy("predict", "m.polytomy", file) for file in ("d.csv", "d.svm")]
        assert outcomes[0] == outcomes[1]
        assert outcomes[0].code == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("predict iris.csv iris.csv", "iris.csv: by its name this is data, not a model"),
        ("info iris.csv", "iris.csv: by its name this is data, not a model"),
        ("predict iris.polytomy iris.csv --features 7", "--features 7 is for models of LIBSVM; "),
        ("train iris.csv -o m.polytomy --calibration magic", "use one of auto, sigmoid, isotonic"),
        ("train iris.csv -o m.polytomy --class-weight x", "use one of balanced, balanced-per-part"),
        ("train iris.csv -o m.polytomy --estimator x", "x is no classifier of scikit-learn.\n"),
    ],
)
def test_mistakes_of_a_new_user(polytomy, model, line, words):
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
