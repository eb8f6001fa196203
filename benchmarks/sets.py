"""Do prediction sets contain the true class as often as they promise?

    POLYTOMY_DATA=folder python -m benchmarks sets [dataset ...]

Each dataset is split three times at random: 500 rows for training and at most 2000 for testing,
standardised on the training rows. Classes with fewer than 20 rows, or without training rows, are
left out. The error of a coverage c at the level l is measured in standard deviations of exact sets
with n training and m test rows: (c - l) / sqrt(l (1 - l) (1/n + 1/m)).
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from benchmarks import data

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "sets.csv"
DATASETS = ("ecoli", "humidity", "krkopt", "letter", "pendigits", "sat", "segment", "shuttle",
            "urban", "usps")  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    "SVC, one-vs-one": {"estimator": SVC(C=10)},
    "SVC, one-vs-rest": {"estimator": SVC(C=10), "scheme": "one-vs-rest"},
    "SVC, tree": {"estimator": SVC(C=10), "scheme": "tree"},
    "LinearSVC, isotonic": {"estimator": LinearSVC(), "calibration": "isotonic"},
    "logistic, one-vs-rest": {
        "estimator": LogisticRegression(max_iter=200),
        "scheme": "one-vs-rest",
    },
    "forest, tree": {"estimator": RandomForestClassifier(20, random_state=0), "scheme": "tree"},
}
LEVELS = (0.8, 0.9, 0.95)
SCORES = (("lac", False), ("aps", False), ("raps", False), ("lac", True))
N_SPLITS, N_TRAIN, N_TEST, FEWEST = 3, 500, 2000, 20


def measure(name: str) -> list[dict[str, Any]]:
    """Return the coverage and the size of all kinds of sets on a dataset."""
    X, y = data.load(name)
    labels, counts = np.unique(y, return_counts=True)
    is_frequent = np.isin(y, labels[counts >= FEWEST])
    X, y = X[is_frequent], y[is_frequent]
    rows = []
    for seed in range(N_SPLITS):
        n_train = min(N_TRAIN, len(y) * 6 // 10)
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=n_train, stratify=y, random_state=seed
        )
        chosen = np.flatnonzero(np.isin(y_test, y_train))[:N_TEST]
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test[chosen])
        y_test = y_test[chosen]
        for case, options in CASES.items():
            classifier = pt.PolytomyClassifier(random_state=seed, **options).fit(X_train, y_train)
            for score, per_class in SCORES:
                sets = classifier.predict_set(X_test, LEVELS, score, per_class=per_class)
                coverage = pt.metrics.set_coverage(y_test, sets, classifier.classes_)
                size = pt.metrics.mean_set_size(sets)
                for k, level in enumerate(LEVELS):
                    error = np.sqrt(level * (1 - level) * (1 / n_train + 1 / len(y_test)))
                    rows.append(
                        {
                            "dataset": name,
                            "split": seed,
                            "classifier": case,
                            "score": f"{score}, per class" if per_class else score,
                            "level": level,
                            "coverage": round(float(coverage[k]), 4),
                            "size": round(float(size[k]), 3),
                            "error": round(float((coverage[k] - level) / error), 2),
                        }
                    )
    return rows


def summarise(rows: list[dict[str, Any]], field: str) -> None:
    """Print the mean coverage, the mean size and the fraction of low coverages, for each level."""
    print(f"\n{field:24}" + "".join(f"{f'at {level:.0%}':>26}" for level in LEVELS))
    print(" " * 24 + f"{'coverage':>10}{'size':>7}{'<-2sd':>9}" * len(LEVELS))
    for value in dict.fromkeys(row[field] for row in rows):
        line = f"{value:24}"
        for level in LEVELS:
            own = [row for row in rows if row[field] == value and row["level"] == level]
            coverage, size = (np.mean([row[each] for row in own]) for each in ("coverage", "size"))
            low = np.mean([row["error"] < -2 for row in own])
            line += f"{coverage:10.3f}{size:7.2f}{low:9.1%}"
        print(line)


def main(names: list[str]) -> None:
    chosen = names or data.available(DATASETS)
    if not chosen:
        print("no datasets: set POLYTOMY_DATA to their folder")
        return
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in chosen:
            print(f"{name} …", file=sys.stderr, flush=True)
            rows += measure(name)
    for field in ("score", "classifier", "dataset"):
        summarise(rows, field)
    if not names:
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
