"""The sections of measures: tables, scores with error bars, ranks, comparisons; and times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from polytomy.report.markup import Child, Markup, tag
from polytomy.report.names import Name, legend
from polytomy.report.parts import Panel, choose_from, figure, gallery, section, unfold
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
    """Return table, scores, ranks and comparisons of every measure."""
    panels = [
        Panel(
            f"measure-{table.measure.name}",
            table.measure.title,
            _panel(results, table, [e for e in beside if e.measure == table.measure.name], names),
        )
        for table in results.tables()
    ]
    return section("measures", "Measures", choose_from(panels, "Measure")) if panels else None


def _panel(
    results: Results, table: Table, beside: Sequence[Beside], names: Mapping[PairName, Name]
) -> list[Child]:
    places = {(each.dataset, each.pair): each for each in beside}
    content: list[Child] = [
        measure_table(table, places, names),
        key_to_marks(table.measure, beside),
        _scores(table, places, names),
    ]
    if table.measure.best is not None:
        content += [_ranks(results, table, names), _comparisons(results, table, names)]
    return content


def _scores(
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
    mark = "mean and standard deviation over the trials" if is_repeated else "of one trial"
    shown = f"● {mark}; the best has a ring."
    if beside:
        shown += " ◇ the published figure."
    return tag("div", tag("h4", "Scores"), gallery(figures), tag("p", shown, class_="note"))


def _ranks(results: Results, table: Table, names: Mapping[PairName, Name]) -> Markup | None:
    ranked = results.rank(table.measure.name)
    if ranked is None:
        return None
    pairs, ranking = ranked
    drawn = draw_ranks([names[pair] for pair in pairs], ranking, table.measure.title)
    told = (
        f"Ranks of the means, averaged over the {ranking.n_datasets} datasets on which all were "
        "measured. A bar at the right joins pairs that Nemenyi's test at five per cent does not "
        "tell apart, as their ranks differ by less than the critical difference."
    )
    if math.isfinite(ranking.p_value):
        told += f" That all are alike has p = {ranking.p_value:.2g} by Friedman's test."
    return tag(
        "div",
        tag("h4", "Ranks over datasets"),
        tag("div", figure(None, drawn), tag("p", told, class_="note"), class_="beside"),
    )


def _comparisons(results: Results, table: Table, names: Mapping[PairName, Name]) -> Markup | None:
    found = results.compare(table.measure.name)
    if table.measure.of_scheme:
        found = _between_configurations(found)
    if not found:
        return None
    told = (
        "On how many splits the first is better, and on how many the second; p is that of "
        "Wilcoxon's signed-rank test, bold at 0.05 and below. Splits of one dataset overlap, so "
        "these p-values are too small rather than too large."
    )
    return unfold(
        f"Paired comparisons, split by split ({len({each[2:4] for each in found})})",
        tag("p", told, class_="note"),
        comparison_table(found, list(dict.fromkeys(each.dataset for each in found)), names),
    )


def _between_configurations(found: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons of configurations, whose methods all have the same values."""
    first: dict[tuple[str, frozenset[str]], Comparison] = {}
    for each in found:
        one, other = each.one[0], each.other[0]
        if one != other:
            key = each.dataset, frozenset((one, other))
            first.setdefault(key, each._replace(one=(one, ""), other=(other, "")))
    return list(first.values())


def times_section(results: Results, names: Mapping[PairName, Name]) -> Markup | None:
    """Return how accurate pairs are against how long they take."""
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
                    points, dataset, MEASURES[_SCORE].title, f"{title}, mean"
                )
                figures.append(figure([dataset, tag("span", "accuracy", class_="unit")], drawn))
        if figures:
            panels.append(Panel(f"time-{measure}", title, gallery(figures)))
    if not panels:
        return None
    told = "Good is above, quick is left. Whiskers are standard deviations of the accuracy."
    return section(
        "times", "Accuracy against time", tag("p", told, class_="note"), legend(results),
        choose_from(panels, "Time"),
    )  # fmt: skip
