"""How do time and memory grow with the number of classes, and what do trees cost in accuracy?

Synthetic classes in a hierarchy: each centre is a random walk down a tree with ten branches per
node, and samples are normally distributed around the centres. One-vs-rest and cluster trees of
linear binaries are compared with scikit-learn's one-vs-rest and, if installed, napkinxc. Linear
discriminant analysis is designed for such normal classes, and shows how accurate a model can be.
Every row is measured in its own process, with one thread: processor time to fit and to find the
five most likely classes of a thousand samples, peak memory of the process, top-1 and top-5
accuracy. One-vs-rest, which takes minutes to hours there, is not tried with more than 1000 classes.

    python -m benchmarks many-classes [number of classes ...] [plot]

Without numbers, it measures 100, 1000 and 10,000 classes in about ten minutes. It writes
docs/results/many_classes.csv, the table in docs/many_classes.md and
docs/figures/many_classes.png; "plot" only redraws the figure and rewrites the table.
"""

from __future__ import annotations

import csv
import importlib.util
import multiprocessing
import os
import queue
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
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import polytomy as pt
from benchmarks.pages import DOCS, replace_table

RESULTS = DOCS / "results" / "many_classes.csv"
FIGURE = DOCS / "figures" / "many_classes.png"
COLUMNS = ("model", "classes", "rows", "fit", "top5_of_1000", "megabytes", "accuracy", "top5")
SIZES = {100: 50, 1000: 10, 10_000: 5}
N_FEATURES, N_TESTS, NOISE = 64, 1000, 2.5
MOST_OF_ONE_VS_REST = 1000

Answer = Callable[[Any], np.ndarray]


def make_samples(n_classes: int, n_each: int) -> tuple[Any, ...]:
    """Return training and test samples of hierarchical classes."""
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
    classifier = estimator.fit(X, y)

    def answer(samples: Any) -> np.ndarray:
        order = np.argsort(-classifier.predict_proba(samples), axis=1, kind="stable")
        return classifier.classes_[order[:, :5]]

    return answer


def fit_napkinxc(kind: str, X: Any, y: Any) -> Answer:
    from napkinxc import models

    folder = tempfile.mkdtemp()
    # With its default settings, which divide each row by its norm.
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
    "polytomy, logistic regression, C=scale, one-vs-rest": lambda X, y: fit_polytomy(
        "logistic-regression C=scale", "one-vs-rest", X, y
    ),
    "polytomy, logistic regression, C=scale, cluster tree": lambda X, y: fit_polytomy(
        "logistic-regression C=scale", "cluster-tree", X, y
    ),
    "polytomy, logistic regression, C=scale, tree of ten branches": lambda X, y: fit_polytomy(
        "logistic-regression C=scale", WIDE, X, y
    ),
    "polytomy, LinearSVC, one-vs-rest": lambda X, y: fit_polytomy(LinearSVC(), "one-vs-rest", X, y),
    "polytomy, LinearSVC, cluster tree": lambda X, y: fit_polytomy(
        LinearSVC(), "cluster-tree", X, y
    ),
    "scikit-learn, logistic regression, one-vs-rest": lambda X, y: fit_sklearn(
        OneVsRestClassifier(LogisticRegression()), X, y
    ),
    "scikit-learn, calibrated LinearSVC, one-vs-rest": lambda X, y: fit_sklearn(
        OneVsRestClassifier(CalibratedClassifierCV(LinearSVC())), X, y
    ),
    "scikit-learn, linear discriminant analysis": lambda X, y: fit_sklearn(
        LinearDiscriminantAnalysis(), X, y
    ),
    "napkinxc, logistic regression, one-vs-rest": lambda X, y: fit_napkinxc("OVR", X, y),
    "napkinxc, logistic regression, cluster tree": lambda X, y: fit_napkinxc("PLT", X, y),
}


def measure(name: str, n_classes: int, n_each: int, results: Any) -> None:
    """Put a row of the table into a queue; runs in a separate process."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = make_samples(n_classes, n_each)
    MODELS[name](X[:200], y[:200] % 5)(X_test[:5])  # import what is imported on first use
    started = process_time()
    answer = MODELS[name](X, y)
    fitted = process_time()
    best = answer(X_test)
    answered = process_time()
    is_right = np.asarray(best) == y_test[:, np.newaxis]
    scores = is_right[:, 0].mean(), is_right.any(axis=1).mean()
    numbers = fitted - started, answered - fitted, peak_megabytes(), *scores
    row = name, n_classes, len(y), *(f"{value:.3f}" for value in numbers)
    results.put(dict(zip(COLUMNS, map(str, row), strict=True)))


def peak_megabytes() -> float:
    """Return the peak memory of this process; getrusage may return that of its parent."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1e3
    raise OSError("this system does not tell the memory of a process")


