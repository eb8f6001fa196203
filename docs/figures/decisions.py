"""Draw prediction sets, a shifted prior, costs and an explanation.

`python docs/figures/decisions.py` writes sets.png, prior.png, costs.png and explanation.png next to
this file. The first three show a classifier of three overlapping classes in the plane; the last one
explains one of scikit-learn's digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import polytomy as pt

CARD, INK, PALE = "#fcfbf8", "#2b2b2b", "#77736b"
CLASSES = ["#2d6f9e", "#c2573a", "#6a9a4b"]
CENTRES = np.array([[0.0, 0.0], [2.2, 0.3], [0.8, 2.0]])
PRIOR, SHIFTED = (0.5, 0.3, 0.2), (0.1, 0.2, 0.7)
COSTS = [[0, 1, 1], [1, 0, 1], [6, 6, 0]]
SPAN = np.linspace(-2.8, 5.0, 220), np.linspace(-2.8, 5.0, 220)


def draw_samples(n_samples: int, prior: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of three round classes, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n_samples, p=prior)
    return CENTRES[labels] + rng.normal(size=(n_samples, 2)), labels


def draw_plane(axes: Axes, values: np.ndarray, colours: list[Any], title: str) -> None:
    """Draw a number for each point of the plane."""
    axes.imshow(
        values.reshape(len(SPAN[1]), len(SPAN[0])),
        extent=(SPAN[0][0], SPAN[0][-1], SPAN[1][0], SPAN[1][-1]),
        origin="lower", cmap=ListedColormap(colours), vmin=-0.5, vmax=len(colours) - 0.5,
        interpolation="nearest", alpha=0.55,
    )  # fmt: skip
    axes.set_title(title, fontsize=10, color=INK)
    axes.set(xticks=[], yticks=[], xlim=SPAN[0][[0, -1]], ylim=SPAN[1][[0, -1]])


def scatter(axes: Axes, X: np.ndarray, y: np.ndarray) -> None:
    """Draw samples in the colours of their classes."""
    axes.scatter(*X.T, c=[CLASSES[k] for k in y], s=9, linewidths=0.3, edgecolors="white")


def new_figure(width: float, columns: int, height: float = 3.6, **options: Any) -> Any:
    """Return a figure with one row of axes."""
    return plt.subplots(
        1, columns, figsize=(width, height), facecolor=CARD, layout="constrained", **options
    )


def save(figure: Any, name: str) -> None:
    """Write a figure next to this file."""
    figure.savefig(Path(__file__).with_name(name), dpi=110, metadata={"Software": None})


def plot_sets(classifier: Any, plane: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    """Draw the sizes of sets in the plane, and how often they are right."""
    figure, (left, right) = new_figure(8.8, 2)
    sizes = classifier.predict_set(plane, 0.9).sum(axis=1)
    draw_plane(left, sizes - 1, ["#e9e5dc", "#d9b26a", "#a8743b"], "classes in the set, at 90 %")
    scatter(left, X[:300], y[:300])
    for size, colour in enumerate(("#e9e5dc", "#d9b26a", "#a8743b"), 1):
        left.scatter([], [], marker="s", color=colour, label=str(size))
    left.legend(fontsize=8, loc="lower right", title="classes", title_fontsize=8)
    levels = np.linspace(0.5, 0.99, 50)
    right.plot([0.5, 1], [0.5, 1], color=PALE, linewidth=1, linestyle="--")
    new, truth = draw_samples(20_000, PRIOR, 2)
    for score, colour in zip(("lac", "aps", "raps"), CLASSES, strict=True):
        sets = classifier.predict_set(new, levels, score)
        right.plot(levels, pt.metrics.set_coverage(truth, sets), color=colour, label=score)
    right.axhline(classifier.score(new, truth), color=PALE, linewidth=0.7)
    right.annotate("accuracy", (0.5, classifier.score(new, truth)), (0, 3), fontsize=8,
                   textcoords="offset points", color=PALE)  # fmt: skip
    right.set(xlabel="confidence level", ylabel="coverage of new samples")
    right.legend(fontsize=8, frameon=False, loc="lower right")
    right.set_title("measured on 20,000 new samples", fontsize=10, color=INK)
    save(figure, "sets.png")


def plot_prior(classifier: Any) -> None:
    """Draw the prior of training, of new data, and the one that is estimated."""
    new, truth = draw_samples(2000, SHIFTED, 3)
    estimate = classifier.estimate_prior(new)
    adapted = classifier.with_prior(estimate)
    figure, (left, right) = new_figure(8.8, 2, 3.2)
    bars = {
        "training": classifier.prior_,
        "new data": np.bincount(truth) / len(truth),
        "estimated": estimate,
    }
    for k, (name, values) in enumerate(bars.items()):
        left.bar(np.arange(3) + 0.27 * (k - 1), values, 0.25, label=name,
                 color=["#c9c3b6", INK, CLASSES[0]][k])  # fmt: skip
    left.set_xticks(range(3), ["class 0", "class 1", "class 2"])
    left.set_ylabel("share of the samples")
    left.legend(fontsize=8, frameon=False, loc="upper left")
    names = ["as trained", "with the estimate"]
    rates = [1 - each.score(new, truth) for each in (classifier, adapted)]
    right.barh(names, rates, color=["#c9c3b6", CLASSES[0]], height=0.5)
    for place, rate in enumerate(rates):
        right.annotate(
            f"{rate:.1%}", (rate, place), (4, 0), textcoords="offset points", va="center"
        )
    right.set(xlabel="share of wrong predictions", xlim=(0, 1.2 * max(rates)))
    right.invert_yaxis()
    save(figure, "prior.png")


def plot_costs(classifier: Any, plane: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    """Draw what is predicted without costs, with costs, and with no prediction as a choice."""
    figure, row = new_figure(11.4, 3)
    choices = {
        "every error costs 1": classifier,
        "to miss class 2 (green) costs 6": classifier.with_cost(COSTS),
        "… and no prediction (white) costs 0.7": classifier.with_cost(COSTS, 0.7),
    }
    for axes, (title, each) in zip(row, choices.items(), strict=True):
        predicted = each.predict(plane)
        draw_plane(axes, np.where(predicted < 0, 3, predicted), [*CLASSES, "#ffffff"], title)
        scatter(axes, X[:300], y[:300])
    save(figure, "costs.png")


def plot_explanation() -> None:
    """Draw a digit and why it was taken for what it was."""
    X, y = load_digits(return_X_y=True)
    classifier = pt.PolytomyClassifier(SVC(), "one-vs-one", random_state=0)
    classifier.fit(X[:600], y[:600])
    proba = classifier.predict_proba(X[600:])
    is_right = proba.argmax(axis=1) == y[600:]
    sample = 600 + int(np.argmin(np.where(is_right, proba.max(axis=1), 1.0)))
    figure, (left, right) = new_figure(9.6, 2, 3.0, width_ratios=[1, 3])
    left.imshow(X[sample].reshape(8, 8), cmap="gray_r")
    left.set(xticks=[], yticks=[], title=f"truth: {y[sample]}")
    pt.plots.explanation(classifier.explain(X[[sample]])[0], most=9, ax=right)
    save(figure, "explanation.png")


def main() -> None:
    """Write the pictures."""
    mpl.rcParams["font.family"] = "DejaVu Sans"  # comes with matplotlib
    X, y = draw_samples(1000, PRIOR, 1)
    classifier = pt.PolytomyClassifier(LogisticRegression(), random_state=0).fit(X, y)
    plane = np.stack(np.meshgrid(*SPAN), axis=-1).reshape(-1, 2)
    plot_sets(classifier, plane, X, y)
    plot_prior(classifier)
    plot_costs(classifier, plane, X, y)
    plot_explanation()


if __name__ == "__main__":
    main()
