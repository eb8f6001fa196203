"""Mean ranks over datasets, with the critical difference (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polytomy.report.drawing import WIDTH, Scale, draw_x_axis, fit_text, svg
from polytomy.report.markup import Markup, tag
from polytomy.report.names import Name
from polytomy.trials import Ranking

__all__ = ["draw_ranks"]

_ROW = 21
_TOP = 30  # pixels for the critical difference
_NAMES = 164
_GROUP = 9  # pixels between the bars of groups
_BELOW = 32


def draw_ranks(names: Sequence[Name], ranking: Ranking, title: str) -> Markup:
    """Draw mean ranks, best first; bars join pairs that do not differ significantly.

    This is the usual diagram turned by 90 degrees, so that names fit on a narrow page.
    """
    order = np.argsort(ranking.mean_ranks, kind="stable").tolist()
    height_of = {k: _TOP + _ROW * (place + 0.5) for place, k in enumerate(order)}
    bottom = _TOP + _ROW * len(order)
    right = WIDTH - 10.0 - _GROUP * len(ranking.groups)
    scale = Scale(0.7, len(names) + 0.3, _NAMES + 8.0, right)
    drawn = draw_x_axis(scale, _TOP, bottom, "mean rank, 1 is best", n_ticks=min(len(names), 10))
    drawn += _draw_difference(ranking.critical_difference, scale)
    for k in order:
        name, rank, y = names[k], float(ranking.mean_ranks[k]), height_of[k]
        drawn.append(
            tag(
                "g",
                tag("path", d=f"M{scale.start:g} {y:g}H{scale(rank):.1f}"),
                tag("circle", cx=scale(rank), cy=y, r=4),
                tag("title", f"{name.text}: mean rank {rank:.2f}"),
                class_=f"rank {name.colour}",
            )
        )
        drawn.append(tag("text", fit_text(name.short, _NAMES), x=_NAMES, y=y + 3.5, class_="end"))
    for number, group in enumerate(ranking.groups):
        x = right + _GROUP * (number + 1)
        top, end = height_of[group[0]] - 5, height_of[group[-1]] + 5
        hint = f"no significant difference: {', '.join(names[k].text for k in group)}"
        drawn.append(tag("path", tag("title", hint), d=f"M{x:g} {top:g}V{end:g}", class_="group"))
    label = f"{title}: mean ranks over {ranking.n_datasets} datasets, best first"
    return svg(WIDTH, bottom + _BELOW, label, drawn)


def _draw_difference(difference: float, scale: Scale) -> list[Markup]:
    text = f"critical difference {difference:.2f}"
    start, end = scale(1), scale(1 + difference)
    if 1 + difference > scale.high:
        text += ": larger than the range of ranks"
    return [
        tag("path", d=f"M{start:.1f} 16v8M{start:.1f} 20H{end:.1f}M{end:.1f} 16v8", class_="ruler"),
        tag("text", text, x=scale.end, y=11, class_="tick end"),
    ]
