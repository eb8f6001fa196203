"""Draw time, memory and accuracy against the number of classes.

`python docs/figures/many_classes.py` draws many_classes.csv, which `python -m benchmarks
many-classes` writes, as many_classes.png next to this file.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
PANELS = {
    "fit": "processor time to fit (s)",
    "megabytes": "peak memory (MB)",
    "accuracy": "accuracy",
    "top5": "true class among the first five",
}
COLOURS = {"polytomy": "#2d6f9e", "scikit-learn": "#c2573a", "napkinxc": "#6a8f3c"}
CARD, INK, PALE = "#fcfbf8", "#2b2b2b", "#77736b"


def read_table() -> dict[str, list[dict[str, str]]]:
    """Return the rows of each model, in the order of the table."""
    models: dict[str, list[dict[str, str]]] = defaultdict(list)
    with (FOLDER / "many_classes.csv").open() as file:
        for row in csv.DictReader(file):
            models[row["model"]].append(row)
    return models


def main() -> None:
    """Draw all panels."""
    mpl.rcParams.update({"font.size": 9, "axes.edgecolor": PALE, "text.color": INK})
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), facecolor=CARD, layout="constrained")
    for axis, (field, title) in zip(axes, PANELS.items(), strict=True):
        for name, rows in read_table().items():
            axis.plot(
                [int(row["classes"]) for row in rows],
                [float(row[field]) for row in rows],
                color=COLOURS[name.split(",")[0]],
                linestyle="--" if "tree" in name else "-",
                marker="s" if "SVC" in name else "o",
                markersize=4,
                label=name,
            )
        axis.set(title=title, xlabel="classes", xscale="log", facecolor=CARD)
        if field in ("fit", "megabytes"):
            axis.set_yscale("log")
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(FOLDER / "many_classes.png", dpi=110)


if __name__ == "__main__":
    main()
