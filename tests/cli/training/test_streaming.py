"""Training in blocks: train --stream."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polytomy as pt
from needs import needs_posix
from polytomy.datasets import open_blocks, reading

LABELS = np.array(["corn", "oak", "pine"])


@pytest.fixture
def rows(here, monkeypatch):
    """Write 3000 rows to rows.csv, to be read in blocks of 500, and return them."""
    monkeypatch.setattr(reading, "_MOST_ROWS", 500)
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 3000)
    X = (generator.normal(size=(3000, 4)) + 1.5 * np.eye(3, 4)[y]) * [1, 10, 100, 1] + 5
    lines = [",".join([*map(repr, row), LABELS[k]]) for row, k in zip(X.tolist(), y, strict=True)]
    Path("rows.csv").write_text("a,b,c,d,kind\n" + "\n".join(lines) + "\n")
    return X, LABELS[y]


def evaluate(polytomy, model, data, *options):
    return json.loads(polytomy("evaluate", model, data, "--json", *options).out)


@pytest.mark.parametrize("passes", ["1", "3"])
def test_a_stream_gives_a_calibrated_model(polytomy, rows, passes):
    line = ["train", "rows.csv", "--stream", "--passes", passes, "--scheme", "one-vs-rest"]
    outcome = polytomy(*line, "-o", "m.polytomy", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    summary = json.loads(outcome.out)
    assert (summary["samples"], summary["features"], summary["classes"]) == (3000, 4, 3)
    found = evaluate(polytomy, "m.polytomy", "rows.csv")
    whole = polytomy("train", "rows.csv", "--estimator", "logistic-regression", "-o", "w.polytomy")
    assert whole.code == 0
    best = evaluate(polytomy, "w.polytomy", "rows.csv")
    assert found["log_loss"] < best["log_loss"] + 0.1
    assert found["accuracy"] > best["accuracy"] - 0.05
    expected = summary["out_of_fold_score"]["log_loss"]
    assert expected == pytest.approx(found["log_loss"], abs=0.1)


def test_the_text_says_where_the_expected_scores_come_from(polytomy, rows):
    outcome = polytomy("train", "rows.csv", "--stream", "-o", "m.polytomy")
    assert "trained on 3000 samples of 4 features" in outcome.out
    assert "expected on new samples, judging by held-out rows: log-loss 0." in outcome.out


def test_it_is_partial_fit_of_scaled_blocks(polytomy, rows):
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    X, y = rows
    assert polytomy("train", "rows.csv", "--stream", "-o", "m.polytomy").code == 0
    scaled = StandardScaler().fit_transform(X)
    classifier = pt.PolytomyClassifier(SGDClassifier(), random_state=0)
    last = np.cumsum([block.n_samples for block in open_blocks("rows.csv")])
    assert len(last) >= 6
    for part in np.split(np.arange(3000), last[:-1]):
        classifier.partial_fit(scaled[part], y[part], classes=LABELS)
    np.testing.assert_allclose(
        pt.load("m.polytomy").predict_proba(X), classifier.predict_proba(scaled), atol=1e-6
    )


def test_other_formats_are_streamed_too(polytomy, rows):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = rows
    for number, part in enumerate(np.array_split(np.arange(3000), 4)):
        columns = {name: X[part, k] for k, name in enumerate("abcd")} | {"kind": y[part]}
        Path("parts").mkdir(exist_ok=True)
        parquet.write_table(arrow.table(columns), f"parts/{number}.parquet", row_group_size=200)
    numbers = np.searchsorted(LABELS, y)
    text = "\n".join(
        f"{label} " + " ".join(f"{k}:{value!r}" for k, value in enumerate(row, 1))
        for label, row in zip(numbers, X.tolist(), strict=True)
    )
    Path("rows.svm").write_text(text + "\n")
    for data in "parts", "rows.svm":
        outcome = polytomy("train", data, "--stream", "-o", "m.polytomy")
        assert (outcome.code, outcome.err) == (0, "")
        assert evaluate(polytomy, "m.polytomy", data)["accuracy"] > 0.7
        predicted = polytomy("predict", "m.polytomy", data).out.split()
        assert len(predicted) == 3001


def test_balanced_classes_are_counted_in_the_first_pass(polytomy, here):
    Path("plants.csv").write_text("kind,height\n" + "oak,9\ncorn,2\noak,8\noak,9\n" * 50)
    line = ["train", "plants.csv", "--target", "kind", "--stream", "--class-weight", "balanced"]
    outcome = polytomy(*line, "-o", "m.polytomy")
    assert (outcome.code, outcome.err) == (0, "")
    weights = pt.load("m.polytomy").steps[-1][1].class_weight
    assert weights == {"corn": pytest.approx(2.0), "oak": pytest.approx(2 / 3)}
    assert evaluate(polytomy, "m.polytomy", "plants.csv")["accuracy"] == 1


def test_a_pipe_cannot_be_read_twice(polytomy, rows):
    content = Path("rows.csv").read_bytes()
    outcome = polytomy("train", "-", "--stream", "-o", "m.polytomy", typed=content)
    assert outcome.code == 2
    assert "-: --stream reads the data twice, and a pipe can be read only once" in outcome.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--stream --estimator svc", "needs an estimator that learns in batches; SVC does not"),
        ("--passes 2", "--passes needs --stream"),
        ("--stream --folds 3", "--folds cannot be used with --stream"),
        ("--stream --class-weight balanced-per-partition", "needs all the data at once"),
        ("--stream --validation folds", "--validation needs all the data at once"),
        ("--stream --target a", '"pine" is not a number'),
        ("--stream --one-hot", "--one-hot cannot be used with --stream"),
        ("--stream --scheme empirical", "data"),
    ],
)
def test_a_mistake_is_one_message_and_writes_nothing(polytomy, rows, line, words):
    outcome = polytomy("train", "rows.csv", *line.split(), "-o", "m.polytomy")
    assert outcome.code == 2
    assert words in outcome.err
    assert not Path("m.polytomy").exists()


def test_rows_sorted_by_class_are_a_warning(polytomy, here, monkeypatch):
    monkeypatch.setattr(reading, "_MOST_ROWS", 1000)
    lines = [f"{k % 97},{k},c{k // 1000}" for k in range(8000)]
    Path("sorted.csv").write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    outcome = polytomy("train", "sorted.csv", "--stream", "-o", "m.polytomy")
    assert outcome.code == 0
    assert "the first 1000 rows have 1 of 8 classes" in outcome.err


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv[1:2] = []
from polytomy.cli import main
main()
"""


