"""The page of trials: results, datasets, schemes, problems and the protocol."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polytomy.inputs.arguments import count_things
from polytomy.markup import Child, Markup, tag
from polytomy.metrics.scores import HEADLINE
from polytomy.report.figures import (
    MOST_CLASSES,
    Name,
    Names,
    TimedScore,
    draw_confusion,
    draw_distances,
    draw_reliability,
    draw_scores,
    draw_scores_against_time,
    list_errors,
    name_pairs,
)
from polytomy.report.markup import (
    Panel,
    data_table,
    definition_list,
    details,
    figure,
    gallery,
    heading,
    html_page,
    number_cell,
    section,
    tabs,
)
from polytomy.trials import MEASURES, Cell, Measure, Results, Table, summarise
from polytomy.trials.results import Interval, PairName, format_cell
from polytomy.trials.store import write_content
from polytomy.trials.summary import Lead, compare_on, describe_data, describe_estimators, find_lead

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


def result_section(results: Results, names: Names) -> Markup:
    """Return the result in one sentence, and the table that it comes from."""
    if len(results.datasets) == 1:
        table = _pairs_table(results, results.datasets[0], names)
    else:
        table = [_datasets_table(results, names), legend(results)]
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


def _pairs_table(results: Results, dataset: str, names: Names) -> list[Child]:
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
            heading_cell(names[pair]),
            score_cell(scores[pair]),
            _behind_cell(results, dataset, pair, lead.pair),
            *(score_cell(table.cell(pair)) for table in others),
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


def _datasets_table(results: Results, names: Names) -> list[Child]:
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


def _lead_cells(lead: Lead | None, names: Names) -> list[Markup]:
    """Return the most accurate pair, its accuracy, and its lead over the next scheme."""
    if lead is None:
        return [tag("td"), number_cell(None), number_cell(None)]
    ahead = number_cell(None)
    if lead.rival is not None:
        ahead = number_cell(0.0, "tie")
        if lead.ahead:
            ahead = _difference_cell(lead.ahead, lead.interval)
    return [
        tag("td", pair_label(names[lead.pair])),
        number_cell(lead.cell.mean, format_cell(lead.cell)),
        ahead,
    ]


def measures_section(results: Results, names: Names) -> Markup | None:
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


def _measure_panel(results: Results, table: Table, names: Names) -> list[Child]:
    content: list[Child] = [
        measure_table(table, names),
        direction_note(table.measure),
    ]
    if table.measure.best is not None:
        content += [_score_plots(table, names), _rank_plot(results, table, names)]
    return content


def _score_plots(table: Table, names: Names) -> Markup:
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


def _rank_plot(results: Results, table: Table, names: Names) -> Markup | None:
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


def times_section(results: Results, names: Names) -> Markup | None:
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
        "times", "Accuracy against time", tag("p", note, class_="note"), legend(results),
        tabs(panels, "Time"),
    )  # fmt: skip


# -- names and numbers of pairs --------------------------------------------------------------------


def badge(name: Name) -> Markup:
    """Return the coloured number of a pair."""
    return tag("span", name.number, class_=f"badge {name.colour}")


def heading_cell(name: Name) -> Markup:
    """Return the heading of a pair's row in a table."""
    method = tag("span", name.method, class_="method")
    words = tag("span", tag("span", name.configuration), " ", method, class_="words")
    return tag("th", tag("span", badge(name), " ", words, class_="pair"), scope="row")


def pair_label(name: Name) -> Markup:
    """Return the number and name of a pair on one line."""
    words = tag("span", name.text, class_="words")
    return tag("span", badge(name), " ", words, class_="pair")


def legend(results: Results) -> Markup:
    """Return a legend of the pairs' numbers."""
    names = name_pairs(results)
    items = [tag("li", pair_label(names[pair])) for pair in results.pairs]
    return tag("ul", items, class_="legend")


