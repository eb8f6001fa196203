"""evaluate: scores of a model on labelled data."""

import json
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from polytomy.cli.loaded_models import LoadedModel
from polytomy.datasets import read_data

PROMISE = "expected from training:"


def test_an_evaluation_has_the_scores_of_the_library(polytomy, model):
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


def test_an_evaluation_has_the_scores_that_training_expected(polytomy, model, monkeypatch):
    expected = getattr(pt.load(model)[-1], "out_of_fold_score_", None)
    answer = json.loads(polytomy("evaluate", model, "iris.csv", "--json").out)
    assert answer["out_of_fold_score"] == expected
    made_up = {"log_loss": 0.125, "accuracy": 0.75}
    monkeypatch.setattr(LoadedModel, "expected_score", made_up)
    answer = json.loads(polytomy("evaluate", model, "iris.csv", "--json").out)
    assert answer["out_of_fold_score"] == made_up
    lines = polytomy("evaluate", model, "iris.csv").out.splitlines()
    (accuracy,) = [line for line in lines if line.startswith("accuracy")]
    assert accuracy.split() == f"accuracy {answer['accuracy']:.4f} {PROMISE} 0.7500".split()
    (loss,) = [line for line in lines if line.startswith("log loss")]
    assert loss.split() == f"log loss {answer['log_loss']:.4f} {PROMISE} 0.1250".split()
    assert sum(PROMISE in line for line in lines) == 2
    monkeypatch.setattr(LoadedModel, "expected_score", None)
    assert PROMISE not in polytomy("evaluate", model, "iris.csv").out


@pytest.fixture
def levels(here):
    """Write ordered classes into levels.csv."""
    random = np.random.default_rng(0)
    order = ["low", "medium", "high", "top"]
    lines = [f"{random.normal() + k % 4:.6f},{order[k % 4]}" for k in range(80)]
    Path("levels.csv").write_text("\n".join(["size,level", *lines, ""]))
    return order


def test_ordered_classes_have_their_own_scores(polytomy, levels):
    polytomy("train", "levels.csv", "-o", "m.polytomy")
    assert "rank" not in polytomy("evaluate", "m.polytomy", "levels.csv").out
    command = ("evaluate", "m.polytomy", "levels.csv", "--class-order", ",".join(levels))
    answer = json.loads(polytomy(*command, "--json").out)
    loaded, data = pt.load("m.polytomy"), read_data("levels.csv")
    ranks = np.array([levels.index(label) for label in data.y])
    predicted = np.array([levels.index(label) for label in loaded.predict(data.X)])
    assert answer["mean_absolute_rank_error"] == pytest.approx(np.abs(ranks - predicted).mean())
    columns = [loaded.classes_.tolist().index(label) for label in levels]
    cumulative = np.cumsum(loaded.predict_proba(data.X)[:, columns], axis=1)
    errors = cumulative - (ranks[:, np.newaxis] <= np.arange(4))
    score = np.mean(np.sum(errors**2, axis=1))
    assert answer["ranked_probability_score"] == pytest.approx(score)
    shown = polytomy(*command).out
    assert f"ranked probability score      {score:10.4f}\n" in shown


def test_the_order_of_the_training_is_that_of_the_evaluation(polytomy, levels):
    order = ("--class-order", ",".join(levels))
    polytomy("train", "levels.csv", "--scheme", "chain", *order, "-o", "m.polytomy")
    outcome = polytomy("evaluate", "m.polytomy", "levels.csv")
    assert "ranked probability score" in outcome.out
    assert outcome.out == polytomy("evaluate", "m.polytomy", "levels.csv", *order).out
    backward = ("--class-order", "top,low,medium,high")
    assert outcome.out != polytomy("evaluate", "m.polytomy", "levels.csv", *backward).out


