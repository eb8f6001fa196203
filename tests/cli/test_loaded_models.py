"""Models and the data that they take."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import polytomy as pt
from needs import needs_libsvm


def test_data_to_predict_may_have_labels_or_none(polytomy, model):
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


def test_dense_models_take_sparse_data_and_sparse_models_dense_data(polytomy, here):
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


def test_a_forest_needs_no_option_to_be_loaded(polytomy, here):
    estimator = "random-forest n_estimators=3"
    outcome = polytomy("train", "iris.csv", "--estimator", estimator, "-o", "f.polytomy")
    assert (outcome.code, "warning" in outcome.err) == (0, False)
    assert polytomy("predict", "f.polytomy", "iris.csv").code == 0


def test_a_model_with_a_function_loads_with_the_option_that_the_error_names(polytomy, here):
    X, y = load_iris(return_X_y=True)
    estimator = make_pipeline(FunctionTransformer(np.nan_to_num), LogisticRegression())
    with pytest.warns(pt.PolytomyWarning, match="can only be loaded by naming the types to trust"):
        pt.save(pt.PolytomyClassifier(estimator).fit(X, y), "f.polytomy")
    option = "--trust numpy.nan_to_num"
    refused = polytomy("predict", "f.polytomy", "iris.csv")
    assert (refused.code, refused.out) == (2, "")
    assert option in refused.err
    assert polytomy("predict", "f.polytomy", "iris.csv", *option.split()).code == 0


def answers(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.split()[1:]


@needs_libsvm
@pytest.mark.parametrize("name", ["linear", "polynomial", "rbf", "sigmoid", "nu", "votes"])
def test_more_features_than_the_support_vectors_count_as_in_svm_predict(
    finish, polytomy, flowers, name
):
    option = "" if name == "votes" else "-b 1"
    run = finish(shell=f"svm-predict {option} wide.svm {name}.model theirs")
    assert run.code == 0
    theirs = [line.split()[0] for line in Path("theirs").read_text().splitlines()]
    ours = answers(polytomy("predict", f"{name}.model", "wide.svm"))
    assert ours == (theirs if name == "votes" else theirs[1:])


def test_blocks_of_other_widths_give_the_same_probabilities(polytomy, flowers):
    whole = answers(polytomy("predict", "rbf.model", "wide.svm", "--proba"))
    told = answers(polytomy("predict", "rbf.model", "wide.svm", "--proba", "--features", "20"))
    np.testing.assert_allclose(
        np.array([line.split(",") for line in told], float),
        np.array([line.split(",") for line in whole], float),
        rtol=0,
        atol=1e-12,
    )


def test_more_features_than_in_training_are_an_error(polytomy, flowers):
    assert polytomy("train", "flowers.svm", "-o", "m.polytomy").code == 0
    outcome = polytomy("predict", "m.polytomy", "wide.svm")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "polytomy: wide.svm, line 1: feature index 6 is larger than the number of features, 4. "
        "Read the training data with --features 6 or more.\n"
    )
    told = polytomy("train", "flowers.svm", "-o", "m.polytomy", "--features", "8", "--json")
    assert json.loads(told.out)["features"] == 8
    assert polytomy("predict", "m.polytomy", "wide.svm").code == 0


def test_a_huge_index_is_an_error_at_once(polytomy, flowers):
    Path("huge.svm").write_text("1 1:1\n2 2000000000:1\n")
    for line in ("train huge.svm -o m.polytomy", "predict rbf.model huge.svm"):
        tracemalloc.start()
        outcome = polytomy(*line.split())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 3 * 10**9
        assert (outcome.code, outcome.out) == (2, "")
        assert "huge.svm, line 2: feature index 2000000000 is larger than 16777216." in outcome.err


def test_features_are_never_taken_for_kernel_values(polytomy, flowers):
    outcome = polytomy("predict", "rbf.model", "kernel.svm")
    assert (outcome.code, outcome.out) == (2, "")
    assert "these may be rows of kernel values, which are not read." in outcome.err
    estimator = ["--estimator", "svc kernel=precomputed"]
    outcome = polytomy("train", "iris.csv", *estimator, "-o", "p.polytomy")
    assert outcome.err == "polytomy: a precomputed kernel can be trained on only in Python\n"
