"""How do time and memory grow with the number of classes, and what do trees cost in accuracy?

Synthetic classes in a hierarchy: each centre is a random walk down a tree of ten branches, and
samples are normal around the centres. One-vs-rest and a cluster tree of linear binaries, beside
scikit-learn's one-vs-rest and, where it is installed, napkinxc. Every row is measured in a process
of its own, with one job: processor time to fit and to find the five likeliest classes of a thousand
samples, peak memory of the process, and how often the first and one of the first five classes are
right. What took longer than ten seconds is not tried with more classes.

    python -m benchmarks many-classes [number of classes ...]

writes docs/figures/many_classes.csv, which docs/figures/many_classes.py draws.
"""

from __future__ import annotations

import csv
import importlib.util
import multiprocessing
import resource
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import polytomy as pt

TABLE = Path(__file__).parents[1] / "docs" / "figures" / "many_classes.csv"
COLUMNS = ("model", "classes", "rows", "fit", "top5_of_1000", "megabytes", "accuracy", "top5")
SIZES = {100: 50, 1000: 10, 10_000: 5}
N_FEATURES, N_TESTS, LONGEST, NOISE = 64, 1000, 10.0, 2.5

Answer = Callable[[Any], np.ndarray]


def make_samples(n_classes: int, n_each: int) -> tuple[Any, ...]:
    """Return samples of hierarchical classes to train on, and others to test."""
    rng = np.random.default_rng(0)
    centres, spread = np.zeros((1, N_FEATURES)), 2.0
    while len(centres) < n_classes:
        steps = rng.normal(scale=spread, size=(len(centres), 10, N_FEATURES))
        centres, spread = (centres[:, np.newaxis] + steps).reshape(-1, N_FEATURES), spread / 1.5
    centres = centres[:n_classes]
    y = np.repeat(np.arange(n_classes), n_each)[rng.permutation(n_classes * n_each)]
    y_test = rng.integers(0, n_classes, N_TESTS)
    X, X_test = (
        centres[labels] + NOISE * rng.normal(size=(len(labels), N_FEATURES))
        for labels in (y, y_test)
    )
    return X, y, X_test, y_test


WIDE = partial(pt.designs.cluster_tree, branches=10, nodes="one-vs-rest", random_state=0)


def fit_polytomy(estimator: Any, scheme: Any, X: Any, y: Any) -> Answer:
    classifier = pt.PolytomyClassifier(estimator, scheme, n_jobs=1, random_state=0).fit(X, y)
    return lambda samples: classifier.predict_top_k(samples, 5)[0]


def fit_sklearn(estimator: Any, X: Any, y: Any) -> Answer:
    classifier = OneVsRestClassifier(estimator).fit(X, y)

    def answer(samples: Any) -> np.ndarray:
        order = np.argsort(-classifier.predict_proba(samples), axis=1, kind="stable")
        return classifier.classes_[order[:, :5]]

    return answer


def fit_napkinxc(kind: str, X: Any, y: Any) -> Answer:
    from napkinxc import models

    folder = tempfile.mkdtemp()
    # With its own settings, which divide each row by its norm.
    model = getattr(models, kind)(folder, threads=1, verbose=False, seed=0)
    model.fit(csr_matrix(X.astype(np.float32)), [[int(label)] for label in y])

    def answer(samples: Any) -> np.ndarray:
        best = model.predict(csr_matrix(samples.astype(np.float32)), top_k=5)
        return np.array([[*row, -1, -1, -1, -1, -1][:5] for row in best])

    return answer


MODELS: dict[str, Callable[..., Answer]] = {
    "polytomy, logistic regression, one-vs-rest": lambda X, y: fit_polytomy(
        LogisticRegression(), "one-vs-rest", X, y
    ),
    "polytomy, logistic regression, cluster tree": lambda X, y: fit_polytomy(
        LogisticRegression(), "cluster-tree", X, y
    ),
    "polytomy, logistic regression, tree of ten branches": lambda X, y: fit_polytomy(
        LogisticRegression(), WIDE, X, y
    ),
    "polytomy, LinearSVC, one-vs-rest": lambda X, y: fit_polytomy(LinearSVC(), "one-vs-rest", X, y),
    "polytomy, LinearSVC, cluster tree": lambda X, y: fit_polytomy(
        LinearSVC(), "cluster-tree", X, y
    ),
    "scikit-learn, logistic regression, one-vs-rest": lambda X, y: fit_sklearn(
        LogisticRegression(), X, y
    ),
    "scikit-learn, calibrated LinearSVC, one-vs-rest": lambda X, y: fit_sklearn(
        CalibratedClassifierCV(LinearSVC()), X, y
    ),
    "napkinxc, logistic regression, one-vs-rest": lambda X, y: fit_napkinxc("OVR", X, y),
    "napkinxc, logistic regression, cluster tree": lambda X, y: fit_napkinxc("PLT", X, y),
}


def measure(name: str, n_classes: int, n_each: int, results: Any) -> None:
    """Put a row of the table into a queue; called in a process of its own."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = make_samples(n_classes, n_each)
    MODELS[name](X[:200], y[:200] % 5)(X_test[:5])  # loads what is loaded at the first use
    started = process_time()
    answer = MODELS[name](X, y)
    fitted = process_time()
    best = answer(X_test)
    answered = process_time()
    is_right = np.asarray(best) == y_test[:, np.newaxis]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    scores = is_right[:, 0].mean(), is_right.any(axis=1).mean()
    times = fitted - started, answered - fitted
    results.put((name, n_classes, len(y), *times, megabytes, *scores))


def write_table(rows: list[tuple[Any, ...]]) -> None:
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([*row[:3], *(f"{value:.3f}" for value in row[3:])] for row in rows)


def main(words: list[str]) -> None:
    sizes = [int(word) for word in words] or list(SIZES)
    has_napkinxc = importlib.util.find_spec("napkinxc") is not None
    context = multiprocessing.get_context("spawn")
    too_slow: set[str] = set()
    rows: list[tuple[Any, ...]] = []
    print(f"{'':52}{'classes':>8}{'fit':>9}{'top 5':>8}{'memory':>9}{'accuracy':>10}{'top-5':>7}")
    for n_classes in sizes:
        for name in MODELS:
            if name in too_slow or (name.startswith("napkinxc") and not has_napkinxc):
                continue
            results = context.Queue()
            arguments = name, n_classes, SIZES.get(n_classes, 10), results
            process = context.Process(target=measure, args=arguments)
            process.start()
            row = results.get()
            process.join()
            rows.append(row)
            write_table(rows)
            _, _, _, fit, top, megabytes, accuracy, top5 = row
            if fit > LONGEST:
                too_slow.add(name)
            print(
                f"{name:52}{n_classes:8}{fit:7.1f} s{top:6.1f} s{megabytes:6.0f} MB"
                f"{accuracy:10.3f}{top5:7.3f}",
                flush=True,
            )
