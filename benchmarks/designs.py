"""Do schemes made from the data beat those that are not? Uncertainty coefficient and log-loss.

RBF support vector machines with the options of Mills's experiments, stratified 70/30 splits,
standardised on the training part. All schemes of a split share what dichotomies they have in
common. "auto" is what scheme="auto" chooses on the training part.

    POLYTOMY_DATA=folder python -m benchmarks designs [--repeats N] [--jobs N] [dataset ...]

Each split is written to docs/results/designs.csv when it is done; splits that are there already
are not run again.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks import data
from polytomy.designs import DATA_DESIGNS, ENSEMBLES
from polytomy.search import SchemeSearchCV
from polytomy.selection import Candidate, default_candidates, find_score, run_race

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "designs.csv"
REPEATS = 10
# In class order, as the paper has them; then from the data.
PLAIN = ("one-vs-one", "one-vs-rest", "orthogonal", "adjacent", "tree")
SCORES = ("uncertainty_coefficient", "log_loss", "accuracy")
FIELDS = ("dataset", "repeat", "design", *SCORES, "binaries", "seconds", "chosen")


CANDIDATES = [Candidate(name, name) for name in (*PLAIN, *DATA_DESIGNS, *ENSEMBLES)]


def measure(name: str, repeat: int, n_jobs: int) -> list[dict[str, Any]]:
    X, y = data.load(name)
    part = data.split(X, data.numbered(name, y), repeat)
    svc = SVC(**data.svm_options(name))
    all_X = np.concatenate([part.X_train, part.X_test])
    all_y = np.concatenate([part.y_train, part.y_test])
    rows = np.arange(len(all_y))
    fold = (rows[: len(part.y_train)], rows[len(part.y_train) :])
    options = {"random_state": repeat, "n_jobs": n_jobs}
    race = run_race(
        CANDIDATES,
        all_X,
        all_y,
        scores=[find_score(score) for score in SCORES],
        folds=[fold],
        estimator=svc,
        training=lambda rows: options,
        random_state=repeat,
        is_lenient=True,
    )
    found = [
        {
            "design": runner.candidate.name,
            **{score: runner.scores[score][0] for score in SCORES},
            "binaries": runner.n_binaries[0],
            "seconds": round(runner.fit_seconds[0], 2),
            "chosen": "",
        }
        for runner in race.runners
        if runner.n_folds
    ]
    started = perf_counter()
    search = SchemeSearchCV(
        svc,
        default_candidates(len(np.unique(y))),
        scoring=("joint_log_loss", *SCORES),
        cv=3,
        random_state=repeat,
        n_jobs=n_jobs,
        refit=False,
    )
    chosen = search.fit(part.X_train, part.y_train).best_candidate_.name
    seconds = perf_counter() - started
    taken = next(row for row in found if row["design"] == chosen)
    found.append({**taken, "design": "auto", "seconds": round(seconds, 2), "chosen": chosen})
    return [{"dataset": name, "repeat": repeat, **row} for row in found]


def read_results() -> list[dict[str, str]]:
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def append(rows: list[dict[str, Any]]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    is_new = not RESULTS.is_file()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def summarise(score: str) -> None:
    rows = read_results()
    designs = list(dict.fromkeys(row["design"] for row in rows))
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    print(f"\n{score}: mean and standard deviation")
    print(f"{'':22}" + "".join(f"{name:>16}" for name in datasets))
    for design in designs:
        cells = ""
        for dataset in datasets:
            values = [
                float(row[score])
                for row in rows
                if (row["dataset"], row["design"]) == (dataset, design)
            ]
            spread = np.std(values, ddof=1) if len(values) > 1 else np.nan
            cells += f"{np.mean(values):9.4f}±{spread:.4f}" if values else f"{'':16}"
        print(f"{design:22}{cells}")


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks designs")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("datasets", nargs="*")
    given = parser.parse_args(words)
    chosen = given.datasets or data.available()
    if not chosen:
        print("no datasets: set POLYTOMY_DATA to their folder")
        return
    done = {(row["dataset"], int(row["repeat"])) for row in read_results()}
    for repeat in range(given.repeats):
        for name in chosen:
            if (name, repeat) not in done:
                started = perf_counter()
                append(measure(name, repeat, given.jobs))
                seconds = perf_counter() - started
                print(f"{name} {repeat}: {seconds:.0f} s", file=sys.stderr, flush=True)
    for score in SCORES:
        summarise(score)


if __name__ == "__main__":
    main(sys.argv[1:])
