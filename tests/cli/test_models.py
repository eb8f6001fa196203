"""From data to predictions on the command line."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from polytomy.datasets import read_data


@pytest.fixture
def model(polytomy, here):
    outcome = polytomy("train", "iris.csv", "--estimator", "svc C=10", "-o", "iris.polytomy")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("iris.polytomy: 3 classes, 3 binaries, trained on 150 samples")
    return "iris.polytomy"


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def test_predictions_are_those_of_the_saved_model(polytomy, model):
    data = read_data("iris.csv")
    loaded = pt.load(model)
    outcome = polytomy("predict", model, "iris.csv", "--proba")
    rows = rows_of(outcome.out)
    assert rows[0] == ["prediction", "P(setosa)", "P(versicolor)", "P(virginica)"]
    np.testing.assert_array_equal([row[0] for row in rows[1:]], loaded.predict(data.X))
    np.testing.assert_allclose(
        np.array([row[1:] for row in rows[1:]], float), loaded.predict_proba(data.X), atol=1e-12
    )


def test_the_class_may_be_left_out_of_what_is_predicted(polytomy, model):
    lines = Path("iris.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    Path("bare.csv").write_text("\n".join(lines[1:]) + "\n")
    turned = [",".join(reversed(line.split(","))) for line in lines]
    Path("turned.csv").write_text("\n".join(turned) + "\n")
    expected = polytomy("predict", model, "iris.csv").out
    for file in ("new.csv", "bare.csv", "turned.csv"):
        outcome = polytomy("predict", model, file, "-o", "out.csv")
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
        assert Path("out.csv").read_text() == expected


def test_a_model_is_measured(polytomy, model):
    data = read_data("iris.csv")
    loaded = pt.load(model)
    outcome = polytomy("evaluate", model, "iris.csv", "--json")
    answer = json.loads(outcome.out)
    P = loaded.predict_proba(data.X)
    assert answer["samples"] == 150
    assert answer["accuracy"] == pytest.approx(loaded.score(data.X, data.y))
    assert answer["log_loss"] == pytest.approx(pt.metrics.log_loss(data.y, P, loaded.classes_))
    assert answer["brier_score"] == pytest.approx(
        pt.metrics.brier_score(data.y, P, loaded.classes_)
    )
    counts = np.array(answer["confusion"]["counts"])
    assert counts.sum() == 150
    assert np.trace(counts) == round(150 * answer["accuracy"])
    shown = polytomy("evaluate", model, "iris.csv").out
    assert "uncertainty coefficient" in shown
    assert "true \\ predicted" in shown


def test_votes_are_measured_without_probabilities(polytomy, here):
    polytomy("train", "iris.csv", "--solver", "voting", "-o", "votes.polytomy")
    answer = json.loads(polytomy("evaluate", "votes.polytomy", "iris.csv", "--json").out)
    assert "log_loss" not in answer
    assert answer["accuracy"] > 0.9
    outcome = polytomy("predict", "votes.polytomy", "iris.csv", "--proba", "-o", "out.csv")
    assert outcome.code == 2
    assert "gives no probabilities" in outcome.err
    assert not Path("out.csv").exists()


def test_a_model_tells_what_it_is(polytomy, model):
    answer = json.loads(polytomy("info", model, "--json").out)
    assert answer["classes"] == ["setosa", "versicolor", "virginica"]
    assert answer["features"] == 4
    assert answer["bytes"] == os.stat(model).st_size
    assert pt.parse(answer["scheme"]) == pt.designs.one_vs_one(answer["classes"])
    shown = polytomy("info", model).out
    assert "support vectors" in shown
    assert "one-vs-one-00 0 / 1;" in shown


def test_parts_have_each_class_in_proportion(polytomy, here):
    outcome = polytomy("split", "iris.csv", "--test", "0.2", "--seed", "1")
    assert outcome.out == "iris.train.csv: 120 samples\niris.test.csv: 30 samples\n"
    parts = [read_data(f"iris.{part}.csv", target=-1) for part in ("train", "test")]
    for part, count in zip(parts, (40, 10), strict=True):
        assert np.unique(part.y, return_counts=True)[1].tolist() == [count] * 3
    rows = np.concatenate([part.X for part in parts])
    whole = read_data("iris.csv").X
    assert sorted(map(tuple, rows)) == sorted(map(tuple, whole))


def test_schemes_estimators_and_text_columns(polytomy, here):
    Path("plants.csv").write_text(
        "kind,height,colour\n" + "oak,9,green\ncorn,2,yellow\nwheat,1,yellow\npine,8,dark\n" * 8
    )
    scheme = 'FieldVsForest {"logistic-regression" {corn wheat} PineVsOak {pine oak}}'
    line = ["train", "plants.csv", "--target", "kind", "--one-hot", "--scheme", scheme]
    outcome = polytomy(*line, "-o", "plants.polytomy", "--json")
    assert json.loads(outcome.out)["features"] == 4
    Path("one.csv").write_text("height,colour\n9,green\n1.1,yellow\n")
    assert polytomy("predict", "plants.polytomy", "one.csv").out.split() == [
        "prediction",
        "oak",
        "wheat",
    ]
    Path("odd.csv").write_text("height,colour\n9,blue\n")
    outcome = polytomy("predict", "plants.polytomy", "odd.csv")
    assert outcome.code == 2
    assert "blue" in outcome.err


def test_models_of_libsvm_go_in_and_out(polytomy, here):
    table = Path("iris.csv").read_text().splitlines()
    numbers = {"setosa": "1", "versicolor": "2", "virginica": "3"}
    lines = [line.rpartition(",") for line in table[1:]]
    Path("n.csv").write_text("\n".join(f"{head},{numbers[kind]}" for head, _, kind in lines) + "\n")
    train = ["train", "n.csv", "--scale", "none", "--estimator", "-c 10 -g 0.2"]
    train += ["--solver", "libsvm"]
    assert polytomy(*train, "-o", "n.polytomy").code == 0
    assert polytomy("convert", "n.polytomy", "-o", "n.model").code == 0
    assert Path("n.model").read_text().startswith("svm_type c_svc")
    expected = rows_of(polytomy("predict", "n.polytomy", "n.csv", "--proba").out)
    answers = rows_of(polytomy("predict", "n.model", "n.csv", "--proba").out)
    assert [row[0] for row in answers] == [row[0] for row in expected]
    np.testing.assert_allclose(
        np.array(answers[1:], float), np.array(expected[1:], float), atol=1e-6
    )
    assert polytomy("convert", "n.model", "-o", "again.polytomy").code == 0
    assert rows_of(polytomy("predict", "again.polytomy", "n.csv", "--proba").out) == answers


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train iris.csv -o nowhere/m.polytomy", "the folder"),
        ("train iris.csv -o .", "is a folder"),
        ("train iris.csv --scheme nosuch -o m.polytomy", "neither a file nor a design"),
        ("train iris.csv --solver nosuch -o m.polytomy", "nosuch"),
        ("train iris.csv --calibration nosuch -o m.polytomy", "nosuch"),
        ("train iris.csv --scale nosuch -o m.polytomy", "--scale nosuch is not known"),
        ("train ragged.csv -o m.polytomy", "ragged.csv, line 3"),
        ("train empty.csv -o m.polytomy", "empty.csv"),
        ("train word.csv -o m.polytomy", "word.csv, line 3"),
        ("predict nothing.polytomy iris.csv", "nothing.polytomy: No such file"),
        ("predict iris.csv iris.csv", "iris.csv"),
        ("predict damaged.polytomy iris.csv", "damaged.polytomy"),
        ("info land.control", "land.control"),
        ("split iris.csv --test 1.5", "--test 1.5 is no part of a class"),
        ("convert land.control -o m.onnx", "must end in .polytomy"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(polytomy, here, line, words):
    Path("ragged.csv").write_text("a,b,kind\n1,2,x\n1,x\n")
    Path("empty.csv").write_text("")
    Path("word.csv").write_text("a,b,kind\n1,2,x\n1,two,y\n")
    Path("damaged.polytomy").write_bytes(b"PK\x03\x04nonsense")
    before = sorted(os.listdir())
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.err.startswith("polytomy: ")
    assert outcome.out == ""
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5.1,3.5,1.4,elm\n", "elm.csv"),
        ("5.1,3.5,1.4,0.2,elm\n", "elm"),
        ("5.1,3.5,,0.2,setosa\n", "line 1, column 3"),
    ],
)
def test_bad_samples_are_named_at_evaluation(polytomy, model, text, words):
    Path("elm.csv").write_text(text)
    outcome = polytomy("evaluate", model, "elm.csv")
    assert outcome.code == 2
    assert words in outcome.err


def test_sparse_data_of_libsvm_is_trained_on(polytomy, here):
    lines = Path("iris.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines]
    kinds = {"setosa": 1, "versicolor": 2, "virginica": 3}
    text = "\n".join(
        f"{kinds[row[-1]]} " + " ".join(f"{k}:{value}" for k, value in enumerate(row[:-1], 1))
        for row in rows
    )
    Path("iris.svm").write_text(text + "\n")
    outcome = polytomy("train", "iris.svm", "-o", "sparse.polytomy")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(polytomy("evaluate", "sparse.polytomy", "iris.svm", "--json").out)[
        "accuracy"
    ] == pytest.approx(0.97, abs=0.03)


@pytest.mark.parametrize(
    "line",
    [
        "train iris.csv -o iris.csv",
        "split iris.csv --train-file iris.csv",
        "split iris.csv --train-file part.csv --test-file part.csv",
    ],
)
def test_nothing_is_written_over_what_is_read(polytomy, here, line):
    before = Path("iris.csv").read_bytes()
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert "file" in outcome.err
    assert Path("iris.csv").read_bytes() == before
    assert not Path("part.csv").exists()


def test_the_parts_of_a_split_keep_the_name_of_the_class(polytomy, here):
    Path("first.csv").write_text("kind,a,b\n" + "x,1,2\ny,3,4\n" * 5)
    assert polytomy("split", "first.csv", "--target", "0").code == 0
    assert Path("first.train.csv").read_text().splitlines()[0] == "a,b,kind"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--jobs 0", "0 jobs do no work"),
        ("--seed 99999999999", "Invalid value for '--seed'"),
        ("--folds 1", "Invalid value for '--folds'"),
        ("--features 0", "Invalid value for '--features'"),
    ],
)
def test_numbers_out_of_range_are_told(polytomy, here, options, words):
    outcome = polytomy("train", "iris.csv", "-o", "m.polytomy", *options.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert not Path("m.polytomy").exists()


def test_columns_of_text_without_a_header(polytomy, here):
    Path("bare.csv").write_text("red,0.5,1\nblue,2.5,2\n" * 8)
    assert polytomy("train", "bare.csv", "--one-hot", "-o", "bare.polytomy").code == 0
    outcome = polytomy("predict", "bare.polytomy", "bare.csv")
    assert outcome.out.split() == ["prediction", *["1", "2"] * 8]
