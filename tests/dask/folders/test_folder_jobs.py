"""Laws of commands on a cluster: what they print is what they print for one file."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from command_line import call_main

pytest.importorskip("distributed")


@pytest.fixture
def address(cluster_client):
    return cluster_client.scheduler.address


def run(*arguments):
    outcome = call_main([str(argument) for argument in arguments])
    assert outcome.code == 0, outcome.err
    return outcome.out


@pytest.fixture
def data(tmp_path):
    """A folder of Parquet files, one of them empty, and a file with the same rows."""
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["kind"] = np.array(["setosa", "versicolor", "virginica"])[y]
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    (tmp_path / "parts").mkdir()
    for number, (first, last) in enumerate([(0, 70), (70, 70), (70, 150)]):
        frame[first:last].to_parquet(tmp_path / "parts" / f"{number}.parquet", index=False)
    frame.to_csv(tmp_path / "whole.csv", index=False)
    return tmp_path


def test_a_folder_is_trained_predicted_and_evaluated_like_one_file(data, address):
    parts, whole = data / "parts", data / "whole.csv"
    options = ["--scheme", "one-vs-rest", "--estimator", "logistic-regression", "--json"]
    far = json.loads(run("train", parts, "-o", data / "far.polytomy", "--dask", address, *options))
    near = json.loads(run("train", whole, "-o", data / "near.polytomy", *options))
    for name in ("samples", "features", "classes", "binaries"):
        assert far[name] == near[name]
    assert far["out_of_fold_score"] == pytest.approx(near["out_of_fold_score"], abs=1e-6)

    # The model of a cluster needs no cluster to predict.
    run("predict", data / "far.polytomy", whole, "--proba", "-o", data / "near.csv")
    answer = run(
        "predict", data / "far.polytomy", parts, "--proba", "-o", data / "out", "--dask", address
    )
    assert answer == f"{data / 'out'}: predictions for 150 samples\n"
    assert sorted(os.listdir(data / "out")) == [f"part-{k:05}.parquet" for k in range(3)]
    found = pd.concat([pd.read_parquet(file) for file in sorted((data / "out").iterdir())])
    expected = pd.read_csv(data / "near.csv")
    assert found.columns.tolist() == expected.columns.tolist()
    assert found["prediction"].tolist() == expected["prediction"].tolist()
    np.testing.assert_allclose(found.iloc[:, 1:], expected.iloc[:, 1:], rtol=0, atol=1e-12)

    likeliest = ["predict", data / "far.polytomy", "--top", 2, "-o"]
    run(*likeliest, data / "top.csv", whole)
    run(*likeliest, data / "top", parts, "--dask", address)
    found = pd.concat([pd.read_parquet(file) for file in sorted((data / "top").iterdir())])
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), pd.read_csv(data / "top.csv"), check_dtype=False
    )

    judge = ["evaluate", data / "far.polytomy"]
    one = json.loads(run(*judge, parts, "--dask", address, "--json", "--ordered"))
    other = json.loads(run(*judge, whole, "--json", "--ordered"))
    assert one.pop("confusion") == other.pop("confusion")
    assert one.pop("out_of_fold_score") == other.pop("out_of_fold_score")
    assert one == pytest.approx(other, abs=1e-9)


def test_a_failure_leaves_no_output(data, address):
    run(
        "train", data / "whole.csv", "-o", data / "m.polytomy", "--estimator", "logistic-regression"
    )
    bad = pd.read_parquet(data / "parts" / "0.parquet").assign(b=np.nan)
    bad.to_parquet(data / "parts" / "3.parquet")
    files = [str(data / "m.polytomy"), str(data / "parts")]
    outcome = call_main(["predict", *files, "--dask", address, "-o", str(data / "out")])
    assert outcome.code == 2
    assert '3.parquet, row 1, column 2 ("b"): the value is missing' in outcome.err
    assert "Traceback" not in outcome.err
    assert sorted(os.listdir(data)) == ["m.polytomy", "parts", "whole.csv"]


def test_a_scheduler_that_is_not_there_is_one_message(data, monkeypatch):
    from polytomy.dask import folders as folder_jobs

    monkeypatch.setattr(folder_jobs, "_SECONDS_TO_CONNECT", 0.2)
    outcome = call_main(
        ["train", str(data / "parts"), "-o", str(data / "m.polytomy"), "--dask", "127.0.0.1:9"]
    )
    assert outcome.code == 2
    assert outcome.err.startswith("polytomy: there is no Dask scheduler at 127.0.0.1:9. Start one")
    assert outcome.err.count("\n") == 1


def test_predictions_of_a_cluster_need_a_folder(data, address):
    run("train", data / "whole.csv", "-o", data / "m.polytomy", "--estimator", "gaussian-nb")
    outcome = call_main(
        ["predict", str(data / "m.polytomy"), str(data / "parts"), "--dask", address]
    )
    assert outcome.err == (
        "polytomy: --dask writes a folder of Parquet files. Name it with --output.\n"
    )


def test_nodes_of_the_scheme_are_refused(data, address):
    run("train", data / "whole.csv", "-o", data / "m.polytomy", "--estimator", "gaussian-nb")
    files = [str(data / "m.polytomy"), str(data / "parts"), "-o", str(data / "out")]
    outcome = call_main(["predict", *files, "--dask", address, "--max-depth", "1"])
    assert outcome.err == (
        "polytomy: with --dask, predict supports only labels, --proba and --top\n"
    )


def test_missing_values_are_read_as_in_one_file(tmp_path, address):
    rows = [f"{k % 3 + k / 100},{'' if k % 7 == 0 else k},{'abc'[k % 3]}" for k in range(60)]
    (tmp_path / "parts").mkdir()
    for number in range(2):
        text = "\n".join(["x,z,label", *rows[30 * number : 30 * (number + 1)]])
        (tmp_path / "parts" / f"{number}.csv").write_text(text + "\n")
    options = ("--estimator", "decision-tree", "--missing", "nan", "--dask", address)
    model = tmp_path / "m.polytomy"
    run("train", tmp_path / "parts", "-o", model, *options)
    assert "60 samples" in run(
        "predict", model, tmp_path / "parts", "-o", tmp_path / "out", "--dask", address
    )
