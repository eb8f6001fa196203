"""How do the times of training and prediction grow with samples and classes?

Gaussian clouds with 20 features; calibrated RBF SVMs (gamma 1/20); two jobs. Samples grow from
1,000 to 50,000 with ten classes, and classes from 5 to 500 with 10,000 samples. Prediction is
`predict_proba` for 5,000 new samples. Two cases are skipped: one-vs-one with 500 classes, which has
124,750 binaries of 40 samples each; and binary problems with 50,000 samples, whose kernel matrix of
10 GB exceeds a quarter of the memory of most machines, so that LIBSVM would train for minutes.

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
N_PREDICTED = 5_000
MOST_CLASSES_ONE_VS_ONE, MOST_SAMPLES_OTHERWISE = 200, 30_000


def make_clouds(n_samples: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples around centres that do not depend on the seed."""
    centres = np.random.default_rng(n_classes).normal(size=(n_classes, 20))
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    return centres[y] + random.normal(scale=1.5, size=(n_samples, 20)), y


def measure(scheme: str, n_samples: int, n_classes: int) -> dict[str, Any]:
    X, y = make_clouds(n_samples, n_classes, seed=0)
    X_new, y_new = make_clouds(N_PREDICTED, n_classes, seed=1)
    classifier = pt.PolytomyClassifier(
        SVC(gamma=0.05), scheme, final_calibration=None, random_state=0, n_jobs=2
    )
    started = time.perf_counter()
    classifier.fit(X, y)
    fitted = time.perf_counter()
    classifier.predict_proba(X_new[:1])
    ready = time.perf_counter()
    probabilities = classifier.predict_proba(X_new)
    done = time.perf_counter()
    return {
        "scheme": scheme,
        "samples": n_samples,
        "classes": n_classes,
        "binaries": len(classifier.binaries_),
        "fit_seconds": round(fitted - started, 3),
        "predict_seconds": round(done - ready, 4),
        "accuracy": float((classifier.classes_[probabilities.argmax(axis=1)] == y_new).mean()),
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
    axes[0].set_ylabel("seconds (dotted: prediction)")
    axes[0].legend(frameon=False)
    figure.savefig(DOCS / "figures" / "growth.png", dpi=110)


def main() -> None:
    measure("one-vs-one", 500, 5)  # compiles and imports everything needed
    measure("one-vs-rest", 3_000, 5)
    cases = [(scheme, n_samples, 10) for n_samples in SAMPLES for scheme in SCHEMES]
    cases += [(scheme, 10_000, n_classes) for n_classes in CLASSES for scheme in SCHEMES]
    rows = []
    print(
        f"{'':14}{'samples':>9}{'classes':>9}{'binaries':>10}{'fit':>10}{'predict':>10}{'accuracy':>10}"
    )
    for scheme, n_samples, n_classes in cases:
        if scheme == "one-vs-one":
            is_too_large = n_classes > MOST_CLASSES_ONE_VS_ONE
        else:
            is_too_large = n_samples > MOST_SAMPLES_OTHERWISE
        if is_too_large:
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