@needs_posix
@pytest.mark.slow
def test_parquet_larger_than_the_memory_is_trained_on_predicted_and_evaluated(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    generator = np.random.default_rng(0)
    folder = tmp_path / "parts"
    folder.mkdir()
    n_rows, n_features, n_parts = 200_000, 60, 12  # 1.15 GB as float64
    for number in range(n_parts):
        y = generator.integers(0, 4, n_rows)
        columns = {f"x{k}": (generator.integers(0, 9, n_rows) + 3.0 * (y == k)) for k in range(60)}
        table = arrow.table({**columns, "kind": y})
        parquet.write_table(table, folder / f"{number}.parquet")
    assert 8 * n_rows * n_features * n_parts > 1.1e9

    def run(*line):
        command = [sys.executable, "-c", LIMITED, str(900 * 2**20), *map(str, line)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    refused = run("train", "parts", "-o", "w.polytomy", "--estimator", "sgd")
    assert refused.returncode == 2
    assert "out of memory" in refused.stderr or "Unable to allocate" in refused.stderr
    trained = run("train", "parts", "--stream", "-o", "m.polytomy")
    assert trained.stderr == ""
    assert "trained on 2400000 samples" in trained.stdout
    judged = json.loads(run("evaluate", "m.polytomy", "parts", "--json").stdout)
    assert judged["samples"] == 2_400_000
    assert judged["accuracy"] > 0.5
    assert run("predict", "m.polytomy", "parts", "-o", "p.csv").returncode == 0
    with (tmp_path / "p.csv").open() as file:
        assert sum(1 for _ in file) == 2_400_001
