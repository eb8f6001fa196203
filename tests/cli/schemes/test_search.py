"""Schemes and distances from data, on the command line."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from polytomy import designs, distances
from polytomy.datasets import read_data


@pytest.fixture
def iris(here):
    data = read_data("iris.csv")
    return StandardScaler().fit_transform(data.X), data.y


def test_distances_are_those_of_the_library_on_scaled_data(polytomy, iris):
    outcome = polytomy("distances", "iris.csv", "--json", "-o", "table.csv")
    assert (outcome.code, outcome.err) == (0, "")
    answer = json.loads(outcome.out)
    expected = distances.hausdorff(*iris)
    assert answer["classes"] == list(expected.classes)
    np.testing.assert_allclose(answer["matrix"], expected.matrix)
    with open("table.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["hausdorff", *expected.classes]
    np.testing.assert_allclose(np.array([row[1:] for row in rows[1:]], float), expected.matrix)


def test_distances_are_printed_as_a_table(polytomy, iris):
    outcome = polytomy("distances", "iris.csv", "--distance", "centroid", "--scale", "none")
    assert outcome.out.splitlines()[0].split() == ["centroid", "setosa", "versicolor", "virginica"]


def test_a_design_is_made_from_data(polytomy, iris):
    outcome = polytomy("design", "empirical-tree", "iris.csv", "--name", "flower")
    assert pt.parse(outcome.out) == designs.empirical_tree(*iris, name="flower")
    outcome = polytomy("design", "one-vs-rest", "iris.csv", "--target", "species")
    assert pt.parse(outcome.out) == designs.one_vs_rest(["setosa", "versicolor", "virginica"])


def test_a_search_prints_a_table_and_writes_the_scheme(polytomy, iris):
    line = "search iris.csv --folds 2 --estimator gaussian-nb -c decoc -c one-vs-one,voting"
    outcome = polytomy(*line.split(), "--score", "accuracy", "-o", "best.control")
    assert (outcome.code, outcome.err) == (0, "")
    assert "one-vs-one, voting" in outcome.out
    assert "*: chosen" in outcome.out
    assert set(pt.read("best.control").classes) == {"setosa", "versicolor", "virginica"}
    outcome = polytomy(*line.split(), "--score", "accuracy", "--json")
    answer = json.loads(outcome.out)
    assert answer["chosen"] in answer["results"]["candidate"]
    assert pt.parse(answer["scheme"]) == pt.read("best.control")


def test_the_written_scheme_and_the_printed_options_train_what_was_scored(polytomy, iris):
    line = "search iris.csv --folds 2 --estimator logistic-regression -c ordered,divergence"
    outcome = polytomy(
        *line.split(), "--class-order", "setosa,versicolor,virginica", "-o", "b.control"
    )
    assert (outcome.code, outcome.err) == (0, "")
    lead = "To train with the chosen parameters: "
    advice = outcome.out.splitlines()[-1]
    assert advice == f"{lead}--solver divergence"
    with open("b.control") as file:
        assert file.readline() == f"# {advice}\n"
    search = pt.SchemeSearchCV(
        LogisticRegression(), [("ordered", "divergence")], cv=2, random_state=0,
        class_order=["setosa", "versicolor", "virginica"],
    ).fit(*iris)  # fmt: skip
    options = ["--estimator", "logistic-regression", *advice.removeprefix(lead).split()]
    polytomy("train", "iris.csv", "--scheme", "b.control", *options, "-o", "m.polytomy")
    trained = pt.load("m.polytomy")
    np.testing.assert_allclose(
        trained.predict_proba(read_data("iris.csv").X), search.predict_proba(iris[0]), atol=1e-9
    )


def test_candidates_of_a_search_are_calibrated_as_asked_for(polytomy, iris):
    losses = {}
    for option, value in {"bias": "bias", "none": None}.items():
        line = "search iris.csv --folds 3 -c one-vs-rest -c tree --json --final-calibration"
        losses[option] = json.loads(polytomy(*line.split(), option).out)["results"]["mean_log_loss"]
        search = pt.SchemeSearchCV(
            candidates=["one-vs-rest", "tree"], cv=3, random_state=0, final_calibration=value
        ).fit(*iris)
        assert losses[option] == pytest.approx(search.cv_results_["mean_log_loss"], rel=1e-9)
    assert losses["bias"][0] != pytest.approx(losses["none"][0], rel=1e-3)


@pytest.mark.parametrize("command", ["distances", "search"])
def test_plots_are_files_of_the_kind_that_their_name_says(polytomy, iris, command):
    options = ["--estimator", "gaussian-nb", "-c", "tree", "--folds", "2"] * (command == "search")
    outcome = polytomy(command, "iris.csv", *options, "--plot", "picture.png")
    assert outcome.code == 0
    with open("picture.png", "rb") as file:
        assert file.read(4) == b"\x89PNG"
    outcome = polytomy(command, "iris.csv", *options, "--plot", "picture.docx")
    assert outcome.code == 2
    assert "the file name must end in one of" in outcome.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("design empirical-tree", "'empirical-tree' is made from data; pass a data file"),
        ("design tree iris.csv -n 3", "leave out --classes and --labels"),
        ("distances iris.csv --scale log", "--scale must be standard, minmax or none"),
        ("distances iris.csv --distance far", "--distance far is not one of"),
        ("distances iris.csv --target colour", "colour"),
        ("distances nothing.csv", "nothing.csv: No such file"),
        ("search iris.csv --estimator nosuch", 'Specification "nosuch"'),
        ("search iris.csv -c nosuch", "neither a file nor a design"),
        ("search iris.csv -s nosuch", '--score must be "accuracy"'),
        (
            "search iris.csv --final-calibration nosuch",
            '--final-calibration must be auto, bias, decoder or none; got "nosuch"',
        ),
    ],
)
def test_mistakes_are_explained(polytomy, here, line, words):
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.out == ""


def test_scores_of_dropped_candidates_are_differences_on_common_folds(polytomy, here):
    random = np.random.default_rng(1)
    lines = [f"{random.normal() + 2.5 * (k % 4):.4f},{k % 4}" for k in range(1200)]
    Path("steps.csv").write_text("\n".join(["x,kind", *lines, ""]))
    # The first two have the same binaries, so neither is dropped.
    # With a decoder, the third would be nearly as good.
    line = "search steps.csv --folds 4 --estimator gaussian-nb --final-calibration bias"
    line += " -c tree -c tree,divergence"
    outcome = polytomy(*line.split(), "-c", "m {n {0 2} o {1 3}}")
    answer = json.loads(polytomy(*line.split(), "-c", "m {n {0 2} o {1 3}}", "--json").out)
    results = answer["results"]
    dropped = [i for i, n_folds in enumerate(results["n_folds"]) if n_folds < 4]
    assert dropped == [2]
    rows = {row.split()[0]: row for row in outcome.out.splitlines() if " of 4 " in row}
    (row,) = rows.values()
    n_folds = results["n_folds"][2]
    assert f"{n_folds} of 4" in row
    assert f"{results['difference_log_loss'][2]:+.4g}" in row
    assert f" {results['mean_log_loss'][2]:.4g} " not in row
    assert "+ and -: difference from the first candidate on the same folds" in outcome.out


def test_a_pool_is_written_as_a_model_that_predicts_the_same(polytomy, here):
    line = "search iris.csv --folds 3 -c one-vs-one --pool 2"
    grid = ["--grid", "C=0.1,1,10"]
    outcome = polytomy(*line.split(), *grid, "-o", "pool.polytomy")
    assert (outcome.code, outcome.err) == (0, "")
    assert "pool of 2: log loss 0." in outcome.out
    assert sum(each.startswith(("*p ", "*  ")) for each in outcome.out.splitlines()) == 2
    data = read_data("iris.csv")
    X = StandardScaler().fit_transform(data.X)
    search = pt.SchemeSearchCV(
        SVC(), ["one-vs-one"], param_grid={"C": [0.1, 1, 10]}, cv=3, random_state=0, pool=2
    ).fit(X, data.y)
    loaded = pt.load("pool.polytomy")
    np.testing.assert_allclose(loaded.predict_proba(data.X), search.predict_proba(X), atol=1e-9)
    outcome = polytomy(*line.split(), *grid, "--json")
    answer = json.loads(outcome.out)
    assert answer["pool"] == [each.name for each in search.pool_]
    np.testing.assert_allclose(answer["pool_weights"], search.best_estimator_.pool_weights_)
    assert polytomy("evaluate", "pool.polytomy", "iris.csv").code == 0


def test_a_pool_that_wins_as_a_candidate_is_written_as_a_model(polytomy, here):
    line = "search iris.csv --folds 3 -c pool -o pool.polytomy"
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.err) == (0, "")
    data = read_data("iris.csv")
    X = StandardScaler().fit_transform(data.X)
    expected = pt.PolytomyClassifier(SVC(), "pool", random_state=0).fit(X, data.y)
    proba = pt.load("pool.polytomy").predict_proba(data.X)
    np.testing.assert_allclose(proba, expected.predict_proba(X), atol=1e-9)