def test_ordered_numbers_are_in_order_and_text_is_a_warning(polytomy, levels):
    text = Path("levels.csv").read_text()
    for number, label in enumerate(levels):
        text = text.replace(f",{label}\n", f",{10 - number}\n")
    Path("numbers.csv").write_text(text)
    polytomy("train", "numbers.csv", "-o", "n.polytomy")
    outcome = polytomy("evaluate", "n.polytomy", "numbers.csv", "--ordered")
    assert (outcome.code, outcome.err) == (0, "")
    order = ("--class-order", "7,8,9,10")
    assert outcome.out == polytomy("evaluate", "n.polytomy", "numbers.csv", *order).out
    assert "mean absolute rank error" in outcome.out
    polytomy("train", "levels.csv", "-o", "m.polytomy")
    outcome = polytomy("evaluate", "m.polytomy", "levels.csv", "--ordered")
    assert "mean absolute rank error" in outcome.out
    assert outcome.err == (
        'polytomy: warning: "--ordered" needs the classes in order, and text labels have only '
        "their alphabetical order: high, low, medium, top. Set --class-order to all labels, from "
        "first to last.\n"
    )
    outcome = polytomy("evaluate", "m.polytomy", "levels.csv", "--class-order", "low,medium,high")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--class-order does not have 'top'. List each label of the data" in outcome.err


def test_votes_are_evaluated_without_probabilities(polytomy, here):
    polytomy("train", "iris.csv", "--solver", "voting", "-o", "votes.polytomy")
    answer = json.loads(polytomy("evaluate", "votes.polytomy", "iris.csv", "--json").out)
    assert "log_loss" not in answer
    assert answer["accuracy"] > 0.9
    order = ("--class-order", "virginica,setosa,versicolor")
    shown = polytomy("evaluate", "votes.polytomy", "iris.csv", *order).out
    assert "mean absolute rank error" in shown
    assert "ranked probability score" not in shown
    outcome = polytomy("predict", "votes.polytomy", "iris.csv", "--proba", "-o", "out.csv")
    assert outcome.code == 2
    assert outcome.err.endswith("the model's solver gives no probabilities; leave out --proba\n")
    assert not Path("out.csv").exists()


def test_predictions_are_judged_by_a_hierarchy(polytomy, here, model):
    (here / "iris.control").write_text("iris {setosa other {versicolor virginica}}\n")
    command = ("evaluate", model, "iris.csv", "--hierarchy", "iris.control")
    answer = json.loads(polytomy(*command, "--json").out)
    counts = np.array(answer["confusion"]["counts"])
    # Between versicolor and virginica the node is right; setosa has no node of its own.
    common = counts[0, 0] + 2 * counts[1, 1] + 2 * counts[2, 2] + counts[1, 2] + counts[2, 1]
    sizes = np.array([1, 2, 2])
    assert answer["hierarchical_recall"] == pytest.approx(common / (counts.sum(axis=1) @ sizes))
    assert answer["hierarchical_precision"] == pytest.approx(common / (counts.sum(axis=0) @ sizes))
    assert "hierarchical f score" in polytomy(*command).out
    (here / "elm.control").write_text("m {setosa elm}\n")
    outcome = polytomy("evaluate", model, "iris.csv", "--hierarchy", "elm.control")
    assert outcome.code != 0
    assert "the scheme does not name classes 'versicolor', 'virginica'" in outcome.err


def test_a_report_is_that_of_the_library(polytomy, model, here):
    outcome = polytomy("evaluate", model, "iris.csv", "--report", "page.html", "--json")
    assert json.loads(outcome.out)["samples"] == 150
    data = read_data("iris.csv")
    report = pt.ModelReport(pt.load(model), data.X, data.y, feature_names=data.feature_names)
    assert Path("page.html").read_text(encoding="utf-8") == report.html
    assert f"{data.feature_names[0]} = " in report.html


def test_a_report_of_a_regressor_is_written(polytomy, here):
    data = ["iris.csv", "--target", "petal_width"]
    polytomy("train", *data, "--one-hot", "--regress", "--bins", "4", "-o", "r.polytomy")
    outcome = polytomy("evaluate", "r.polytomy", *data, "--report", "page.html")
    assert "rmse" in outcome.out
    assert "PolytomyRegressor on 150 samples" in Path("page.html").read_text(encoding="utf-8")


def test_a_report_is_an_html_file(polytomy, model, here):
    words = "polytomy: page.pdf must end with one of .html, .htm\n"
    assert polytomy("evaluate", model, "iris.csv", "--report", "page.pdf") == (2, "", words)


def test_a_report_does_not_overwrite_the_data(polytomy, model, here):
    Path("iris.csv").rename("iris.html")
    outcome = polytomy("evaluate", model, "iris.html", "--report", "iris.html")
    assert outcome.code == 2
    assert "iris.html is also an input file" in outcome.err
