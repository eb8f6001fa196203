"""Sets, priors, costs and explanations on the command line."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from polytomy.cli.predicting import parse_prior, parse_reject_label, read_costs, sets_to_text
from polytomy.datasets import read_data
from polytomy.errors import ArgumentError

COSTS = [[0, 1, 1], [1, 0, 1], [9, 9, 0]]
LABELS = ["setosa", "versicolor", "virginica"]


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def parts(model):
    """Return the classifier of a saved pipeline, and the scaled samples of iris.csv."""
    pipeline = pt.load(model)
    return pipeline[-1], pipeline[:-1].transform(read_data("iris.csv").X)


def test_sets_are_columns_of_the_table(polytomy, model):
    classifier, X = parts(model)
    for options, arguments in (
        ([], {}),
        (["--set-score", "aps"], {"score": "aps"}),
        (["--per-class"], {"per_class": True}),
    ):
        outcome = polytomy("predict", model, "iris.csv", "--set", "0.8", "--set", "0.95", *options)
        rows = rows_of(outcome.out)
        assert rows[0] == ["prediction", "set 0.8", "set 0.95"]
        sets = classifier.predict_set(X, [0.8, 0.95], **arguments)
        for row, own in zip(rows[1:], sets, strict=True):
            assert row[1] == ";".join(np.array(LABELS)[own[:, 0]])
            assert row[2] == ";".join(np.array(LABELS)[own[:, 1]])


def test_a_prior_is_written_out(polytomy, model):
    prior = "versicolor=0.7, setosa=0.1, virginica=0.2"
    rows = rows_of(polytomy("predict", model, "iris.csv", "--prior", prior, "--proba").out)
    classifier, X = parts(model)
    expected = classifier.with_prior([0.1, 0.7, 0.2]).predict_proba(X)
    found = np.array([row[1:] for row in rows[1:]], float)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_prior_is_estimated_from_all_the_data(polytomy, model):
    lines = Path("iris.csv").read_text().splitlines()
    Path("few.csv").write_text("\n".join([*lines[:61], *lines[101:106], ""]))
    rows = rows_of(polytomy("predict", model, "few.csv", "--prior", "estimate", "--proba").out)
    pipeline = pt.load(model)
    X = pipeline[:-1].transform(read_data("few.csv").X)
    adapted = pipeline[-1].with_prior(pipeline[-1].estimate_prior(X))
    found = np.array([row[1:] for row in rows[1:]], float)
    np.testing.assert_allclose(found, adapted.predict_proba(X), atol=1e-9)


def test_costs_are_a_table_with_labels_in_any_order(polytomy, model):
    lines = [",virginica,setosa,versicolor", "versicolor,1,1,0", "virginica,0,9,9", "setosa,1,0,1"]
    Path("costs.csv").write_text("\n".join(lines))
    rows = rows_of(polytomy("predict", model, "iris.csv", "--cost", "costs.csv").out)
    classifier, X = parts(model)
    assert [row[0] for row in rows[1:]] == classifier.with_cost(COSTS).predict(X).tolist()


def test_no_prediction_has_a_label(polytomy, model):
    classifier, X = parts(model)
    for options, label in (([], "unknown"), (["--reject-label", "?"], "?")):
        outcome = polytomy("predict", model, "iris.csv", "--reject-cost", "0.05", *options)
        predicted = [row[0] for row in rows_of(outcome.out)[1:]]
        assert predicted == classifier.with_cost(None, 0.05, label).predict(X).tolist()
        assert label in predicted


def test_explanations_are_text(polytomy, model):
    classifier, X = parts(model)
    outcome = polytomy("predict", model, "iris.csv", "--explain")
    assert outcome.out.strip() == str(classifier.explain(X))
    assert polytomy("predict", model, "iris.csv", "--explain", "-o", "why.txt").code == 0
    assert Path("why.txt").read_text().strip() == str(classifier.explain(X))


def test_an_evaluation_has_the_coverage_of_sets(polytomy, model):
    classifier, X = parts(model)
    y = read_data("iris.csv").y
    answer = json.loads(polytomy("evaluate", model, "iris.csv", "--set", "0.9", "--json").out)
    sets = classifier.predict_set(X, 0.9)
    assert answer["coverage_of_sets_0.9"] == pt.metrics.set_coverage(y, sets, classifier.classes_)
    assert answer["mean_size_of_sets_0.9"] == pt.metrics.mean_set_size(sets)
    assert "coverage of sets 0.9" in polytomy("evaluate", model, "iris.csv", "--set", "0.9").out


def test_a_model_that_was_saved_with_costs_is_evaluated_with_them(polytomy, model):
    pipeline = pt.load(model)
    pipeline.set_params(**{pipeline.steps[-1][0]: pipeline[-1].with_cost(reject_cost=0.05)})
    pt.save(pipeline, "careful.polytomy", metadata=pt.persistence.read_info(model).metadata)
    answer = json.loads(polytomy("evaluate", "careful.polytomy", "iris.csv", "--json").out)
    assert answer["confusion"]["predicted"] == [*LABELS, "unknown"]
    predicted = pipeline.predict(read_data("iris.csv").X)
    counts = np.array(answer["confusion"]["counts"])
    assert counts[:, 3].sum() == (predicted == "unknown").sum() > 0
    assert counts.sum() == 150
    assert "unknown" in polytomy("evaluate", "careful.polytomy", "iris.csv").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "90"], "--set 90.0 is not between 0 and 1"),
        (
            ["--set", "0.9", "--set-score", "las"],
            "--set-score must be auto, lac, aps, raps or interval; got",
        ),
        (["--prior", "setosa=0.5,versicolor=0.5"], "--prior is missing 'virginica'"),
        (["--prior", "setosa=0.5,oak=0.5"], "'oak' is not a class of the model. The classes are"),
        (["--prior", "setosa"], "cannot read 'setosa'. Write labels and probabilities"),
        (["--prior", "setosa=1,setosa=0"], "'setosa' occurs twice"),
        (["--prior", "setosa=1,versicolor=1,virginica=1"], "--prior sums to 3, not to one"),
        (["--cost", "nothing.csv"], "nothing.csv: No such file"),
        (["--cost", "iris.csv"], "--cost iris.csv: the table needs a first row with the labels"),
        (["--cost", "small.csv"], "--cost small.csv: the table needs a first row with the labels"),
        (["--cost", "nan.csv"], "--cost has nan for predicting 'setosa' when 'setosa' is true"),
        (["--reject-cost", "nan"], "--reject-cost must be a finite number; got nan"),
        (["--reject-label", "?"], "--reject-label '?' has no effect without --reject-cost"),
        (["--reject-cost", "0.1", "--reject-label", "setosa"], "must not be a class"),
        (["--explain", "--proba"], "--explain prints text; leave out --proba, --set and --top"),
    ],
)
def test_wrong_options_are_one_message(polytomy, model, options, words):
    Path("small.csv").write_text("0,1\n1,0\n")
    names = "setosa,versicolor,virginica"
    Path("nan.csv").write_text(f",{names}\nsetosa,nan,1,1\nversicolor,1,0,1\nvirginica,1,1,0\n")
    outcome = polytomy("predict", model, "iris.csv", *options)
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_solver_without_probabilities_has_no_sets(polytomy, here):
    train = ("train", "iris.csv", "--solver", "voting", "-o", "v.polytomy")
    assert polytomy(*train).code == 0
    for options in (["--set", "0.9"], ["--prior", "estimate"], ["--reject-cost", "1"]):
        outcome = polytomy("predict", "v.polytomy", "iris.csv", *options)
        assert outcome.code == 2
        assert f"gives no probabilities; leave out {options[0]}" in outcome.err
    assert polytomy("predict", "v.polytomy", "iris.csv", "--explain").code == 0


def test_a_model_without_folds_says_how_to_get_sets(polytomy, here):
    train = ("train", "iris.csv", "--final-calibration", "none", "-o", "n.polytomy")
    assert polytomy(*train).code == 0
    outcome = polytomy("predict", "n.polytomy", "iris.csv", "--set", "0.9")
    assert outcome.code == 2
    assert "prediction sets need out-of-fold probabilities" in outcome.err


def test_models_of_libsvm_take_costs_but_no_prior(polytomy, flowers):
    assert polytomy("predict", "rbf.model", "wide.svm", "--reject-cost", "0.2").code == 0
    labels = pt.load("rbf.model").classes_.tolist()
    prior = ",".join(f"{label}={1 / len(labels):.6f}" for label in labels)
    outcome = polytomy("predict", "rbf.model", "flowers.svm", "--prior", prior)
    assert outcome.code == 2
    assert "the class frequencies of the training data are not known" in outcome.err


def test_labels_that_are_numbers_are_found_by_their_text(tmp_path):
    assert parse_prior("1=0.5,2=0.5", [1, 2]) == {1: 0.5, 2: 0.5}
    file = tmp_path / "c.csv"
    file.write_text("x,1,2\n2,3,0\n1,0,5\n")
    assert read_costs(file, [1, 2]) == {2: {1: 3.0, 2: 0.0}, 1: {1: 0.0, 2: 5.0}}
    assert parse_reject_label("-1", [1, 2]) == -1
    assert parse_reject_label("?", [1, 2]) == "?"
    assert parse_reject_label("-1", ["a"]) == "-1"
    file.write_text("x,1,2\n2,3\n1,0,5\n")
    with pytest.raises(ArgumentError, match="the table needs a first row"):
        read_costs(file, [1, 2])
    file.write_text("x,1,2\n2,3,a\n1,0,5\n")
    with pytest.raises(ArgumentError, match="cannot read the row '2,3,a'"):
        read_costs(file, [1, 2])


def test_sets_are_written_as_labels():
    sets = np.array([[[True], [False]], [[True], [True]], [[False], [False]]])
    assert sets_to_text(sets, [1, 2]) == [["1"], ["1;2"], [""]]
