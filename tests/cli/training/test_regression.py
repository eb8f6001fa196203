"""Regression on the command line: train --regress, predict, evaluate, info, convert."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from polytomy.datasets import read_data


@pytest.fixture
def rain(here):
    """Write rain.csv, whose last column is a number, and return its samples and targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).round(4)
    y = np.maximum(X[:, 0] + 0.3 * rng.normal(size=120), 0).round(4)
    lines = [",".join(map(str, [*row, value])) for row, value in zip(X, y, strict=True)]
    Path("rain.csv").write_text("\n".join(["wind,cloud,rain", *lines, ""]))
    return X, y


@pytest.fixture
def regressor(polytomy, rain):
    """Train a regressor on rain.csv; return the name of its file."""
    outcome = polytomy("train", "rain.csv", "--regress", "-o", "rain.polytomy")
    assert outcome.code == 0, outcome.err
    return "rain.polytomy"


def rows_of(text):
    head, *rows = csv.reader(text.splitlines())
    return head, np.array(rows, dtype=float)


def test_training_says_what_to_expect(polytomy, rain):
    outcome = polytomy("train", "rain.csv", "--regress", "--bins", "6", "-o", "m.polytomy")
    first, second = outcome.out.splitlines()
    loaded = pt.load("m.polytomy")[-1]
    assert f"{loaded.n_bins_} bins, {loaded.n_bins_ - 1} binaries, trained on 120 samples" in first
    assert loaded.n_bins == 6
    assert loaded.scheme == "ordered"
    assert f"CRPS {loaded.out_of_fold_score_['crps']:.5g}, RMSE" in second
    answer = polytomy("train", "rain.csv", "--regress", "-o", "m.polytomy", "--json")
    summary = json.loads(answer.out)
    assert summary["bins"] == pt.load("m.polytomy")[-1].n_bins_
    assert set(summary["out_of_fold_score"]) == {"crps", "rmse", "mae"}


def test_predictions_are_those_of_the_saved_model(polytomy, regressor, rain):
    X, _ = rain
    loaded = pt.load(regressor)
    scaled = loaded[:-1].transform(X)
    head, rows = rows_of(polytomy("predict", regressor, "rain.csv").out)
    assert head == ["prediction"]
    np.testing.assert_allclose(rows[:, 0], loaded.predict(X))
    options = ["--quantiles", "0.1,0.5,0.9", "--interval", "0.8", "--median"]
    head, rows = rows_of(polytomy("predict", regressor, "rain.csv", *options).out)
    quantiles = ["quantile(0.1)", "quantile(0.5)", "quantile(0.9)"]
    assert head == ["prediction", *quantiles, "lower(0.8)", "upper(0.8)"]
    last = loaded[-1]
    np.testing.assert_allclose(rows[:, 0], last.predict(scaled, "median"))
    np.testing.assert_allclose(rows[:, 1:4], last.predict_quantiles(scaled, [0.1, 0.5, 0.9]))
    np.testing.assert_allclose(rows[:, 4:], last.predict_interval(scaled, 0.8))


def test_an_evaluation_has_the_scores_of_the_library(polytomy, regressor, rain):
    X, y = rain
    loaded = pt.load(regressor)
    answer = json.loads(polytomy("evaluate", regressor, "rain.csv", "--json").out)
    scaled = loaded[:-1].transform(X)
    distribution = loaded[-1].predict_distribution(scaled)
    ends = loaded[-1].predict_interval(scaled, 0.9)
    assert answer["samples"] == 120
    assert answer["rmse"] == pytest.approx(np.sqrt(np.mean((y - loaded.predict(X)) ** 2)))
    assert answer["mae"] == pytest.approx(np.mean(np.abs(y - loaded.predict(X))))
    assert answer["crps"] == pytest.approx(pt.metrics.crps(y, distribution))
    coverage = pt.metrics.interval_coverage(y, ends)
    assert answer["coverage_of_90%_intervals"] == pytest.approx(coverage)
    assert answer["out_of_fold_score"] == loaded[-1].out_of_fold_score_
    lines = polytomy("evaluate", regressor, "rain.csv").out.splitlines()
    assert lines[0] == "120 samples"
    (rmse,) = [line for line in lines if line.startswith("rmse")]
    expected = loaded[-1].out_of_fold_score_["rmse"]
    assert (
        rmse.split() == f"rmse {answer['rmse']:.5g} expected from training: {expected:.5g}".split()
    )


