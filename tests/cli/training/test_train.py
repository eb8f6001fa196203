"""The command train."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from needs import needs_posix
from polytomy.datasets import read_data


def test_a_single_class_is_a_warning(polytomy, here):
    Path("one.csv").write_text("a,kind\n1,oak\n2,oak\n3,oak\n")
    outcome = polytomy("train", "one.csv", "-o", "one.polytomy")
    assert outcome.code == 0
    words = "one.csv: all samples have the label oak; the model will always predict it"
    assert outcome.err == f"polytomy: warning: {words}\n"
    assert polytomy("predict", "one.polytomy", "one.csv").out.split() == [
        "prediction",
        *["oak"] * 3,
    ]


def test_too_many_neighbours_are_an_error_in_training(polytomy, here):
    estimator = "k-neighbors n_neighbors=101"
    outcome = polytomy("train", "iris.csv", "--estimator", estimator, "-o", "k.polytomy")
    assert outcome.code == 2
    assert '"one-vs-one-00" has 100 samples' in outcome.err
    assert "n_neighbors=101" in outcome.err
    assert "n_neighbors=100 or fewer" in outcome.err
    assert not Path("k.polytomy").exists()


def test_a_control_text_with_estimators_is_trained_on_text_columns(polytomy, here):
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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("iris.csv -o nowhere/m.polytomy", "nowhere does not exist\n"),
        ("iris.csv -o .", ". is a folder, not a file\n"),
        ("iris.csv --scheme nosuch -o m.polytomy", "nosuch"),
        ("iris.csv --solver nosuch -o m.polytomy", "nosuch"),
        ("iris.csv --estimator nosuch -o m.polytomy", "nosuch"),
        (
            "iris.csv --calibration nosuch -o m.polytomy",
            "--calibration must be auto, sigmoid, isotonic, temperature or none; got",
        ),
        (
            "iris.csv --final-calibration sigmoid -o m.polytomy",
            "--final-calibration must be auto, bias, decoder or none; got",
        ),
        (
            "iris.csv --class-weight nosuch -o m.polytomy",
            "--class-weight must be balanced or balanced-per-partition; got",
        ),
        ("iris.csv --validation nosuch -o m.polytomy", "--validation must be folds or none; got"),
        (
            "iris.csv --validation folds -o m.polytomy",
            "--validation folds needs an estimator whose fit takes validation rows (eval_set, or "
            "X_val and y_val); SVC does not. Use --validation none.",
        ),
        ("iris.csv --scale nosuch -o m.polytomy", "--scale must be standard, minmax or none; got"),
        ("ragged.csv -o m.polytomy", "ragged.csv, line 3: expected 3 fields; found 2\n"),
        ("empty.csv -o m.polytomy", "empty.csv: the file is empty\n"),
        ("word.csv -o m.polytomy", 'word.csv, line 3, column 2 ("b"): "two" is not a number.'),
        ("nothing.csv -o m.polytomy", "nothing.csv: No such file or directory\n"),
    ],
)
def test_a_mistake_is_one_message_and_writes_nothing(polytomy, here, line, words):
    Path("ragged.csv").write_text("a,b,kind\n1,2,x\n1,x\n")
    Path("empty.csv").write_text("")
    Path("word.csv").write_text("a,b,kind\n1,2,x\n1,two,y\n")
    before = sorted(os.listdir())
    outcome = polytomy("train", *line.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.err.startswith("polytomy: ")
    assert outcome.out == ""
    assert sorted(os.listdir()) == before


def test_sparse_data_is_trained_on(polytomy, here):
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


@pytest.mark.parametrize("option", ["auto", "bias", "decoder"])
def test_the_out_of_fold_score_of_the_training_is_printed(polytomy, here, option):
    line = ["train", "iris.csv", "--scheme", "adjacent", "--final-calibration", option]
    line += ["--class-order", "setosa,versicolor,virginica", "-o", "m.polytomy", "--folds", "3"]
    outcome = polytomy(*line, "--json")
    assert outcome.code == 0
    score = json.loads(outcome.out)["out_of_fold_score"]
    data = read_data("iris.csv")
    classifier = pt.PolytomyClassifier(
        scheme="adjacent",
        final_calibration=option,
        cv=3,
        random_state=0,
        class_order=["setosa", "versicolor", "virginica"],
    ).fit(StandardScaler().fit_transform(data.X), data.y)
    assert score == pytest.approx(classifier.out_of_fold_score_, rel=1e-9)
    lines = polytomy(*line).out.splitlines()
    assert lines[1:] == [
        "expected on new samples, judging by held-out folds: "
        f"log-loss {score['log_loss']:.4f}, Brier score {score['brier_score']:.4f}, "
        f"accuracy {score['accuracy']:.4f}, "
        f"uncertainty coefficient {score['uncertainty_coefficient']:.4f}"
    ]


def test_without_a_final_calibration_there_is_no_score(polytomy, here):
    line = ["train", "iris.csv", "--final-calibration", "none", "-o", "m.polytomy"]
    assert json.loads(polytomy(*line, "--json").out)["out_of_fold_score"] is None
    assert len(polytomy(*line).out.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--jobs 0", "0 is too few; use 1 or more"),
        ("--seed 99999999999", "Invalid value for '--seed'"),
        ("--folds 1", "Invalid value for '--folds'"),
        ("--features 0", "Invalid value for '--features'"),
    ],
)
def test_numbers_out_of_range_are_an_error(polytomy, here, options, words):
    outcome = polytomy("train", "iris.csv", "-o", "m.polytomy", *options.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert not Path("m.polytomy").exists()


def test_text_columns_need_no_header(polytomy, here):
    Path("bare.csv").write_text("red,0.5,1\nblue,2.5,2\n" * 8)
    assert polytomy("train", "bare.csv", "--one-hot", "-o", "bare.polytomy").code == 0
    outcome = polytomy("predict", "bare.polytomy", "bare.csv")
    assert outcome.out.split() == ["prediction", *["1", "2"] * 8]


@needs_posix
@pytest.mark.usefixtures("hears_interrupts")
def test_ctrl_c_ends_training_and_leaves_the_old_model(start, here, model):
    before = Path(model).read_bytes()
    # Labels without any pattern make training long: it would take minutes.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 20)), rng.integers(0, 3, 4000)
    rows = [",".join([*map(str, row), f"class{label}"]) for row, label in zip(X, y, strict=True)]
    text = "\n".join([",".join([f"f{k}" for k in range(20)] + ["label"]), *rows, ""])
    line = "train", "-", "--estimator", "svc C=1e6", "-o", model
    with start(*line, stdin=subprocess.PIPE) as process:
        # When all is written, the command is running: the pipe holds less than the text.
        process.stdin.write(text.encode())
        process.stdin.close()
        process.stdin = None
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"polytomy: interrupted\n")
    assert Path(model).read_bytes() == before
    assert [path.name for path in here.iterdir() if path.name.startswith(".")] == []


def test_boosted_trees_stop_early_on_folds(polytomy, here):
    boosting = "hist-gradient-boosting early_stopping=True n_iter_no_change=2 learning_rate=0.5"
    command = ("train", "iris.csv", "--estimator", boosting, "--validation", "folds")
    assert polytomy(*command, "-o", "m.polytomy").code == 0
    (_, classifier) = pt.load("m.polytomy").steps[-1]
    assert classifier.validation == "folds"
    # Without folds, each model would stop by itself on a part of its rows.
    assert not any(each.early_stopping for each in classifier.estimators_)


def test_a_model_of_several_sides_counts_once(polytomy, here):
    command = ("train", "iris.csv", "--scheme", "direct", "--estimator", "logistic-regression")
    outcome = polytomy(*command, "-o", "one.polytomy", "--json")
    assert json.loads(outcome.out)["binaries"] == 1


@pytest.mark.parametrize("scheme", [None, "one-vs-rest"])
def test_the_command_and_the_constructor_have_the_same_defaults(polytomy, here, scheme):
    options = [] if scheme is None else ["--scheme", scheme]
    assert polytomy("train", "iris.csv", "-o", "m.polytomy", *options).code == 0
    scaler, classifier = (step for _, step in pt.load("m.polytomy").steps)
    data = read_data("iris.csv")
    chosen = {} if scheme is None else {"scheme": scheme}
    own = pt.PolytomyClassifier(random_state=0, **chosen)
    given = {"estimator"}  # the constructor's None stands for what the command resolves
    for name, value in own.get_params(deep=False).items():
        assert name in given or classifier.get_params(deep=False)[name] == value
    X = scaler.transform(data.X)
    own.fit(X, data.y)
    assert classifier.composition_.solver == own.composition_.solver
    np.testing.assert_allclose(classifier.predict_proba(X), own.predict_proba(X), atol=1e-6)


def test_a_regressor_has_the_defaults_of_its_constructor(polytomy, here):
    line = ["train", "iris.csv", "--target", "petal_width", "--one-hot", "--regress"]
    assert polytomy(*line, "-o", "m.polytomy").code == 0
    regressor = pt.load("m.polytomy")[-1]
    own = pt.PolytomyRegressor(random_state=0).get_params(deep=False)
    found = regressor.get_params(deep=False)
    assert {**found, "estimator": None} == {**own, "estimator": None}


def test_missing_values_are_for_estimators_that_accept_them(polytomy, here):
    rows = [f"{k % 3 + k / 100},{'' if k % 7 == 0 else k},{'abc'[k % 3]}" for k in range(30)]
    (here / "gaps.csv").write_text("\n".join(rows) + "\n")
    outcome = polytomy("train", "gaps.csv", "--no-header", "-o", "m.polytomy")
    assert (outcome.code, outcome.err) == (
        2,
        "polytomy: gaps.csv, line 1, column 2: the value is missing. Fill it in, or use --missing "
        "nan with an estimator that accepts missing values, such as hist-gradient-boosting.\n",
    )
    options = ("--no-header", "--estimator", "decision-tree", "--scheme", "one-vs-rest")
    assert polytomy("train", "gaps.csv", *options, "-o", "m.polytomy").code == 0
    outcome = polytomy("predict", "m.polytomy", "gaps.csv", "--no-header")
    assert outcome.code == 0, outcome.err
    assert len(outcome.out.splitlines()) == 31
    outcome = polytomy("train", "gaps.csv", *options, "--missing", "refuse", "-o", "n.polytomy")
    assert outcome.code == 2


def test_a_model_that_was_trained_without_missing_values_says_where_one_is(polytomy, here):
    (here / "gaps.csv").write_text("sepal_length,sepal_width,petal_length,petal_width\n1,2,,4\n")
    polytomy("train", "iris.csv", "--scheme", "tree", "-o", "m.polytomy")
    outcome = polytomy("predict", "m.polytomy", "gaps.csv")
    assert outcome.code == 2
    assert "the value is missing" in outcome.err
    assert "--missing" not in outcome.err
