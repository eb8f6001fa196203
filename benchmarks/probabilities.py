"""Are the probabilities as good as scikit-learn's? Log-loss and Brier score on real data.

One-vs-one RBF SVMs on standardised, stratified 70/30 splits, with and without a final calibration.
The peers are SVC(probability=True), which uses pairwise coupling and is deprecated, and the
recommended replacement, CalibratedClassifierCV(SVC(), ensemble=False).

    POLYTOMY_DATA=folder python -m benchmarks probabilities [dataset ...]
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

import polytomy as pt
from benchmarks import data

REPEATS = 3
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "probabilities.csv"


def classifiers(options: dict[str, Any], seed: int) -> dict[str, Any]:
    return {
        "polytomy": pt.PolytomyClassifier(SVC(**options), random_state=seed, n_jobs=2),
        "polytomy, final_calibration=None": pt.PolytomyClassifier(
            SVC(**options), final_calibration=None, random_state=seed, n_jobs=2
        ),
        "SVC(probability=True)": SVC(probability=True, random_state=seed, **options),
        "CalibratedClassifierCV": CalibratedClassifierCV(SVC(**options), ensemble=False, n_jobs=2),
    }


def measure(name: str) -> list[dict[str, Any]]:
    X, y = data.load(name)
    rows = []
    for seed in range(REPEATS):
        part = data.split(X, y, seed)
        for peer, classifier in classifiers(data.svm_options(name), seed).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                classifier.fit(part.X_train, part.y_train)
                proba = classifier.predict_proba(part.X_test)
            winners = classifier.classes_[proba.argmax(axis=1)]
            agrees = bool((winners == classifier.predict(part.X_test)).all())
            rows.append(
                {
                    "dataset": name,
                    "classifier": peer,
                    "seed": seed,
                    "log-loss": pt.metrics.log_loss(part.y_test, proba, classifier.classes_),
                    "Brier score": pt.metrics.brier_score(part.y_test, proba, classifier.classes_),
                    "accuracy": float((winners == part.y_test).mean()),
                    "predict is argmax": agrees,
                }
            )
    return rows


def summarise(rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(row["classifier"] for row in rows))
    print(f"{'dataset':10}" + "".join(f"{name:>34}" for name in names))
    print(f"{'':10}" + f"{'log-loss':>22}{'Brier':>12}" * len(names))
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        cells = ""
        for name in names:
            own = [row for row in rows if (row["dataset"], row["classifier"]) == (dataset, name)]
            losses = [row["log-loss"] for row in own]
            brier = np.mean([row["Brier score"] for row in own])
            cells += f"{np.mean(losses):13.4f} ±{np.std(losses, ddof=1):7.4f}{brier:12.4f}"
        print(f"{dataset:10}{cells}")


def main(names: list[str]) -> None:
    chosen = names or data.available()
    if not chosen:
        print("no datasets: set POLYTOMY_DATA to their folder")
        return
    rows: list[dict[str, Any]] = []
    for name in chosen:
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += measure(name)
    summarise(rows)
    if not names:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
