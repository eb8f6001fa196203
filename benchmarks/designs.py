"""Do schemes built from the data beat fixed ones? Uncertainty coefficient and log-loss.

RBF SVMs with the options of Mills's experiments, on stratified 70/30 splits standardised on the
training samples. All schemes of a split share the binaries they have in common. "auto" is what
scheme="auto" chooses on the training samples.

    POLYTOMY_DATA=folder python -m benchmarks designs [--repeats N] [--jobs N] [dataset ...]

Each finished split is appended to docs/results/designs.csv; splits already there are not run again.
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
from polytomy.learners.workload import TrainingOptions
from polytomy.search import SchemeSearchCV
from polytomy.selection.candidates import Candidate, default_candidates
from polytomy.selection.race import find_metric, run_race
from polytomy.selection.runners import RaceSetup

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "designs.csv"
REPEATS = 10
# Designs with the classes in order, as in the paper; designs from data follow.
PLAIN = ("one-vs-one", "one-vs-rest", "orthogonal", "adjacent", "tree")
SCORES = ("uncertainty_coefficient", "log_loss", "accuracy")
FIELDS = ("dataset", "repeat", "design", *SCORES, "binaries", "seconds", "chosen")


CANDIDATES = [Candidate(name, name) for name in (*PLAIN, *DATA_DESIGNS, *ENSEMBLES)]


def measure(name: str, repeat: int, n_jobs: int) -> list[dict[str, Any]]:
    X, y = data.load(name)
    part = data.split(X, data.class_indices(name, y), repeat)
    svc = SVC(**data.svm_options(name))
    all_X = np.concatenate([part.X_train, part.X_test])
    all_y = np.concatenate([part.y_train, part.y_test])
    rows = np.arange(len(all_y))
    fold = (rows[: len(part.y_train)], rows[len(part.y_train) :])
    options = TrainingOptions(random_state=repeat, n_jobs=n_jobs)
    race = run_race(
        CANDIDATES,
        RaceSetup(all_X, all_y, svc, options.of_labels(all_y)),
        [fold],
        [find_metric(score) for score in SCORES],
        is_lenient=True,
    )
    found = [
        {
            "design": runner.candidate.name,
            **{score: runner.folds[0].scores[score] for score in SCORES},
            "binaries": runner.folds[0].n_binaries,
            "seconds": round(runner.folds[0].fit_seconds, 2),
            "chosen": "",
        }
        for runner in race.runners
        if runner.n_folds
    ]
    started = perf_counter()
    search = SchemeSearchCV(
        svc,
        default_candidates(len(np.unique(y))),
        scoring=SCORES,
        final_calibration=None,
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


def values_of(rows: list[dict[str, str]], score: str) -> dict[tuple[str, str], np.ndarray]:
    """Return the scores of each dataset and design, split by split."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        place = row["dataset"], row["design"]
        found.setdefault(place, {})[int(row["repeat"])] = float(row[score])
    return {
        place: np.array([by_repeat[repeat] for repeat in sorted(by_repeat)])
        for place, by_repeat in found.items()
    }


def summarise(score: str) -> None:
    """Print a Markdown table: means, the best in bold, and how often each beats the tree."""
    rows = read_results()
    known = [name for name in data.PAPER if any(row["dataset"] == name for row in rows)]
    designs = list(dict.fromkeys(row["design"] for row in rows))
    values = values_of(rows, score)
    sign = -1 if score == "log_loss" else 1
    best = {
        name: max(sign * values[name, each].mean() for each in designs if (name, each) in values)
        for name in known
    }
    print(f"\n| {score} | {' | '.join(known)} | better than the empirical tree |")
    print(f"|---|{'---|' * (len(known) + 1)}")
    for design in designs:
        cells, n_better = [], 0
        for name in known:
            mean = values[name, design].mean()
            text = f"{mean:.4f}"
            cells.append(f"**{text}**" if sign * mean == best[name] else text)
            n_better += sign * (mean - values[name, "empirical-tree"].mean()) > 0
        better = "" if design == "empirical-tree" else f"{n_better} of {len(known)}"
        print(f"| {design} | {' | '.join(cells)} | {better} |")


def compare_auto(score: str) -> None:
    """Print the gain of "auto" over one-vs-one, with the standard errors of both."""
    values = values_of(read_results(), score)
    sign = -1 if score == "log_loss" else 1
    print(f"\n| {score} | splits | one-vs-one | standard error | gain of auto | standard error |")
    print("|---|---|---|---|---|---|")
    for name in data.PAPER:
        if (name, "auto") not in values:
            continue
        pairs, auto = values[name, "one-vs-one"], values[name, "auto"]
        gains = sign * (auto - pairs)
        errors = [np.std(each, ddof=1) / np.sqrt(len(each)) for each in (pairs, gains)]
        print(
            f"| {name} | {len(pairs)} | {pairs.mean():.4f} | {errors[0]:.4f} | "
            f"{gains.mean():+.4f} | {errors[1]:.4f} |"
        )


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
    for score in SCORES[:2]:
        compare_auto(score)


if __name__ == "__main__":
    main(sys.argv[1:])
