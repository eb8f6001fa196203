"""Laws of commands on a cluster: what they print is what they print for one file."""

import json

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


def test_a_folder_is_trained_on_like_one_file(data, address):
    options = ["--scheme", "one-vs-rest", "--estimator", "logistic-regression", "--json"]
    far, near = data / "far.polytomy", data / "near.polytomy"
    of_parts = json.loads(run("train", data / "parts", "-o", far, "--dask", address, *options))
    of_whole = json.loads(run("train", data / "whole.csv", "-o", near, *options))
    for name in ("samples", "features", "classes", "binaries"):
        assert of_parts[name] == of_whole[name]
    assert of_parts["out_of_fold_score"] == pytest.approx(of_whole["out_of_fold_score"], abs=1e-6)
    # The model of a cluster needs no cluster to predict.
    found, expected = (
        [float(line.split(",")[1]) for line in run("predict", model, file, "--proba").split()[1:]]
        for model, file in ((far, data / "parts"), (near, data / "whole.csv"))
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_columns_are_found_by_name_in_every_file(data, address):
    moved = pd.read_parquet(data / "parts" / "2.parquet")[["kind", "d", "c", "b", "a"]]
    moved.to_parquet(data / "parts" / "2.parquet", index=False)
    models = data / "far.polytomy", data / "near.polytomy"
    run("train", data / "parts", "-o", models[0], "--estimator", "gaussian-nb", "--dask", address)
    run("train", data / "whole.csv", "-o", models[1], "--estimator", "gaussian-nb")
    one, other = (run("predict", model, data / "whole.csv") for model in models)
    assert one == other


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": np.nan}, '3.parquet, row 1, column 2 ("b"): the value is missing'),
        ({"b": "red"}, 'column 2 ("b"): the column has type'),
        ({"kind": 1}, "y has numbers in some parts and text in others"),
    ],
)
def test_a_mistake_in_one_file_is_one_message(data, address, change, words):
    bad = pd.read_parquet(data / "parts" / "0.parquet").assign(**change)
    bad.to_parquet(data / "parts" / "3.parquet", index=False)
    line = ["train", str(data / "parts"), "-o", str(data / "m.polytomy"), "--dask", address]
    outcome = call_main(line)
    assert outcome.code == 2
    assert words in outcome.err
    assert "Traceback" not in outcome.err
    assert not (data / "m.polytomy").exists()


def test_text_columns_are_refused(data, address):
    line = ["train", str(data / "parts"), "-o", str(data / "m.polytomy"), "--dask", address]
    outcome = call_main([*line, "--one-hot"])
    assert outcome.err.startswith("polytomy: --one-hot cannot be used with --dask.")


def test_a_scheduler_that_is_not_there_is_one_message(data, monkeypatch):
    from polytomy.dask import estimator as folder_jobs

    monkeypatch.setattr(folder_jobs, "_SECONDS_TO_CONNECT", 0.2)
    outcome = call_main(
        ["train", str(data / "parts"), "-o", str(data / "m.polytomy"), "--dask", "127.0.0.1:9"]
    )
    assert outcome.code == 2
    assert outcome.err.startswith("polytomy: there is no Dask scheduler at 127.0.0.1:9. Start one")
    assert outcome.err.count("\n") == 1


def test_missing_values_are_read_as_in_one_file(tmp_path, address):
    rows = [f"{k % 3 + k / 100},{'' if k % 7 == 0 else k},{'abc'[k % 3]}" for k in range(60)]
    (tmp_path / "parts").mkdir()
    for number in range(2):
        text = "\n".join(["x,z,label", *rows[30 * number : 30 * (number + 1)]])
        (tmp_path / "parts" / f"{number}.csv").write_text(text + "\n")
    options = ("--estimator", "decision-tree", "--missing", "nan", "--dask", address)
    model = tmp_path / "m.polytomy"
    run("train", tmp_path / "parts", "-o", model, *options)
    run("predict", model, tmp_path / "parts" / "1.csv")
