"""The sections with results: the summary, measures and times."""

from __future__ import annotations

import math

from polytomy.markup import Child, Markup, tag
from polytomy.metrics.scores import HEADLINE
from polytomy.report import tables
from polytomy.report.figures import TimedScore, draw_scores, draw_scores_against_time
from polytomy.report.markup import (
    Panel,
    data_table,
    figure,
    gallery,
    heading,
    number_cell,
    section,
    tabs,
)
from polytomy.trials import MEASURES, Cell, Results, Table, summarise
from polytomy.trials.results import Interval, PairName, format_cell
from polytomy.trials.summary import Lead, compare_on, find_lead

_FURTHER = ("log_loss", "fit_seconds", "predict_seconds")
"""Measures next to the accuracy, in the first table."""

_INTERVALS = (
    "Below each difference is its 95% confidence interval, corrected for the overlap of the "
    "training sets (Nadeau and Bengio 2003). "
)
_CHANCE = "Among many pairs, some seem better by chance."


def count_trials(results: Results) -> dict[str, int]:
    """Return the number of finished trials of each dataset."""
    names = [record["dataset"] for record in results.records]
    return {dataset: names.count(dataset) for dataset in results.datasets}


def result_section(results: Results, names: tables.Names) -> Markup:
    """Return the result in one sentence, and the table that it comes from."""
    if len(results.datasets) == 1:
        table = _pairs_table(results, results.datasets[0], names)
    else:
        table = [_datasets_table(results, names), tables.legend(results)]
    return section(
        "result",
        "Result",
        tag("p", summarise(results), class_="result"),
        _unfinished_warning(results),
        table,
    )


def _unfinished_warning(results: Results) -> Markup | None:
    # Datasets without a finished trial are only in the facts.
    counts = dict.fromkeys(results.facts, 0) | count_trials(results)
    if len(set(counts.values())) < 2:
        return None
    most = max(counts.values())
    behind = ", ".join(
        f"{name} has {count} of {most} trials" for name, count in counts.items() if count < most
    )
    return tag("p", f"The run is not finished: {behind}.", class_="warning")


def _pairs_table(results: Results, dataset: str, names: tables.Names) -> list[Child]:
    """Return all pairs on the only dataset, the most accurate first."""
    lead = find_lead(results, dataset)
    if lead is None:
        return []
    headline = results.table(HEADLINE)
    others = [table for table in map(results.table, _FURTHER) if table.rows]
    scores = {pair: cell for pair, _, cell in headline.entries()}
    order = sorted(scores, key=lambda pair: -scores[pair].mean)
    heads = [heading("configuration and method", is_number=False)]
    heads += [heading("accuracy", first="largest"), heading("behind the best", first="largest")]
    heads += [heading(each.measure.short_title, first=each.measure.best) for each in others]
    rows = [
        [
            tables.heading_cell(names[pair]),
            tables.score_cell(scores[pair]),
            _behind_cell(results, dataset, pair, lead.pair),
            *(tables.score_cell(table.cell(pair)) for table in others),
        ]
        for pair in order
    ]
    is_repeated = lead.cell.n_repeats > 1
    note = "Bold marks the best of each column"
    note += f", and differences larger than noise. {_INTERVALS}{_CHANCE}" if is_repeated else "."
    return [
        data_table(f"All pairs on {dataset}, the most accurate first", heads, rows),
        tag("p", note, class_="note"),
    ]


def _behind_cell(results: Results, dataset: str, pair: PairName, best: PairName) -> Markup:
    one, other = (results.cell(HEADLINE, dataset, each) for each in (pair, best))
    if pair == best or one is None or other is None:
        return number_cell(0.0 if pair == best else None, "")
    return _difference_cell(
        one.mean - other.mean, compare_on(results, HEADLINE, dataset, pair, best)
    )


def _difference_cell(difference: float, interval: Interval | None) -> Markup:
    """Return a difference above its confidence interval, in bold if it is larger than noise."""
    text = _signed(difference)
    if interval is None:
        return number_cell(difference, tag("span", text))
    about = tag(
        "span",
        f"{_signed(interval.low)} to {_signed(interval.high)}",
        class_="interval",
        title="95% confidence interval",
    )
    kind = "span" if interval.has_zero else "strong"
    return number_cell(difference, tag(kind, text), about)


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


def _datasets_table(results: Results, names: tables.Names) -> list[Child]:
    """Return the best pair on each dataset, and its size."""
    leads = {dataset: find_lead(results, dataset) for dataset in results.datasets}
    counts = count_trials(results)
    heads = [heading(text, is_number=False) for text in ("dataset", "most accurate")]
    numbers = ("accuracy", "lead", "trials", "samples", "features", "classes")
    heads += [heading(text, first="largest") for text in numbers]
    heads += [heading("binary classifier", is_number=False)]
    rows = []
    for dataset, lead in leads.items():
        own = results.facts.get(dataset, {})
        sizes = (own.get("n_samples"), own.get("n_features"), len(own.get("classes", ())) or None)
        row = [tag("th", dataset, scope="row"), *_lead_cells(lead, names)]
        row += [
            number_cell(number, "" if number is None else f"{number:,}")
            for number in (counts[dataset], *sizes)
        ]
        rows.append([*row, tag("td", tag("code", own.get("estimator", "")))])
    lead_note = "The lead is over the next scheme, in bold if it is larger than noise. "
    is_repeated = any(lead and lead.interval for lead in leads.values())
    return [
        data_table("Datasets and the best pair on each", heads, rows),
        tag("p", f"{lead_note}{_INTERVALS}{_CHANCE}", class_="note") if is_repeated else None,
    ]