def measure_table(table: Table, names: Names) -> Markup:
    """Return a table of one measure for every pair on every dataset."""
    heads = [heading("configuration and method", is_number=False)]
    heads += [heading(dataset, first=table.measure.best) for dataset in table.datasets]
    rows = [
        [heading_cell(names[pair]), *map(score_cell, cells)]
        for pair, cells in zip(table.rows, table.cells, strict=True)
    ]
    return data_table(table.measure.title, heads, rows)


def score_cell(cell: Cell | None) -> Markup:
    """Return the mean and standard deviation of a score, in bold if it is the best."""
    if cell is None:
        return number_cell(None)
    return number_cell(cell.mean, tag("strong" if cell.is_best else "span", format_cell(cell)))


def direction_note(measure: Measure) -> Markup | None:
    """Return which values of a measure are best, and how they are marked."""
    if measure.best is None:
        return None
    direction = f"{'Larger' if measure.best == 'largest' else 'Smaller'} is better. "
    text = [direction, tag("strong", "Bold"), " marks the best pair on each dataset."]
    return tag("p", text, class_="note")


# -- datasets --------------------------------------------------------------------------------------


def datasets_section(results: Results, names: Names) -> Markup | None:
    """Return facts, distances, reliability and confusion of every dataset."""
    panels = [
        Panel(f"dataset-{k}", name, _dataset_panel(results, name, names, f"confusion-{k}"))
        for k, name in enumerate(results.datasets, 1)
    ]
    return section("datasets", "Datasets", tabs(panels, "Dataset")) if panels else None


def _dataset_panel(results: Results, dataset: str, names: Names, key: str) -> list[Child]:
    facts = results.facts.get(dataset, {})
    own = [record for record in results.records if record["dataset"] == dataset]
    return [
        _describe(facts, own),
        _distances(facts, dataset),
        _reliability_figures(results, dataset, names),
        _confusion(results, dataset, names, key),
    ]