def read_results() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open() as file:
        return list(csv.DictReader(file))


def write_results(rows: list[dict[str, str]]) -> None:
    names = list(MODELS)
    rows = [row for row in rows if row["model"] in names]
    rows.sort(key=lambda row: (int(row["classes"]), names.index(row["model"])))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measure_apart(name: str, n_classes: int) -> dict[str, str] | None:
    """Return a row of the table, measured in another process; None if that process failed."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = name, n_classes, SIZES.get(n_classes, 10), results
    process = context.Process(target=measure, args=arguments)
    process.start()
    while process.is_alive() or not results.empty():
        try:
            row: dict[str, str] = results.get(timeout=1.0)
        except queue.Empty:
            continue
        process.join()
        return row
    print(f"{name:62}{n_classes:8}  failed", flush=True)
    return None


def write_page() -> None:
    """Write the table in docs/many_classes.md."""
    header = "model", "classes", "fit", "memory", "accuracy", "top-5"
    rows = [
        (
            row["model"],
            f"{int(row['classes']):,}",
            f"{float(row['fit']):.1f} s",
            f"{float(row['megabytes']):.0f} MB",
            f"{float(row['accuracy']):.1%}".replace("%", " %"),
            f"{float(row['top5']):.1%}".replace("%", " %"),
        )
        for row in read_results()
    ]
    replace_table("many_classes.md", "many classes", header, rows)


def plot() -> None:
    """Draw time, memory, accuracy and top-5 against the number of classes."""
    from matplotlib.figure import Figure

    panels = {
        "fit": "processor time to fit (s)",
        "megabytes": "peak memory (MB)",
        "accuracy": "accuracy",
        "top5": "true class among the first five",
    }
    colours = {"polytomy": "#8fb8d6", "scikit-learn": "#c2573a", "napkinxc": "#6a8f3c"}
    figure = Figure(figsize=(13, 4.2), facecolor="#fcfbf8", layout="constrained")
    rows = read_results()
    axes = figure.subplots(1, 4)
    for axis, (field, title) in zip(axes, panels.items(), strict=True):
        for name in MODELS:
            own = [row for row in rows if row["model"] == name]
            if not own:
                continue
            is_wide, is_discriminant = "ten" in name, "discriminant" in name
            axis.plot(
                [int(row["classes"]) for row in own],
                [float(row[field]) for row in own],
                color="#1d4f76" if "C=scale" in name else colours[name.split(",")[0]],
                linestyle="-." if is_wide else "--" if "tree" in name else "-",
                marker="D" if is_discriminant else "s" if "SVC" in name else "o",
                markersize=4,
                label=name,
            )
        axis.set(title=title, xlabel="classes", xscale="log", facecolor="#fcfbf8")
        if field in ("fit", "megabytes"):
            axis.set_yscale("log")
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(FIGURE, dpi=110)


def measure_all(sizes: list[int]) -> None:
    has_napkinxc = importlib.util.find_spec("napkinxc") is not None
    if not has_napkinxc:
        print("napkinxc is not installed, and is left out.")
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"  # for the measuring processes
    print(f"{'':62}{'classes':>8}{'fit':>9}{'top 5':>8}{'memory':>9}{'accuracy':>10}{'top-5':>7}")
    for n_classes in sizes:
        for name in MODELS:
            if "one-vs-rest" in name and n_classes > MOST_OF_ONE_VS_REST:
                continue
            if name.startswith("napkinxc") and not has_napkinxc:
                continue
            row = measure_apart(name, n_classes)
            if row is None:
                continue
            fit, top, megabytes, accuracy, top5 = (float(row[field]) for field in COLUMNS[3:])
            print(
                f"{name:62}{n_classes:8}{fit:7.1f} s{top:6.1f} s{megabytes:6.0f} MB"
                f"{accuracy:10.3f}{top5:7.3f}",
                flush=True,
            )
            cell = name, str(n_classes)
            others = [each for each in read_results() if (each["model"], each["classes"]) != cell]
            write_results([*others, row])


def main(words: list[str]) -> None:
    sizes = [int(word) for word in words if word.isdigit()]
    if words != ["plot"]:
        measure_all(sizes or list(SIZES))
    write_page()
    plot()
