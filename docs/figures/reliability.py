"""Draw reliability diagrams before and after the final calibration.

`python docs/figures/reliability.py` writes reliability.png next to this file. The machines are
trained on 300 of scikit-learn's digits and judged on the others, on ten random splits. All classes
are in one diagram: a bin has all probabilities in its range, whichever class they belong to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import polytomy as pt

SCHEMES = ("one-vs-one", "one-vs-rest", "adjacent", "orthogonal")
OPTIONS = {"before": None, "after": "bias"}
COLOURS = {"before": "#c2573a", "after": "#2d6f9e"}
CARD, INK, PALE = "#fcfbf8", "#2b2b2b", "#77736b"
N_SPLITS, N_TRAIN, FEWEST = 10, 300, 30


def measure(scheme: str) -> dict[str, tuple[np.ndarray, float]]:
    """Return the reliability of all classes together, and the mean log-loss, for each option."""
    X, y = load_digits(return_X_y=True)
    tables: dict[str, list[Any]] = {name: [] for name in OPTIONS}
    losses: dict[str, list[float]] = {name: [] for name in OPTIONS}
    for seed in range(N_SPLITS):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=N_TRAIN, stratify=y, random_state=seed
        )
        for name, option in OPTIONS.items():
            classifier = pt.PolytomyClassifier(
                SVC(), scheme, final_calibration=option, random_state=seed
            )
            proba = classifier.fit(X_train, y_train).predict_proba(X_test)
            tables[name].append(pt.metrics.reliability_table(y_test, proba).ravel())
            losses[name].append(pt.metrics.log_loss(y_test, proba))
    return {name: (pool(tables[name]), float(np.mean(losses[name]))) for name in OPTIONS}


def pool(tables: list[Any]) -> np.ndarray:
    """Return predicted and observed frequencies of the bins that have enough samples."""
    rows = np.concatenate(tables)
    rows = rows[rows["weight"] > 0]
    points = []
    for lower in np.unique(rows["lower"]):
        own = rows[rows["lower"] == lower]
        if own["weight"].sum() >= FEWEST:
            points.append(
                [
                    np.average(own[field], weights=own["weight"])
                    for field in ("predicted", "observed")
                ]
            )
    return np.array(points).T


def draw(axes: Axes, scheme: str) -> None:
    """Draw the diagrams of a scheme, one over the other."""
    axes.plot([0, 1], [0, 1], color=PALE, linewidth=1, linestyle="--")
    for name, ((predicted, observed), loss) in measure(scheme).items():
        axes.plot(
            predicted,
            observed,
            marker="o",
            markersize=4,
            color=COLOURS[name],
            label=f"{name}, log-loss {loss:.2f}",
        )
    axes.set_title(scheme, fontsize=11, color=INK)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", facecolor="white")
    axes.set_xlabel("predicted probability", fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=INK)
    axes.legend(loc="upper left", fontsize=8, frameon=False, handlelength=1.4)


def main() -> None:
    """Write the picture."""
    mpl.rcParams["font.family"] = "DejaVu Sans"  # comes with matplotlib
    figure, row = plt.subplots(
        1, len(SCHEMES), figsize=(12.4, 3.7), facecolor=CARD, layout="constrained", sharey=True
    )
    for axes, scheme in zip(row, SCHEMES, strict=True):
        draw(axes, scheme)
    row[0].set_ylabel("observed frequency", fontsize=9, color=INK)
    target = Path(__file__).with_suffix(".png")
    figure.savefig(target, dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