def _describe(facts: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Markup:
    items: list[tuple[Child, Child]] = [("trials", len(records))]
    if facts:
        items = [
            ("samples", f"{facts['n_samples']:,}"),
            ("features", facts["n_features"]),
            ("classes", len(facts["classes"])),
            *items,
            ("binary classifier", tag("code", facts["estimator"])),
        ]
    if records and "n_train" in records[0]:
        items.append(("training / test samples", _sizes(records)))
    sizes = None
    if facts:
        counts = zip(facts["classes"], facts["counts"], strict=True)
        sizes = details("Samples per class", definition_list(counts, "facts narrow"))
    return tag("div", definition_list(items), sizes)


def _sizes(records: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(sorted({f"{each['n_train']:,} / {each['n_test']:,}" for each in records}))


def _distances(facts: Mapping[str, Any], dataset: str) -> Markup | None:
    """Return the distances between the classes, and the empirical tree that they give."""
    classes = facts.get("classes", ())
    if not facts.get("distances") or len(classes) > MOST_CLASSES:
        return None
    label = f"Distances between the {len(classes)} classes of {dataset}"
    note = (
        "Hausdorff distances, computed from all samples after standardising; stronger colours are "
        "closer. The trials build their empirical trees from the training samples only."
    )
    return tag(
        "div",
        tag("h4", "Distances between classes"),
        draw_distances(np.array(facts["distances"], dtype=np.float64), classes, label),
        tag("p", note, class_="note"),
        details("Empirical tree", tag("pre", facts.get("empirical_tree", ""), tabindex="0")),
    )


def _reliability_figures(results: Results, dataset: str, names: Names) -> Markup | None:
    figures = []
    for pair in results.pairs:
        table = results.total("reliability", dataset, pair)
        if table is None or not table[:, 0].any():
            continue
        name = names[pair]
        label = f"Reliability of the probabilities of {name.text} on {dataset}"
        figures.append(figure(pair_label(name), draw_reliability(table, label, name.colour)))
    if not figures:
        return None
    note = (
        "Observed frequency against predicted probability in ten bins, pooled over all classes and "
        "trials. Perfectly calibrated probabilities lie on the dashed line. Bars show the number "
        "of probabilities in each bin on a logarithmic scale."
    )
    title = tag("h4", "Reliability")
    return tag("div", title, gallery(figures, "small"), tag("p", note, class_="note"))


def _confusion(results: Results, dataset: str, names: Names, key: str) -> Markup | None:
    own = [each for each in results.records if each["dataset"] == dataset]
    panels = []
    for k, pair in enumerate(results.pairs, 1):
        counts = results.total("confusion", dataset, pair)
        if counts is None:
            continue
        given = own[0].get("classes") or range(len(counts))
        classes = [str(label) for label in given]
        name = names[pair]
        label = f"Confusion matrix of {name.text} on {dataset}, summed over all trials"
        drawn = None
        if len(classes) <= MOST_CLASSES:
            drawn = draw_confusion(counts, classes, label)
        content = tag("div", drawn, list_errors(counts, classes), class_="beside")
        panels.append(Panel(f"{key}-{k}", name.text, content))
    if not panels:
        return None
    note = (
        "Summed over all trials. Correct predictions are blue and errors orange, shaded by their "
        "share of the true class, with a logarithmic scale for errors."
    )
    if len(classes) > MOST_CLASSES:
        note = f"Summed over all trials. A matrix of {len(classes)} classes is too large to draw."
    title = tag("h4", "Confusion matrices")
    chosen = tabs(panels, f"Pair for the confusion matrix of {dataset}", 5)
    return tag("div", title, tag("p", note, class_="note"), chosen)


# -- the page --------------------------------------------------------------------------------------


_LONGEST_TEXT = 60_000


def write_report(
    results: Results | str | os.PathLike[str], path: str | os.PathLike[str] | None = None
) -> Path:
    """Write the report of trials as one self-contained HTML page.

    Parameters
    ----------
    results : Results, or the folder of a run, finished or not
    path : path of the page, written atomically; by default ``report.html`` in the folder, or in the
        working directory if `results` is not a folder

    Returns
    -------
    path of the page

    Examples
    --------
    >>> import tempfile
    >>> cells = [{"configuration": "tree", "method": "greedy", "scores": {"accuracy": 0.75}}]
    >>> records = [{"dataset": "a", "repeat": 0, "cells": cells}]
    >>> results = Results(records, [("tree", "greedy")], ["a"])
    >>> page = write_report(results, Path(tempfile.mkdtemp(), "report.html"))
    >>> page.name
    'report.html'
    """
    if not isinstance(results, Results):
        return write_report(Results.read(results), path or Path(results, "report.html"))
    target = Path("report.html" if path is None else path)
    # JSON may hold lone surrogates, which UTF-8 cannot encode; they become question marks.
    write_content(target, report_html(results).encode("utf-8", "replace"))
    return target


def report_html(results: Results) -> str:
    """Return the report of trials as one HTML page that includes its style sheet and script.

    Parameters
    ----------
    results : Results

    Examples
    --------
    >>> print(report_html(Results([], [], []))[:15])
    <!DOCTYPE html>
    """
    names = name_pairs(results)
    sections = {
        "result": ("Result", result_section(results, names)),
        "measures": ("Measures", measures_section(results, names)),
        "times": ("Time", times_section(results, names)),
        "datasets": ("Datasets", datasets_section(results, names)),
        "schemes": ("Schemes", schemes_section(results)),
        "problems": ("Problems", problems_section(results)),
        "protocol": ("Protocol", protocol_section(results)),
    }
    if not results.records:
        nothing = section("result", "Result", tag("p", summarise(results), class_="warning"))
        sections = {"result": ("Result", nothing), "protocol": sections["protocol"]}
    return html_page(
        f"Trials on {', '.join(results.datasets) or 'nothing yet'} (polytomy)",
        f"Trials on {describe_data(results)}",
        _lead_lines(results),
        sections,
    )


def _lead_lines(results: Results) -> list[Child]:
    """Return the lines below the heading: the classifier, the data, and how often it was tried."""
    counts = set(count_trials(results).values())
    repeats = "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "0"
    trials = f"{repeats} trial{'' if counts == {1} else 's'}"
    facts = [
        count_things(len(results.pairs), "pair", "pairs") + " of a scheme and a solver",
        trials if len(results.datasets) == 1 else f"{trials} per dataset",
    ]
    seed = results.manifest.get("protocol", {}).get("seed")
    if seed is not None:
        facts.append(f"seed {seed}")
    estimator = describe_estimators(results)
    named: list[Child] = [["Binary classifier: ", tag("code", estimator)]] if estimator else []
    return [*named, " · ".join(facts)]


def schemes_section(results: Results) -> Markup | None:
    """Return the control text of every scheme on every dataset, that of the first trial."""
    texts: dict[str, dict[str, str]] = {}
    for record in sorted(results.records, key=lambda each: int(each["repeat"])):
        for configuration, text in record.get("schemes", {}).items():
            if text:
                texts.setdefault(configuration, {}).setdefault(record["dataset"], text)
    if not texts:
        return None
    note = (
        "The control text of every scheme in the first trial. A scheme that is random or built "
        "from the training samples differs from trial to trial; the files of the trials have all "
        f"texts, and here they end after {_LONGEST_TEXT:,} characters."
    )
    folded = [
        details(
            tag("b", configuration),
            [
                details(dataset, tag("pre", text[:_LONGEST_TEXT], tabindex="0"))
                for dataset, text in by_dataset.items()
            ],
        )
        for configuration, by_dataset in texts.items()
    ]
    return section("schemes", "Schemes", tag("p", note), folded)


def problems_section(results: Results) -> Markup | None:
    """Return the pairs that could not be run, and warnings; None if there are neither."""
    warned: dict[str, dict[str, None]] = {}
    for record in results.records:
        for text in record.get("warnings", ()):
            warned.setdefault(text, {})[record["dataset"]] = None
    problems = results.problems()
    if not problems and not warned:
        return None
    return section(
        "problems",
        "Problems and warnings",
        [tag("h3", "Pairs that could not be run"), _problem_list(problems)] if problems else None,
        [tag("h3", "Warnings"), _problem_list(warned)] if warned else None,
    )


def _problem_list(problems: Mapping[str, Iterable[str]]) -> Markup:
    return tag(
        "ul",
        [
            tag("li", tag("p", problem), tag("p", "; ".join(places), class_="note"))
            for problem, places in problems.items()
        ],
        class_="problems",
    )


def protocol_section(results: Results) -> Markup:
    """Return the settings, machine and versions of the trials."""
    manifest = results.manifest
    protocol = manifest.get("protocol", {})
    items: list[tuple[Child, Child]] = []
    if protocol:
        test, calibration = protocol.get("test", 0), protocol.get("calibration")
        items += [
            ("held out for testing", f"{test:.0%} of each class"),
            ("features", "standardised on the training samples"),
            ("calibration", f"{calibration}, {protocol.get('folds')} folds"),
            ("seed", protocol.get("seed")),
        ]
    items += [
        (name, manifest[key])
        for name, key in (("Python", "python"), ("system", "system"), ("processors", "processors"))
        if key in manifest
    ]
    versions = _versions_by_package(results)
    return section(
        "protocol",
        "Protocol",
        definition_list(items),
        tag("h3", "Versions") if versions else None,
        definition_list(versions.items()),
    )


def _versions_by_package(results: Results) -> dict[str, str]:
    """Return the versions of each package; they may change when a run is continued."""
    found: dict[str, dict[str, None]] = {}
    about = [results.manifest, *results.records]
    for each in about:
        for package, version in each.get("versions", {}).items():
            found.setdefault(package, {})[version] = None
    return {package: ", ".join(versions) for package, versions in found.items()}
