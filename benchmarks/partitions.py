"""When are partitions with more than two sides worthwhile?

    POLYTOMY_DATA=folder python -m benchmarks partitions [dataset ...]

Four natively multi-class learners: boosted trees, random forests, nearest neighbours and logistic
regression. Each is fitted directly, as a tree of n-way nodes (the empirical tree with merged
nodes), as an N-ary code, and as one-vs-one; for comparison also as a binary empirical tree. Each is
measured without a final calibration and with one on three folds, except one-vs-one of forests with
more than ten classes, which takes long. Codes have many models, so forests and boosted trees are
also fitted directly with more trees: "direct, more trees" has as many trees as the N-ary code of
forests, or 100 boosting iterations instead of 30.

Splits are random: at most 1000 rows for training and 2000 for testing, standardised on the
training rows. Times are CPU seconds of one process. Set OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1, so that it does not wait for threads.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from benchmarks import data
from polytomy import metrics

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "partitions.csv"
DATASETS = ("segment", "sat", "pendigits", "urban", "krkopt", "letter")
N_TRAIN, N_TEST, N_SPLITS = 1000, 2000, 2
MERGE = 0.7
MORE_TREES = "direct, more trees"
SCHEMES = ("direct", "n-way tree", "binary tree", "n-ary", "one-vs-one", MORE_TREES)
N_FOLDS = 3
WITH_TREES = ("boosted trees", "random forest")
COLUMNS = (
    "dataset",
    "split",
    "learner",
    "scheme",
    "final_calibration",
    "n_classes",
    "n_models",
    "accuracy",
    "log_loss",
    "fraction_of_zeros",
    "fit_seconds",
    "predict_seconds",
)


class Part(NamedTuple):
    """A split. Labels are class indices."""

    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray


def make_learners(seed: int) -> dict[str, Any]:
    return {
        "boosted trees": HistGradientBoostingClassifier(max_iter=30, random_state=seed),
        "random forest": RandomForestClassifier(50, random_state=seed),
        "k-nearest neighbours": KNeighborsClassifier(),
        "logistic regression": LogisticRegression(max_iter=1000),
    }


def make_scheme(name: str, part: Part) -> Any:
    if name in ("n-way tree", "binary tree"):
        merge = MERGE if name == "n-way tree" else None
        return pt.designs.empirical_tree(
            part.X_train, part.y_train, distance="centroid", linkage="average", merge=merge
        )
    return "direct" if name == MORE_TREES else name


def with_more_trees(learner: Any, n_classes: int) -> Any:
    if isinstance(learner, HistGradientBoostingClassifier):
        return clone(learner).set_params(max_iter=100)
    n_models = pt.designs.n_ary_code(n_classes, random_state=0).n_partitions
    return clone(learner).set_params(n_estimators=n_models * learner.n_estimators)


def split(name: str, seed: int) -> Part:
    X, labels = data.load(name)
    y = data.class_indices(name, labels)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(N_TRAIN, int(0.7 * len(y)))
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    classes, counts = np.unique(y[train], return_counts=True)
    # Nearest neighbours for a pair of classes need as many samples.
    classes = classes[counts >= 5]
    train, test = train[np.isin(y[train], classes)], test[np.isin(y[test], classes)]
    scaler = StandardScaler().fit(X[train])
    targets = (np.searchsorted(classes, y[rows]) for rows in (train, test))
    return Part(scaler.transform(X[train]), scaler.transform(X[test]), *targets)


def measure(part: Part, learner: Any, scheme: Any, final_calibration: Any, seed: int) -> Any:
    classifier = pt.PolytomyClassifier(
        learner, scheme, final_calibration=final_calibration, cv=N_FOLDS, random_state=seed
    )
    started = process_time()
    classifier.fit(part.X_train, part.y_train)
    fitted = process_time()
    proba = classifier.predict_proba(part.X_test)
    ended = process_time()
    of_truth = proba[np.arange(len(proba)), part.y_test]
    return {
        "n_classes": len(classifier.classes_),
        "n_models": classifier.scheme_.n_partitions,
        "accuracy": round(float(np.mean(proba.argmax(axis=1) == part.y_test)), 5),
        "log_loss": round(metrics.log_loss(part.y_test, proba, classifier.classes_), 5),
        "fraction_of_zeros": round(float(np.mean(of_truth == 0)), 5),
        "fit_seconds": round(fitted - started, 4),
        "predict_seconds": round(ended - fitted, 4),
    }


def measure_split(
    name: str, seed: int, schemes: Iterable[str] = SCHEMES
) -> Iterable[dict[str, Any]]:
    part = split(name, seed)
    for learner_name, learner in make_learners(seed).items():
        for scheme_name in schemes:
            if scheme_name == MORE_TREES:
                if learner_name not in WITH_TREES:
                    continue
                learner = with_more_trees(learner, len(np.unique(part.y_train)))
            is_long = (learner_name, scheme_name) == ("random forest", "one-vs-one")
            is_long &= part.y_train.max() >= 10
            for option in (None,) if is_long else (None, "bias"):
                yield {
                    "dataset": name,
                    "split": seed,
                    "learner": learner_name,
                    "scheme": scheme_name,
                    "final_calibration": str(option),
                    **measure(part, learner, make_scheme(scheme_name, part), option, seed),
                }


def mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def compare_with_direct(rows: list[dict[str, Any]], column: str) -> dict[tuple[str, ...], str]:
    """Return the mean and standard error of each learner and scheme over all splits and datasets.

    Accuracies are differences from the direct model on the same split; others are ratios to it.
    """
    direct = {
        (r["dataset"], r["split"], r["learner"], r["final_calibration"]): r
        for r in rows
        if r["scheme"] == "direct"
    }
    found: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        base = direct[row["dataset"], row["split"], row["learner"], row["final_calibration"]]
        own, other = float(row[column]), float(base[column])
        value = own - other if column == "accuracy" else np.log(own / other)
        key = row["learner"], row["final_calibration"], row["scheme"]
        found.setdefault(key, []).append(value)
    shown = {}
    for key, values in found.items():
        mean, error = mean_and_error(values)
        if column == "accuracy":
            shown[key] = f"{100 * mean:+.1f} ± {100 * error:.1f}"
        else:
            shown[key] = f"{np.exp(mean):.2f} ± {np.exp(mean) * error:.2f}"
    return shown


def summarise(rows: list[dict[str, Any]]) -> None:
    columns = ("accuracy", "log_loss", "fit_seconds", "predict_seconds")
    tables = [compare_with_direct(rows, column) for column in columns]
    print("\nCompared with the direct model: accuracy in points, the others as ratios.")
    print(f"{'':46}" + "".join(f"{column:>18}" for column in columns))
    for key in tables[0]:
        cells = "".join(f"{table[key]:>18}" for table in tables)
        print(f"{key[0]:22}{key[1]:6}{key[2]:18}{cells}")
    print("\nMeans over the splits: accuracy / log-loss / seconds to fit and predict")
    for name in dict.fromkeys(row["dataset"] for row in rows):
        for learner in dict.fromkeys(row["learner"] for row in rows):
            cells = []
            for scheme in SCHEMES:
                if scheme == MORE_TREES and learner not in WITH_TREES:
                    cells.append("")
                    continue
                own = [
                    row
                    for row in rows
                    if (row["dataset"], row["learner"], row["scheme"]) == (name, learner, scheme)
                    and row["final_calibration"] == "None"
                ]
                means = [np.mean([float(row[c]) for row in own]) for c in columns]
                cells.append(f"{means[0]:.3f} / {means[1]:.3f} / {means[2] + means[3]:.2f}")
            print(f"| {name} | {learner} | " + " | ".join(cells) + " |")


def main(arguments: list[str]) -> None:
    names = data.available(tuple(arguments) or DATASETS)
    if not names:
        print("Set POLYTOMY_DATA to the folder of the datasets.", file=sys.stderr)
        return
    rows: list[dict[str, Any]] = []
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(N_SPLITS):
            for name in names:
                rows += measure_split(name, seed)
                print(f"{name}, split {seed}: {perf_counter() - started:.0f} s", flush=True)
                if not arguments:
                    write(rows)
    summarise(rows)


def write(rows: list[dict[str, Any]]) -> None:
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
