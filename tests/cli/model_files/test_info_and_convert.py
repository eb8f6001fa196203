"""The commands info and convert."""

import csv
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from needs import needs_libsvm
from polytomy.datasets import read_data


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def test_info_describes_a_model(polytomy, model):
    answer = json.loads(polytomy("info", model, "--json").out)
    assert answer["classes"] == ["setosa", "versicolor", "virginica"]
    assert answer["features"] == 4
    assert answer["bytes"] == os.stat(model).st_size
    assert pt.parse(answer["scheme"]) == pt.designs.one_vs_one(answer["classes"])
    shown = polytomy("info", model).out
    assert "support vectors" in shown
    assert "one-vs-one-00 0 / 1;" in shown


def test_info_shows_the_final_calibration_and_its_out_of_fold_score(polytomy, model):
    classifier = pt.load(model)[-1]
    answer = json.loads(polytomy("info", model, "--json").out)
    final = classifier.composition_.final.map
    assert answer["final calibration"] == {
        "kind": "bias",
        "scale": final.scale,
        "floor": final.floor,
    }
    assert answer["out-of-fold score"] == classifier.out_of_fold_score_
    assert answer["has out-of-fold scores"] is False
    shown = polytomy("info", model).out
    assert re.search(
        rf"^final calibration +kind bias, scale {final.scale:.4g}, floor ", shown, re.M
    )
    score = f"log_loss {classifier.out_of_fold_score_['log_loss']:.4g}, brier_score "
    assert re.search(rf"^out-of-fold score +{score}", shown, re.M)


def test_converting_keeps_out_of_fold_scores(polytomy, model):
    pt.save(pt.load(model), "without.polytomy")
    pipeline = pt.load(model)
    X = read_data("iris.csv")
    pipeline.fit(X.X, X.y)
    pt.save(pipeline, "with.polytomy", out_of_fold=True)
    for name, expected in (("without.polytomy", False), ("with.polytomy", True)):
        assert polytomy("convert", name, "-o", "again.polytomy").code == 0
        assert pt.persistence.read_info("again.polytomy").has_out_of_fold == expected
    assert "floor" in (shown := polytomy("info", "again.polytomy").out)
    assert re.search(r"^has out-of-fold scores +True$", shown, re.M)


def test_libsvm_models_are_written_and_read(polytomy, here):
    table = Path("iris.csv").read_text().splitlines()
    numbers = {"setosa": "1", "versicolor": "2", "virginica": "3"}
    lines = [line.rpartition(",") for line in table[1:]]
    Path("n.csv").write_text("\n".join(f"{head},{numbers[kind]}" for head, _, kind in lines) + "\n")
    train = ["train", "n.csv", "--scale", "none", "--estimator", "-c 10 -g 0.2"]
    train += ["--solver", "libsvm"]
    assert polytomy(*train, "-o", "n.polytomy").code == 0
    outcome = polytomy("convert", "n.polytomy", "-o", "n.model")
    assert outcome.code == 0
    assert "a LIBSVM model cannot hold a final calibration" in outcome.err
    assert Path("n.model").read_text().startswith("svm_type c_svc")
    calibrated = pt.load("n.polytomy")
    calibrated.composition_ = replace(calibrated.composition_, final=None)
    pt.save(calibrated, "plain.polytomy", metadata=pt.persistence.read_info("n.polytomy").metadata)
    expected = rows_of(polytomy("predict", "plain.polytomy", "n.csv", "--proba").out)
    answers = rows_of(polytomy("predict", "n.model", "n.csv", "--proba").out)
    assert [row[0] for row in answers] == [row[0] for row in expected]
    np.testing.assert_allclose(
        np.array(answers[1:], float), np.array(expected[1:], float), atol=1e-6
    )
    assert polytomy("convert", "n.model", "-o", "again.polytomy").code == 0
    assert rows_of(polytomy("predict", "again.polytomy", "n.csv", "--proba").out) == answers


def answers(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.split()[1:]


def test_info_describes_models_of_every_kind(polytomy, flowers):
    Path("tree.control").write_text("first {7 second {-2 4}}")
    for name, kind in (
        ("rbf.model", "LIBSVM"),
        ("tree.control", "control file"),
    ):
        shown = polytomy("info", name)
        assert shown.code == 0
        assert shown.out.startswith(f"{name}: ")
        assert kind in shown.out.splitlines()[0]
        told = json.loads(polytomy("info", name, "--json").out)
        assert told["classes"] == [-2, 4, 7]
        assert told["file"] == name
        assert kind in told["kind"]


@pytest.mark.parametrize("command", ["info", "predict"])
def test_an_empty_model_file_is_an_error(polytomy, here, command):
    Path("m.model").write_text("")
    outcome = polytomy(command, "m.model", *(["iris.csv"] if command == "predict" else []))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("polytomy: m.model: the file is empty")


@needs_libsvm
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_scaled_model_is_converted_with_its_scaling(finish, polytomy, flowers, scale):
    train = ["train", "flowers.csv", "--estimator", "svc gamma=0.3", "--scale", scale]
    data = read_data("flowers.svm")
    rows = [",".join(map(str, [*row, y])) for row, y in zip(data.X.toarray(), data.y, strict=True)]
    Path("flowers.csv").write_text("\n".join(["a,b,c,d,kind", *rows]) + "\n")
    assert polytomy(*train, "-o", "m.polytomy").code == 0
    outcome = polytomy("convert", "m.polytomy", "-o", "m.model")
    assert outcome.code == 2
    assert "--range" in outcome.err
    assert not Path("m.model").exists()
    outcome = polytomy("convert", "m.polytomy", "-o", "m.model", "--range", "m.range", "--json")
    files = json.loads(outcome.out)
    assert [each["file"] for each in files] == ["m.model", "m.range"]
    assert [each["bytes"] for each in files] == [
        Path(name).stat().st_size for name in ("m.model", "m.range")
    ]
    line = "svm-scale -r m.range flowers.svm > s.svm && svm-predict -b 1 s.svm m.model theirs"
    assert finish(shell=line).code == 0
    theirs = [line.split()[0] for line in Path("theirs").read_text().splitlines()[1:]]
    assert answers(polytomy("predict", "m.polytomy", "flowers.csv")) == theirs


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("info land.control", "land.control"),
        ("info iris.csv", "iris.csv: "),
        (
            "convert land.control -o m.onnx",
            "m.onnx: the name must end in .polytomy, or in .model for LIBSVM\n",
        ),
        (
            "convert land.control -o m.polytomy --range r",
            "--range is only for LIBSVM models; use an output file that ends in .model\n",
        ),
        ("convert iris.csv -o no/m.model", "/no does not exist\n"),
    ],
)
def test_a_mistake_is_one_message(polytomy, here, line, words):
    before = sorted(os.listdir())
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert sorted(os.listdir()) == before
