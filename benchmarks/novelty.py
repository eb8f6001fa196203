"""Which score finds samples of classes that a model does not know?

    POLYTOMY_DATA=folder python -m benchmarks novelty [dataset ...]

One class at a time is left out of at most 1000 training rows, for four random classes of each
dataset, and has to be told from test rows of the known classes. The table has the mean area under
the ROC curve. "disagreement" is Σ (r·|A|p − A·p)² over the binaries, with the answers r, the code A
and the class probabilities p. "kernel" is one minus the largest kernel value of a sample and any
support vector.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import polytomy as pt
from benchmarks import data

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "novelty.csv"
DATASETS = ("digits", "letter", "pendigits", "sat", "segment", "usps", "urban", "humidity")
MODELS = {
    "svc one-vs-one": ("svc C=10", "one-vs-one"),
    "svc tree": ("svc C=10", "tree"),
    "logistic one-vs-rest": (LogisticRegression(max_iter=300), "one-vs-rest"),
}
N_TRAIN, N_ROWS, N_CLASSES, FEWEST = 1000, 2500, 4, 5


def splits(name: str) -> Iterator[tuple[Any, ...]]:
    """Yield training rows and labels, test rows, and whether each is of the class left out."""
    X, y = load_digits(return_X_y=True) if name == "digits" else data.load(name)
    random = np.random.default_rng(0)
    rows = random.permutation(len(y))[:N_ROWS]
    X, y = np.asarray(X, dtype=np.float64)[rows], y[rows]
    classes, counts = np.unique(y, return_counts=True)
    is_training = np.arange(len(y)) < min(N_TRAIN, len(y) // 2)
    for new in random.permutation(classes[counts >= 20])[:N_CLASSES]:
        of_training = y[is_training & (y != new)]
        known = [each for each in classes if np.sum(of_training == each) >= FEWEST]
        is_train = is_training & np.isin(y, known)
        is_test = (~is_training & np.isin(y, known)) | (y == new)
        scaler = StandardScaler().fit(X[is_train])
        X_train, X_test = scaler.transform(X[is_train]), scaler.transform(X[is_test])
        yield X_train, y[is_train], X_test, y[is_test] == new


def scores_of(model: pt.PolytomyClassifier, X: np.ndarray) -> dict[str, np.ndarray]:
    """Return each score of samples, larger for stranger ones."""
    proba, answers = model.predict_proba(X), model.decisions(X)
    code = model.scheme_.flatten().code.matrix.astype(np.float64)
    found = {
        "novelty": model.novelty(X),
        "1 - max": 1.0 - proba.max(axis=1),
        "disagreement": ((proba @ code.T - answers * (proba @ np.abs(code).T)) ** 2).sum(axis=1),
    }
    machines = [each.estimator for each in model.binaries_ if hasattr(each.estimator, "pool")]
    if machines:
        used = np.unique(np.concatenate([each.support_ for each in machines]))
        vectors = machines[0].pool.vectors[used]
        found["kernel"] = 1.0 - machines[0].kernel.matrix(X, vectors).max(axis=1)
    return found


def measure(name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each model."""
    areas: dict[str, dict[str, list[float]]] = {title: {} for title in MODELS}
    for X_train, y_train, X_test, is_new in splits(name):
        detector = OneClassSVM(nu=0.1).fit(X_train)
        for title, (estimator, scheme) in MODELS.items():
            model = pt.PolytomyClassifier(estimator, scheme, random_state=0).fit(X_train, y_train)
            found = scores_of(model, X_test)
            found["one-class SVM"] = -detector.decision_function(X_test)
            for score, values in found.items():
                areas[title].setdefault(score, []).append(roc_auc_score(is_new, values))
    for title, own in areas.items():
        means = {score: round(float(np.mean(each)), 3) for score, each in own.items()}
        yield {"dataset": name, "model": title, **means}


def main(names: list[str]) -> None:
    """Measure datasets, and write the table if all were measured."""
    rows = []
    for name in names or DATASETS:
        for row in measure(name):
            rows.append(row)
            print(row, flush=True)
    scores = [key for key in rows[0] if key not in ("dataset", "model")]
    for title in MODELS:
        own = [row for row in rows if row["model"] == title]
        means = {key: round(np.mean([row.get(key, np.nan) for row in own]), 3) for key in scores}
        print(title, {key: float(mean) for key, mean in means.items()})
    if not names:
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["dataset", "model", *scores])
            writer.writeheader()
            writer.writerows(rows)
