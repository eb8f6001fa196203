"""The sections on measures and times: tables, score plots, ranks and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from polytomy.report.markup import Child, Markup, tag
from polytomy.report.names import Name, legend
from polytomy.report.parts import Panel, details, figure, gallery, section, tabs
from polytomy.report.rank_plots import draw_ranks
from polytomy.report.score_plots import (
    ScoreRow,
    TimedScore,
    draw_scores,
    draw_scores_against_time,
)
from polytomy.report.tables import comparison_table, key_to_marks, measure_table
from polytomy.trials import MEASURES, Beside, Comparison, Results, Table
from polytomy.trials.results import PairName

__all__ = ["measures_section", "times_section"]

_SCORE = "accuracy"
_TIMES = ("fit_seconds", "predict_seconds")


def measures_section(
    results: Results, beside: Sequence[Beside], names: Mapping[PairName, Name]
) -> Markup | None:
    """Return the table, scores, ranks and comparisons of every measure."""
    panels = [
        Panel(
            f"measure-{table.measure.name}",
            table.measure.title,
            _measure_panel(
                results, table, [e for e in beside if e.measure == table.measure.name], names
            ),
        )
        for table in results.tables()
    ]
    return section("measures", "Measures", tabs(panels, "Measure")) if panels else None


def _measure_panel(
    results: Results, table: Table, beside: Sequence[Beside], names: Mapping[PairName, Name]
) -> list[Child]:
    by_place = {(each.dataset, each.pair): each for each in beside}
    content: list[Child] = [
        measure_table(table, by_place, names),
        key_to_marks(table.measure, beside),
        _score_plots(table, by_place, names),
    ]
    if table.measure.best is not None:
        content += [_rank_plot(results, table, names), _comparisons(results, table, names)]
    return content


def _score_plots(
    table: Table, beside: Mapping[tuple[str, PairName], Beside], names: Mapping[PairName, Name]
) -> Markup | None:
    if table.measure.best is None:
        return None
    figures = []
    for k, dataset in enumerate(table.datasets):
        rows = [
            ScoreRow(
                names[pair], cell, other.theirs if (other := beside.get((dataset, pair))) else None
            )
            for pair, cells in zip(table.rows, table.cells, strict=True)
            if (cell := cells[k]) is not None
        ]
        if rows:
            figures.append(figure(dataset, draw_scores(rows, table.measure, dataset)))
    is_repeated = any(cell and cell.n_repeats > 1 for cells in table.cells for cell in cells)
    mark = "mean and standard deviation over the trials" if is_repeated else "a single trial"
    note = f"● {mark}; a ring marks the best."
    if beside:
        note += " ◇ published figure."
    return tag("div", tag("h4", "Scores"), gallery(figures), tag("p", note, class_="note"))


def _rank_plot(results: Results, table: Table, names: Mapping[PairName, Name]) -> Markup | None:
    ranked = results.rank(table.measure.name)
    if ranked is None:
        return None
    pairs, ranking = ranked
    drawn = draw_ranks([names[pair] for pair in pairs], ranking, table.measure.title)
    note = (
        f"Ranks of the means, averaged over the {ranking.n_datasets} datasets on which all pairs "
        "were measured. A bar on the right joins pairs that do not differ significantly: their "
        "mean ranks differ by less than the critical difference of Nemenyi's test at the 5% level."
    )
    if math.isfinite(ranking.p_value):
        note += f" Friedman's test that all pairs are equal gives p = {ranking.p_value:.2g}."
    return tag(
        "div",
        tag("h4", "Ranks over datasets"),
        tag("div", figure(None, drawn), tag("p", note, class_="note"), class_="beside"),
    )


def _comparisons(results: Results, table: Table, names: Mapping[PairName, Name]) -> Markup | None:
    found = results.compare(table.measure.name)
    if table.measure.of_scheme:
        found = _keep_one_per_row(found, table)
    if not found:
        return None
    note = (
        "Number of splits on which the first pair is better, and the second; p is the p-value of "
        "Wilcoxon's signed-rank test. Bold marks p ≤ 0.05. Splits of one dataset overlap, so the "
        "p-values are too optimistic."
    )
    return details(
        f"Paired comparisons, split by split ({len({each[2:4] for each in found})})",
        tag("p", note, class_="note"),
        comparison_table(found, list(dict.fromkeys(each.dataset for each in found)), names),
    )


def _keep_one_per_row(found: Sequence[Comparison], table: Table) -> list[Comparison]:
    """Return one comparison per two rows of a table in which methods share their values."""
    first: dict[tuple[str, frozenset[PairName]], Comparison] = {}
    for each in found:
        one, other = table.row_of(each.one), table.row_of(each.other)
        if one != other:
            key = each.dataset, frozenset((one, other))
            first.setdefault(key, each._replace(one=one, other=other))
    return list(first.values())


def times_section(results: Results, names: Mapping[PairName, Name]) -> Markup | None:
    """Return plots of accuracy against training and prediction time."""
    panels = []
    for measure in _TIMES:
        title = MEASURES[measure].title
        figures = []
        for dataset in results.datasets:
            points = [
                TimedScore(names[pair], seconds.mean, score)
                for pair in results.pairs
                if (seconds := results.cell(measure, dataset, pair)) is not None
                and (score := results.cell(_SCORE, dataset, pair)) is not None
            ]
            if points:
                drawn = draw_scores_against_time(
                    points, dataset, MEASURES[_SCORE].title, f"Mean {title.lower()}"
                )
                figures.append(figure([dataset, tag("span", "accuracy", class_="unit")], drawn))
        if figures:
            panels.append(Panel(f"time-{measure}", title, gallery(figures)))
    if not panels:
        return None
    note = "Higher is better; further left is faster. Whiskers show the standard deviation."
    return section(
        "times", "Accuracy against time", tag("p", note, class_="note"), legend(results),
        tabs(panels, "Time"),
    )  # fmt: skip
