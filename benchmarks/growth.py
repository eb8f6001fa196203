"""How do training and prediction grow with samples and classes?

Gaussian clouds of 20 features, RBF support vector machines (gamma 1/20), calibrated, two jobs.
Samples grow from 1,000 to 50,000 at ten classes; classes from 5 to 500 at 10,000 samples.
Prediction is `predict_proba` of 5,000 other samples. Left out: one-vs-one of 500 classes, whose
124,750 binaries have 40 samples each; and what has problems of 50,000 samples, whose kernel matrix
of 10 GB does not fit in a quarter of most machines' memory, so that LIBSVM trains for minutes.

    python -m benchmarks growth

Writes docs/results/growth.csv and docs/figures/growth.png.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

import polytomy as pt

DOCS = Path(__file__).parents[1] / "docs"
SAMPLES = (1_000, 3_000, 10_000, 30_000, 50_000)
CLASSES = (5, 20, 50, 100, 200, 500)
SCHEMES = ("one-vs-one", "one-vs-rest", "tree")
N_ASKED = 5_000
LARGEST_ONE_VS_ONE, LARGEST_REST = 200, 30_000


def clouds(n_samples: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples around the same centres, whatever the seed."""
    centres = np.random.default_rng(n_classes).normal(size=(n_classes, 20))
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    return centres[y] + random.normal(scale=1.5, size=(n_samples, 20)), y


def measure(scheme: str, n_samples: int, n_classes: int) -> dict[str, Any]:
    X, y = clouds(n_samples, n_classes, seed=0)
    asked, truth = clouds(N_ASKED, n_classes, seed=1)
    classifier = pt.PolytomyClassifier(SVC(gamma=0.05), scheme, random_state=0, n_jobs=2)
    started = time.perf_counter()
    classifier.fit(X, y)
    fitted = time.perf_counter()
    classifier.predict_proba(asked[:1])
    ready = time.perf_counter()
    probabilities = classifier.predict_proba(asked)
    done = time.perf_counter()
    return {
        "scheme": scheme,
        "samples": n_samples,
        "classes": n_classes,
        "binaries": len(classifier.binaries_),
        "fit_seconds": round(fitted - started, 3),
        "predict_seconds": round(done - ready, 4),
        "accuracy": float((classifier.classes_[probabilities.argmax(axis=1)] == truth).mean()),
    }


def draw(rows: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, varied, fixed, value in (
        (axes[0], "samples", "classes", 10),
        (axes[1], "classes", "samples", 10_000),
    ):
        for scheme, colour in zip(SCHEMES, ("#2166ac", "#b2501f", "#4d4d4d"), strict=True):
            own = [row for row in rows if row["scheme"] == scheme and row[fixed] == value]
            own.sort(key=lambda row: row[varied])
            across = [row[varied] for row in own]
            ax.loglog(across, [row["fit_seconds"] for row in own], "o-", color=colour, label=scheme)
            ax.loglog(across, [row["predict_seconds"] for row in own], "o:", color=colour)
        ax.set_xlabel(f"{varied} ({fixed}: {value:,})")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds; dotted: prediction")
    axes[0].legend(frameon=False)
    figure.savefig(DOCS / "figures" / "growth.png", dpi=110)


def main() -> None:
    measure("one-vs-one", 500, 5)  # what has to be compiled or loaded
    measure("one-vs-rest", 3_000, 5)
    cases = [(scheme, n_samples, 10) for n_samples in SAMPLES for scheme in SCHEMES]
    cases += [(scheme, 10_000, n_classes) for n_classes in CLASSES for scheme in SCHEMES]
    rows = []
    print(
        f"{'':14}{'samples':>9}{'classes':>9}{'binaries':>10}{'fit':>10}{'predict':>10}{'accuracy':>10}"
    )
    for scheme, n_samples, n_classes in cases:
        if n_classes > LARGEST_ONE_VS_ONE if scheme == "one-vs-one" else n_samples > LARGEST_REST:
            continue
        row = measure(scheme, n_samples, n_classes)
        rows.append(row)
        print(
            f"{scheme:14}{n_samples:9}{n_classes:9}{row['binaries']:10}{row['fit_seconds']:9.2f}s"
            f"{row['predict_seconds']:9.3f}s{row['accuracy']:10.3f}",
            flush=True,
        )
    with (DOCS / "results" / "growth.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows)


if __name__ == "__main__":
    main()
