"""The sections with results: the summary, measures, times and published figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from polytomy.report import tables
from polytomy.report.figures import (
    ScoreRow,
    TimedScore,
    draw_ranks,
    draw_scores,
    draw_scores_against_time,
)
from polytomy.report.markup import (
    Child,
    Markup,
    Panel,
    data_table,
    details,
    figure,
    gallery,
    heading,
    number_cell,
    section,
    tabs,
    tag,
)
from polytomy.trials import MEASURES, Beside, Comparison, Results, Table, summarise
from polytomy.trials.results import Interval, PairName, format_cell
from polytomy.trials.summary import HEADLINE, Lead, compare_on, find_lead

_FURTHER = ("log_loss", "fit_seconds", "predict_seconds")
"""Measures next to the accuracy, in the first table."""

_MOST_BADGES = 3
_INTERVALS = (
    "Below each difference is its 95% confidence interval, corrected for the overlap of the "
    "training sets (Nadeau and Bengio 2003). "
)
_CHANCE = "Among many pairs, some seem better by chance."


def count_trials(results: Results) -> dict[str, int]:
    """Return the number of finished trials of each dataset."""
    names = [record["dataset"] for record in results.records]
    return {dataset: names.count(dataset) for dataset in results.datasets}


def result_section(results: Results, beside: Sequence[Beside], names: tables.Names) -> Markup:
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
        _paper_note(beside),
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


def _paper_note(beside: Sequence[Beside]) -> Markup | None:
    n_good, n_all = count_agreements(beside)
    if not n_all:
        return None
    link = tag("a", "published ones", href="#published")
    return tag("p", f"{n_good} of {n_all} scores agree with the ", link, " or are better.")


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
        class_="published",
        title="95% confidence interval",
    )
    kind = "span" if interval.has_zero else "strong"
    return number_cell(difference, tag(kind, text), about)


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


def _datasets_table(results: Results, names: tables.Names) -> list[Child]:
    """Return the best pairs on each dataset, and its size."""
    leads = {dataset: find_lead(results, dataset) for dataset in results.datasets}
    losses = results.table("log_loss")
    facts, counts = results.facts, count_trials(results)
    has_estimators = len({each["estimator"] for each in facts.values()}) > 1
    heads = [heading(text, is_number=False) for text in ("dataset", "most accurate")]
    heads += [heading(text, first="largest") for text in ("accuracy", "lead")]
    heads += [heading("best log-loss")] if losses.rows else []
    sizes = ("trials", "samples", "features", "classes")
    heads += [heading(text, first="largest") for text in sizes]
    heads += [heading("binary classifier", is_number=False)] if has_estimators else []
    rows = []
    for dataset in results.datasets:
        own = facts.get(dataset, {})
        numbers = (counts[dataset], own.get("n_samples"), own.get("n_features"))
        row = [tag("th", dataset, scope="row"), *_lead_cells(leads[dataset], names)]
        if losses.rows:
            row.append(_best_cell(losses, dataset, names))
        row += [
            number_cell(number, "" if number is None else f"{number:,}")
            for number in (*numbers, len(own.get("classes", ())) or None)
        ]
        row += [tag("td", tag("code", own.get("estimator", "")))] if has_estimators else []
        rows.append(row)
    lead_note = "The lead is over the next scheme, in bold if it is larger than noise. "
    note = f"{lead_note}{_INTERVALS}{_CHANCE}"
    is_repeated = any(lead and lead.interval for lead in leads.values())
    return [
        data_table("Datasets and the best pairs on each", heads, rows),
        tag("p", note, class_="note") if is_repeated else None,
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


def _best_cell(table: Table, dataset: str, names: tables.Names) -> Markup:
    own = [(pair, cell) for pair, name, cell in table.entries() if name == dataset]
    best = {pair: cell for pair, cell in own if cell.is_best}
    if not best:
        return number_cell(None)
    cell = next(iter(best.values()))
    if len(best) > _MOST_BADGES:
        tied = tag("span", f"{len(best)} tied", class_="winners method")
        return number_cell(cell.mean, tied, format_cell(cell))
    marks = []
    for name in [names[pair] for pair in best]:
        text = tag("span", f" {name.text}", class_="unseen")
        marks.append(tag("span", tables.badge(name), text, title=name.text))
    return number_cell(cell.mean, tag("span", marks, class_="winners"), format_cell(cell))


def measures_section(
    results: Results, beside: Sequence[Beside], names: tables.Names
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
    results: Results, table: Table, beside: Sequence[Beside], names: tables.Names
) -> list[Child]:
    by_place = {(each.dataset, each.pair): each for each in beside}
    content: list[Child] = [
        tables.measure_table(table, by_place, names),
        tables.key_to_marks(table.measure, beside),
        _score_plots(table, by_place, names),
    ]
    if table.measure.best is not None:
        content += [_rank_plot(results, table, names), _comparisons(results, table, names)]
    return content


def _score_plots(
    table: Table,
    beside: Mapping[tuple[str, PairName], Beside],
    names: tables.Names,
) -> Markup | None:
    if table.measure.best is None:
        return None
    figures = []
    for dataset in table.datasets:
        rows = [
            ScoreRow(
                names[pair], cell, other.theirs if (other := beside.get((dataset, pair))) else None
            )
            for pair, name, cell in table.entries()
            if name == dataset
        ]
        if rows:
            figures.append(figure(dataset, draw_scores(rows, table.measure, dataset)))
    is_repeated = any(cell.n_repeats > 1 for *_, cell in table.entries())
    mark = "mean and standard deviation over the trials" if is_repeated else "a single trial"
    note = f"● {mark}; a ring marks the best."
    if beside:
        note += " ◇ published figure."
    return tag("div", tag("h4", "Scores"), gallery(figures), tag("p", note, class_="note"))


def _rank_plot(results: Results, table: Table, names: tables.Names) -> Markup | None:
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


def _comparisons(results: Results, table: Table, names: tables.Names) -> Markup | None:
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
        tables.comparison_table(found, list(dict.fromkeys(each.dataset for each in found)), names),
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


def count_agreements(beside: Sequence[Beside]) -> tuple[int, int]:
    """Return how many scores agree with the published ones or are better, and of how many.

    Times do not count: they were measured on another machine.
    """
    scores = _without_times(beside)
    return sum(each.verdict != "worse" for each in scores), len(scores)


def published_section(beside: Sequence[Beside], names: tables.Names) -> Markup | None:
    """Return the comparison with the published figures, measure by measure."""
    if not beside:
        return None
    worse = [each for each in _without_times(beside) if each.verdict == "worse"]
    note = (
        "Our results compared with the tables in Peter Mills, “Solving for multi-class: a survey "
        "and synthesis”. A result agrees if it is within two published standard deviations. "
        "The published times were measured on another machine and do not count in the first "
        "section."
    )
    number = f"{len(worse)} score{'s' if len(worse) != 1 else ''}"
    return section(
        "published",
        "Compared with the paper",
        tag("p", note),
        tables.verdict_table(beside),
        details(f"{number} worse than published", tables.beside_table(worse, names))
        if worse
        else None,
    )


def _without_times(beside: Sequence[Beside]) -> list[Beside]:
    return [each for each in beside if not MEASURES[each.measure].is_time]
