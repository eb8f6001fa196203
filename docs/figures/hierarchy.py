"""Draw error rates down a hierarchy of digits: `python docs/figures/hierarchy.py`.

Writes hierarchy.png next to this file.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_digits

import polytomy as pt

SHAPES = {"round": [0, 6, 8, 9], "straight": {"bars": [1, 4, 7], "bends": [2, 3, 5]}}


def main() -> None:
    """Train on the first half of scikit-learn's digits and draw the scores of the second."""
    mpl.use("agg")
    X, y = load_digits(return_X_y=True)
    classifier = pt.PolytomyClassifier("logistic-regression", SHAPES, random_state=0)
    classifier.fit(X[:900] / 16, y[:900])
    axes = pt.plots.tree(classifier, X=X[900:] / 16, y=y[900:], names=True)
    axes.figure.savefig(Path(__file__).parent / "hierarchy.png", dpi=110)


if __name__ == "__main__":
    main()