def _lead_cells(lead: Lead | None, names: tables.Names) -> list[Markup]:
    """Return the most accurate pair, its accuracy, and its lead over the next scheme."""
    if lead is None:
        return [tag("td"), number_cell(None), number_cell(None)]
    ahead = number_cell(None)
    if lead.rival is not None:
        ahead = number_cell(0.0, "tie")
        if lead.ahead:
            ahead = _difference_cell(lead.ahead, lead.interval)
    return [
        tag("td", tables.pair_label(names[lead.pair])),
        number_cell(lead.cell.mean, format_cell(lead.cell)),
        ahead,
    ]


def measures_section(results: Results, names: tables.Names) -> Markup | None:
    """Return the table, scores and ranks of every measure."""
    panels = [
        Panel(
            f"measure-{table.measure.name}",
            table.measure.title,
            _measure_panel(results, table, names),
        )
        for table in results.tables()
    ]
    return section("measures", "Measures", tabs(panels, "Measure")) if panels else None


def _measure_panel(results: Results, table: Table, names: tables.Names) -> list[Child]:
    content: list[Child] = [
        tables.measure_table(table, names),
        tables.direction_note(table.measure),
    ]
    if table.measure.best is not None:
        content += [_score_plots(table, names), _rank_plot(results, table, names)]
    return content


def _score_plots(table: Table, names: tables.Names) -> Markup:
    figures, measure = [], table.measure
    for dataset in table.datasets:
        rows = [(names[pair], cell) for pair, name, cell in table.entries() if name == dataset]
        if rows:
            label = f"{measure.title} on {dataset}: mean and standard deviation of each pair"
            drawn = draw_scores(rows, measure.title, label, is_time=measure.is_time)
            figures.append(figure(dataset, drawn))
    is_repeated = any(cell.n_repeats > 1 for *_, cell in table.entries())
    mark = "mean and standard deviation over the trials" if is_repeated else "a single trial"
    note = tag("p", f"● {mark}; a ring marks the best.", class_="note")
    return tag("div", tag("h4", "Scores"), gallery(figures), note)


def _rank_plot(results: Results, table: Table, names: tables.Names) -> Markup | None:
    ranked = results.rank(table.measure.name)
    if ranked is None or len(results.datasets) == 1:
        return None
    pairs, ranking = ranked
    ranks = sorted(zip(ranking.mean_ranks.tolist(), pairs, strict=True))
    rows = [(names[pair], Cell(rank, math.nan, ranking.n_datasets)) for rank, pair in ranks]
    label = f"{table.measure.title}: mean ranks over {ranking.n_datasets} datasets, best first"
    drawn = draw_scores(rows, "mean rank, 1 is best", label)
    note = (
        f"Ranks of the means, averaged over the {ranking.n_datasets} datasets on which all pairs "
        "were measured. Pairs differ significantly if their mean ranks differ by more than "
        f"{ranking.critical_difference:.2f}, the critical difference of Nemenyi's test at the 5% "
        "level."
    )
    if math.isfinite(ranking.p_value):
        note += f" Friedman's test that all pairs are equal gives p = {ranking.p_value:.2g}."
    return tag(
        "div",
        tag("h4", "Ranks over datasets"),
        tag("div", figure(None, drawn), tag("p", note, class_="note"), class_="beside"),
    )


def times_section(results: Results, names: tables.Names) -> Markup | None:
    """Return plots of accuracy against training and prediction time."""
    panels = []
    for measure, title in [(each.name, each.title) for each in MEASURES.values() if each.is_time]:
        figures = []
        for dataset in results.datasets:
            points = [
                TimedScore(names[pair], seconds.mean, score)
                for pair in results.pairs
                if (seconds := results.cell(measure, dataset, pair)) is not None
                and (score := results.cell(HEADLINE, dataset, pair)) is not None
            ]
            if points:
                drawn = draw_scores_against_time(
                    points, dataset, MEASURES[HEADLINE].title, f"Mean {title.lower()}"
                )
                figures.append(figure([dataset, tag("span", "accuracy", class_="unit")], drawn))
        if figures:
            panels.append(Panel(f"time-{measure}", title, gallery(figures)))
    if not panels:
        return None
    note = "Higher is better; further left is faster. Whiskers show the standard deviation."
    return section(
        "times", "Accuracy against time", tag("p", note, class_="note"), tables.legend(results),
        tabs(panels, "Time"),
    )  # fmt: skip