def test_targets_may_be_integers_and_blocks_of_them(polytomy, here):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    lines = [f"{value:.4f},{round(3 * value)}" for value in x]
    Path("counts.csv").write_text("\n".join(["x,count", *lines, ""]))
    assert polytomy("train", "counts.csv", "--regress", "-o", "m.polytomy").code == 0
    answer = json.loads(polytomy("evaluate", "m.polytomy", "counts.csv", "--json").out)
    y = read_data("counts.csv").y
    assert answer["rmse"] < np.std(y)


def test_a_target_that_is_not_a_number_is_named(polytomy, rain):
    text = Path("rain.csv").read_text().splitlines()
    text[5] = "1,2,wet"
    Path("bad.csv").write_text("\n".join(text))
    outcome = polytomy("train", "bad.csv", "--regress", "-o", "m.polytomy")
    assert outcome.code == 2
    assert 'bad.csv, row 6: the target "wet" is not a number. Set --target' in outcome.err


def test_classes_that_are_fractions_point_to_regression(polytomy, rain):
    outcome = polytomy("train", "rain.csv", "-o", "m.polytomy")
    assert outcome.code == 2
    assert "For numbers, use train --regress." in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--regress", "--class-weight", "balanced"], "--class-weight is only for classifiers"),
        (["--regress", "--class-order", "a,b"], "--class-order is only for classifiers"),
        (["--bins", "5"], "--bins is only for regressors; use it with --regress"),
        (["--regress", "--bins", "few"], '--bins must be "auto" or an integer of at least 2'),
        (["--regress", "--bins", "1"], '--bins must be "auto" or an integer of at least 2; got 1'),
        (["--regress", "--solver", "voting"], "--solver voting gives scores, not probabilities"),
    ],
)
def test_options_of_training_that_do_not_go_together_are_refused(polytomy, rain, options, message):
    outcome = polytomy("train", "rain.csv", *options, "-o", "m.polytomy")
    assert outcome.code == 2
    assert message in outcome.err
    assert not Path("m.polytomy").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--proba"], "--proba is only for classifiers; use --quantiles or --interval"),
        (["--quantiles", "low"], "--quantiles must be comma-separated numbers"),
        (["--quantiles", "0.5,2"], "--quantiles 2.0 is not a probability"),
        (["--interval", "90"], "--interval 90.0 is not between 0 and 1"),
    ],
)
def test_options_that_a_regressor_cannot_use_are_refused(polytomy, regressor, options, message):
    outcome = polytomy("predict", regressor, "rain.csv", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


@pytest.mark.parametrize("options", [["--quantiles", "0.5"], ["--interval", "0.9"], ["--median"]])
def test_options_that_a_classifier_cannot_use_are_refused(polytomy, model, options):
    outcome = polytomy("predict", model, "iris.csv", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{options[0]} is only for regressors, trained with train --regress" in outcome.err


def test_scores_of_ordered_classes_are_refused_for_a_regressor(polytomy, regressor):
    outcome = polytomy("evaluate", regressor, "rain.csv", "--ordered")
    assert outcome.code == 2
    assert "--ordered is only for classifiers" in outcome.err


def test_info_and_convert_know_regressors(polytomy, regressor, rain):
    shown = polytomy("info", regressor).out
    _, y = rain
    loaded = pt.load(regressor)[-1]
    assert f"target range            lower {y.min():.4g}, upper {y.max():.4g}" in shown
    assert f"rmse {loaded.out_of_fold_score_['rmse']:.4g}" in shown
    assert polytomy("convert", regressor, "-o", "copy.polytomy").code == 0
    one, other = (
        polytomy("predict", each, "rain.csv").out for each in (regressor, "copy.polytomy")
    )
    assert one == other
    outcome = polytomy("convert", regressor, "-o", "m.model")
    assert outcome.code == 2
    assert "PolytomyRegressor cannot be written as a LIBSVM model" in outcome.err


def test_a_constant_target_is_warned_of(polytomy, here):
    Path("same.csv").write_text("x,y\n" + "".join(f"{k},2.5\n" for k in range(9)))
    outcome = polytomy("train", "same.csv", "--regress", "-o", "m.polytomy")
    assert outcome.code == 0
    assert "all samples have the label 2.5; the model will always predict it" in outcome.err
    _, rows = rows_of(polytomy("predict", "m.polytomy", "same.csv", "--interval", "0.9").out)
    np.testing.assert_array_equal(rows, np.full((9, 3), 2.5))
