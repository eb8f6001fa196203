"""Draw predicted distributions of humidity.

`POLYTOMY_DATA=folder python docs/figures/humidity.py` writes humidity.png next to this file. The
data is that of the paper: seven brightness temperatures of a satellite, and the specific humidity.
`PolytomyRegressor` is trained on 3000 samples, and judged on 3000 others.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.regression import load_humidity

COLOURS = ("#8c6d2f", "#5b8c5a", "#2d6f9e", "#6b4c9a")
CARD, INK, PALE, TRUTH = "#fcfbf8", "#2b2b2b", "#77736b", "#c2573a"
N_SAMPLES, N_SHOWN = 3000, 120
UNIT = "specific humidity, g/kg"


def draw_densities(
    axes: Axes, distribution: pt.regression.BinnedDistribution, y: np.ndarray
) -> None:
    """Draw the densities of four samples, from dry to moist, and their true values."""
    order = np.argsort(distribution.median())
    chosen = order[[int(share * len(order)) for share in (0.1, 0.4, 0.7, 0.95)]]
    grid = np.geomspace(np.quantile(y, 0.002), y.max(), 1500)
    for row, colour in zip(chosen, COLOURS, strict=True):
        density = distribution[[row]].pdf(grid[np.newaxis])[0] * grid  # for an axis of logarithms
        axes.fill_between(grid, density, color=colour, alpha=0.25, linewidth=0)
        axes.plot(grid, density, color=colour, linewidth=1.2)
        axes.axvline(y[row], color=colour, linewidth=1.2, linestyle="--")
    axes.set(xscale="log", xlim=(grid[0], grid[-1]), facecolor="white")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(UNIT, fontsize=9, color=INK)
    axes.set_ylabel("density per unit of log humidity", fontsize=9, color=INK)
    axes.set_title("Four samples; dashed: what was true", fontsize=11, color=INK)


def draw_intervals(axes: Axes, intervals: np.ndarray, median: np.ndarray, y: np.ndarray) -> None:
    """Draw intervals of some samples in the order of their medians, and the true values."""
    rows = np.argsort(median[:N_SHOWN])
    places = np.arange(N_SHOWN)
    for level, (width, alpha) in enumerate(((0.9, 0.55), (0.9, 0.22))):
        low, high = intervals[rows, 0, level], intervals[rows, 1, level]
        axes.bar(places, high - low, width, bottom=low, color=COLOURS[2], alpha=alpha, linewidth=0)
    is_inside = (intervals[rows, 0, 1] <= y[rows]) & (y[rows] <= intervals[rows, 1, 1])
    for is_shown, colour in ((is_inside, INK), (~is_inside, TRUTH)):
        axes.scatter(places[is_shown], y[rows][is_shown], s=9, color=colour, zorder=3)
    axes.set(yscale="log", xlim=(-1, N_SHOWN), facecolor="white")
    axes.set_xlabel(f"{N_SHOWN} samples, in the order of their medians", fontsize=9, color=INK)
    axes.set_ylabel(UNIT, fontsize=9, color=INK)
    axes.set_title("Intervals of 50 % and 90 %, and true values", fontsize=11, color=INK)


def draw_coverage(axes: Axes, levels: np.ndarray, covered: list[float], plain: list[float]) -> None:
    """Draw the share of true values inside intervals over their confidence."""
    axes.plot([0, 1], [0, 1], color=PALE, linewidth=1, linestyle="--")
    axes.plot(levels, plain, color=TRUTH, marker="o", markersize=4, label="predicted quantiles")
    axes.plot(levels, covered, color=COLOURS[2], marker="o", markersize=4, label="predict_interval")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", facecolor="white")
    axes.set_xlabel("confidence level", fontsize=9, color=INK)
    axes.set_ylabel("coverage of new samples", fontsize=9, color=INK)
    axes.set_title("Coverage", fontsize=11, color=INK)
    axes.legend(loc="upper left", fontsize=8, frameon=False)


def main() -> None:
    """Write the picture, and print the scores."""
    X, y = load_humidity()
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:N_SAMPLES], order[N_SAMPLES : 2 * N_SAMPLES]
    machine = make_pipeline(StandardScaler(), SVC(C=50))
    regressor = pt.PolytomyRegressor(machine, random_state=0, shared_preprocessing=True)
    regressor.fit(X[train], y[train])
    distribution, truth = regressor.predict_distribution(X[test]), y[test]
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
    intervals = regressor.predict_interval(X[test], levels)
    covered = [pt.metrics.interval_coverage(truth, intervals[:, :, k]) for k in range(len(levels))]
    plain = [
        pt.metrics.interval_coverage(truth, np.column_stack(distribution.interval(level)))
        for level in levels
    ]
    rmse = np.sqrt(np.mean((truth - distribution.mean()) ** 2))
    print(f"expected {regressor.out_of_fold_score_}")
    print(f"CRPS {pt.metrics.crps(truth, distribution):.4f}, RMSE {rmse:.4f}, coverage {covered}")
    mpl.rcParams["font.family"] = "DejaVu Sans"  # comes with matplotlib
    figure, row = plt.subplots(
        1, 3, figsize=(13.2, 4), facecolor=CARD, layout="constrained", width_ratios=(1.3, 1.5, 1)
    )
    draw_densities(row[0], distribution, truth)
    draw_intervals(row[1], intervals[:, :, [2, 5]], distribution.median(), truth)
    draw_coverage(row[2], levels, covered, plain)
    for axes in row:
        axes.tick_params(labelsize=8, colors=INK)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
