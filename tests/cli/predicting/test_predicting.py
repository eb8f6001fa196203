"""The command predict."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from polytomy.datasets import read_data


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5.1,3.5,1.4,elm\n", "elm.csv: expected 4 features; found 3 columns besides the label.\n"),
        ("5.1,3.5,1.4,0.2,elm\n", 'label "elm" is not one of the classes setosa, versicolor, '),
        ("5.1,3.5,,0.2,setosa\n", "line 1, column 3"),
    ],
)
def test_bad_samples_are_named(polytomy, model, text, words):
    Path("elm.csv").write_text(text)
    outcome = polytomy("evaluate", model, "elm.csv")
    assert outcome.code == 2
    assert words in outcome.err


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "5,3,1,x\n", "5,3,1,0.2\n5,3,1,y\n", ""])
def test_bad_samples_leave_no_output_at_all(polytomy, model, text):
    Path("bad.csv").write_text(text)
    outcome = polytomy("predict", model, "bad.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("polytomy: bad.csv")


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
    ("line", "words"),
    [
        ("predict nothing.polytomy iris.csv", "nothing.polytomy: No such file or directory\n"),
        ("predict iris.csv iris.csv", "polytomy: iris.csv: "),
        ("predict damaged.polytomy iris.csv", "polytomy: damaged.polytomy: "),
        ("predict iris.polytomy nothing.csv", "nothing.csv: No such file or directory\n"),
        ("predict iris.polytomy few.csv", 'no column "petal_width"; the columns are sepal_length'),
        ("evaluate iris.polytomy few.csv", "few.csv: "),
        ("evaluate iris.polytomy iris.csv --target kind", 'there is no column "kind"; '),
        (
            "predict iris.polytomy iris.csv --features 7",
            "--features is only for LIBSVM models; iris.polytomy has 4 features\n",
        ),
    ],
)
def test_a_mistake_is_one_message(polytomy, model, line, words):
    Path("damaged.polytomy").write_bytes(b"PK\x03\x04nonsense")
    lines = Path("iris.csv").read_text().splitlines()
    Path("few.csv").write_text("\n".join(line.rsplit(",", 2)[0] for line in lines))
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_labels_that_a_spreadsheet_would_run_have_an_apostrophe(polytomy, here):
    lines = [f"{i % 3}.{i},{['=1+1', '-x', '+'][i % 3]}" for i in range(30)]
    Path("odd.csv").write_text("\n".join(["size,kind", *lines, ""]))
    assert polytomy("train", "odd.csv", "-o", "odd.polytomy").code == 0
    rows = rows_of(polytomy("predict", "odd.polytomy", "odd.csv", "--proba").out)
    assert rows[0] == ["prediction", "P(+)", "P(-x)", "P(=1+1)"]
    assert {row[0] for row in rows[1:]} == {"'=1+1", "'-x", "+"}
    assert all(0 <= float(cell) <= 1 for row in rows[1:] for cell in row[1:])
    polytomy("predict", "odd.polytomy", "odd.csv", "-o", "out.csv")
    assert rows_of(Path("out.csv").read_text()) == [row[:1] for row in rows]
    rows = rows_of(polytomy("predict", "odd.polytomy", "odd.csv", "--no-escape").out)
    assert {row[0] for row in rows[1:]} == {"=1+1", "-x", "+"}
    shown = json.loads(polytomy("evaluate", "odd.polytomy", "odd.csv", "--json").out)
    assert shown["confusion"]["classes"] == ["+", "-x", "=1+1"]
    polytomy("distances", "odd.csv", "-o", "distances.csv")
    rows = rows_of(Path("distances.csv").read_text())
    assert rows[0] == ["hausdorff", "+", "'-x", "'=1+1"]
    assert [row[0] for row in rows[1:]] == ["+", "'-x", "'=1+1"]


def test_negative_labels_stay_numbers(polytomy, here):
    lines = [f"{i % 2}.{i},{[-1, 1][i % 2]}" for i in range(20)]
    Path("signs.csv").write_text("\n".join(["size,kind", *lines, ""]))
    polytomy("train", "signs.csv", "-o", "signs.polytomy")
    rows = rows_of(polytomy("predict", "signs.polytomy", "signs.csv").out)
    assert {row[0] for row in rows[1:]} == {"-1", "1"}


def test_predictions_can_stop_at_nodes(polytomy, here, model):
    Path("flowers.control").write_text("flower {setosa other {versicolor virginica}}")
    command = ("train", "iris.csv", "--scheme", "flowers.control", "-o", "flowers.polytomy")
    assert polytomy(*command, "--estimator", "logistic-regression").code == 0
    X, loaded = read_data("iris.csv").X, pt.load("flowers.polytomy")
    before = loaded[:-1].transform(X) if hasattr(loaded, "steps") else X
    core = loaded[-1] if hasattr(loaded, "steps") else loaded
    for options, expected in [
        (["--max-depth", 1], core.predict_nodes(before, max_depth=1)),
        (["--min-probability", 0.9], core.predict_nodes(before, min_probability=0.9)),
    ]:
        outcome = polytomy("predict", "flowers.polytomy", "iris.csv", *options)
        found = [row[0] for row in rows_of(outcome.out)[1:]]
        assert found == expected.tolist()
        assert {"other", "setosa"} <= set(found)
    pt.save(core.with_solver("voting"), "votes.polytomy")
    outcome = polytomy("predict", "votes.polytomy", "iris.csv", "--max-depth", 1)
    words = "the model's solver gives no probabilities; leave out --max-depth"
    assert words in outcome.err


def test_the_likeliest_classes_come_with_their_probabilities(polytomy, model):
    data = read_data("iris.csv")
    proba = pt.load(model).predict_proba(data.X)
    rows = rows_of(polytomy("predict", model, "iris.csv", "--top", "2").out)
    assert rows[0] == ["prediction", "probability", "prediction_2", "probability_2"]
    order = np.argsort(-proba, axis=1, kind="stable")
    names = np.array(["setosa", "versicolor", "virginica"])
    for place in (0, 1):
        labels = [row[2 * place] for row in rows[1:]]
        np.testing.assert_array_equal(labels, names[order[:, place]])
        found = np.array([row[2 * place + 1] for row in rows[1:]], float)
        np.testing.assert_allclose(found, -np.sort(-proba, axis=1)[:, place], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--top", "4"), "--top 4 must be a whole number from 1 to 3"),
        (("--top", "0"), "--top 0 must be a whole number from 1 to 3"),
        (("--top", "2", "--proba"), "--top and --proba cannot be used together"),
    ],
)
def test_the_likeliest_classes_are_at_most_all(polytomy, model, options, words):
    outcome = polytomy("predict", model, "iris.csv", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
