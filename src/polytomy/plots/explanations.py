"""Bar chart of what adds to the winner of a sample over the runner-up."""

from __future__ import annotations

from typing import Any

from polytomy.errors import Argument, ArgumentError
from polytomy.plots.canvas import (
    FAINT,
    NEGATIVE,
    PLAIN_TEXT,
    POSITIVE,
    SMALL,
    axes_or_new,
    ink,
    style_axes,
)

__all__ = ["explanation"]


def explanation(explained: Any, *, most: int = 12, ax: Any = None) -> Any:
    """Draw an explanation: a bar for each partition, for each other term, and for the sum.

    Blue bars to the right favour the winner; orange bars to the left favour the runner-up.

    Parameters
    ----------
    explained : Explanation, one item of what ``classifier.explain(X)`` returns
    most : int, default=12
        Number of partitions that get their own bar; the others share one.
    ax : matplotlib axes, optional

    Returns
    -------
    axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier(random_state=0).fit(X, y)
    >>> axes = pt.plots.explanation(classifier.explain(X[[77]])[0])
    >>> axes.get_title()
    '2 over 1'
    """
    if not hasattr(explained, "terms"):
        raise ArgumentError(
            Argument("explained"), " must be one explanation, such as classifier.explain(X)[0]."
        )
    terms, others = explained.terms[:most], explained.terms[most:]
    bars = [(f"{term.name}   {term.describe()}", term.adds) for term in terms]
    if others:
        bars.append((f"{len(others)} more partitions", sum(term.adds for term in others)))
    bars += explained.rest.items()
    ax = axes_or_new(ax, 7.4, 0.9 + 0.28 * (len(bars) + 1))
    values = [adds for _, adds in bars] + [explained.difference]
    colours = [NEGATIVE if value >= 0 else POSITIVE for value in values]
    colours[-1] = ink()
    places = range(len(values))
    ax.barh(places, values, color=colours, height=0.7)
    ax.axvline(0.0, color=FAINT, linewidth=0.8)
    ax.set_yticks(places, [name for name, _ in bars] + ["sum"], **PLAIN_TEXT)
    ax.invert_yaxis()
    for place, value in zip(places, values, strict=True):
        ax.annotate(
            f"{value:+.2f}", (value, place), (4 if value >= 0 else -4, 0),
            textcoords="offset points", va="center", ha="left" if value >= 0 else "right",
            fontsize=SMALL,
        )  # fmt: skip
    ax.margins(x=0.15)
    ax.set_title(f"{explained.winner} over {explained.runner_up}", **PLAIN_TEXT)
    ax.set_xlabel(_TITLES[explained.scale])
    style_axes(ax)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


_TITLES = {
    "log-odds": "log P(winner) − log P(runner-up)",
    "probability": "P(winner) − P(runner-up)",
    "score": "score of the winner − score of the runner-up",
}
