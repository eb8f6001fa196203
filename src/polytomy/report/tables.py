"""Names of the compared pairs, and tables of their measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from polytomy.report.markup import Child, Markup, data_table, heading, number_cell, tag
from polytomy.trials import MEASURES, Beside, Cell, Comparison, Measure, Published, Results, Table
from polytomy.trials.results import PairName, format_cell

_Verdict = Literal["agrees", "better", "worse"]
_MARKS: dict[_Verdict, str] = {"agrees": "≈", "better": "▲", "worse": "▼"}
_MEANINGS = {
    "agrees": "agrees with the published figure",
    "better": "better than the published figure",
    "worse": "worse than the published figure",
}
_KEY: dict[_Verdict, str] = {
    "agrees": "ours is within two published standard deviations,",
    "better": "ours is better,",
    "worse": "ours is worse.",
}
_NOTE_MARK = "†"
_N_COLOURS = 8
_SIGNIFICANCE_LEVEL = 0.05
_DIRECTIONS = {"largest": "Larger is better.", "smallest": "Smaller is better.", None: ""}


class Name(NamedTuple):
    """Name of a pair, or of a configuration.

    Attributes
    ----------
    configuration, method : str; the method is empty for a configuration
    number : number of the pair, used in figures; empty for a configuration
    colour : CSS class of the colour, shared by all methods of a configuration
    """

    configuration: str
    method: str
    number: str
    colour: str

    @property
    def text(self) -> str:
        """Configuration and method on one line."""
        return f"{self.configuration}, {self.method}" if self.method else self.configuration

    @property
    def short(self) -> str:
        """Text for figures, which have little room.

        Examples
        --------
        >>> Name("tree", "least-squares + bias", "1", "c0").short
        'tree + bias'
        >>> Name("tree", "divergence + bias", "2", "c0").short
        'tree, divergence + bias'
        """
        solver, plus, final_calibration = self.method.rpartition(" + ")
        is_default = solver == "least-squares"
        return f"{self.configuration}{plus}{final_calibration}" if is_default else self.text


Names = Mapping[PairName, Name]
"""Names of pairs and of configurations, by pair; that of a configuration has no method."""


def name_pairs(results: Results) -> dict[PairName, Name]:
    """Return the names of all pairs; a key without a method stands for the configuration.

    Examples
    --------
    >>> results = Results([], [("tree", "greedy"), ("tree", "voting")], [])
    >>> [(name.text, name.number, name.colour) for name in name_pairs(results).values()]
    [('tree, greedy', '1', 'c0'), ('tree, voting', '2', 'c0'), ('tree', '', 'c0')]
    """
    configurations = list(dict.fromkeys(pair[0] for pair in results.pairs))
    colours = {each: f"c{k % _N_COLOURS}" for k, each in enumerate(configurations)}
    found = {(each, ""): Name(each, "", "", colours[each]) for each in configurations}
    pairs = {pair: Name(*pair, str(k), colours[pair[0]]) for k, pair in enumerate(results.pairs, 1)}
    return pairs | {pair: name for pair, name in found.items() if pair not in pairs}


def badge(name: Name) -> Markup:
    """Return the coloured number of a pair."""
    return tag("span", name.number, class_=f"badge {name.colour}")


def heading_cell(name: Name) -> Markup:
    """Return the heading of a pair's row in a table."""
    method = tag("span", name.method, class_="method") if name.method else None
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


def published_text(figure: Published) -> str:
    """Format a published figure with the same number of decimals in both parts.

    Examples
    --------
    >>> published_text(Published(0.94, 0.002)), published_text(Published(157.0, 2.0))
    ('0.940 ± 0.002', '157 ± 2')
    """
    exponents = [int(Decimal(f"{part:g}").as_tuple().exponent) for part in figure[:2]]
    decimals = max(0, *(-exponent for exponent in exponents))
    return f"{figure.mean:.{decimals}f} ± {figure.std:.{decimals}f}"


def measure_table(
    table: Table, beside: Mapping[tuple[str, PairName], Beside], names: Names
) -> Markup:
    """Return a table of one measure for every pair on every dataset.

    Parameters
    ----------
    table : Table
    beside : comparisons with published figures, by dataset and pair
    names : names of the pairs
    """
    first = table.measure.best or "smallest"
    has_methods = any(method for _, method in table.rows)
    title = "configuration and method" if has_methods else "configuration"
    heads = [heading(title, is_number=False)]
    heads += [heading(dataset, first=first) for dataset in table.datasets]
    rows = [
        [
            heading_cell(names[pair]),
            *(
                score_cell(cell, beside.get((dataset, pair)))
                for dataset, cell in zip(table.datasets, cells, strict=True)
            ),
        ]
        for pair, cells in zip(table.rows, table.cells, strict=True)
    ]
    return data_table(table.measure.title, heads, rows)


def score_cell(cell: Cell | None, beside: Beside | None = None) -> Markup:
    """Return the mean and standard deviation of a score, in bold if it is the best."""
    if cell is None:
        return number_cell(None)
    ours = tag("strong" if cell.is_best else "span", format_cell(cell))
    return number_cell(cell.mean, ours, None if beside is None else _published_line(beside))


def _published_line(beside: Beside) -> Markup:
    theirs, verdict = beside.theirs, beside.verdict
    return tag(
        "span",
        tag("span", _MARKS[verdict], class_="mark", aria_hidden="true"),
        " ",
        tag("span", f"{_MEANINGS[verdict]} ", class_="unseen"),
        published_text(theirs),
        tag("sup", _NOTE_MARK) if theirs.note else None,
        class_=f"published {verdict}",
        title=f"{_MEANINGS[verdict]}: difference {_format_difference(beside)}"
        + (f"; published for a {theirs.note}" if theirs.note else ""),
    )


def _format_difference(beside: Beside) -> str:
    difference = beside.ours.mean - beside.theirs.mean
    if not beside.theirs.std:
        return f"{difference:+.2g}"
    return f"{difference:+.2g}, {abs(difference) / beside.theirs.std:.1f} standard deviations"


def key_to_marks(measure: Measure, beside: Sequence[Beside]) -> Markup:
    """Return a key to the marks in a table."""
    parts: list[Child] = [_DIRECTIONS[measure.best]]
    if measure.best is not None:
        parts.append([" ", tag("strong", "Bold"), " marks the best pair on each dataset."])
    if beside:
        parts.append(" The published figure is below ours: ")
        parts += [
            [tag("span", _MARKS[verdict], class_=f"mark {verdict}"), f" {meaning} "]
            for verdict, meaning in _KEY.items()
        ]
        notes = sorted({each.theirs.note for each in beside if each.theirs.note})
        parts += [f" {_NOTE_MARK} {note}." for note in notes]
        if measure.is_time:
            parts.append(" The published times were measured on another machine.")
    return tag("p", parts, class_="note")


def verdict_table(beside: Sequence[Beside]) -> Markup:
    """Return, for each measure, how many results agree with, beat or miss the published ones."""
    rows = []
    for measure in dict.fromkeys(each.measure for each in beside):
        own = [each.verdict for each in beside if each.measure == measure]
        counts = {verdict: own.count(verdict) for verdict in _MARKS}
        share = tag(
            "span",
            [
                tag("span", class_=verdict, style=f"flex-grow:{count}")
                for verdict, count in counts.items()
                if count
            ],
            class_="shares",
            aria_hidden="true",
        )
        good = 1 - counts["worse"] / len(own)
        rows.append(
            [
                tag("th", MEASURES[measure].title, scope="row"),
                number_cell(float(len(own))),
                *(number_cell(float(count)) for count in counts.values()),
                number_cell(good, f"{good:.0%}", share),
            ]
        )
    heads = [heading("measure", is_number=False), heading("results", first="largest")]
    heads += [
        heading([tag("span", mark, class_=f"mark {verdict}"), f" {verdict}"], first="largest")
        for verdict, mark in _MARKS.items()
    ]
    heads.append(heading("agree or better", first="largest"))
    return data_table("Results compared with the published tables", heads, rows)


def beside_table(beside: Sequence[Beside], names: Names) -> Markup:
    """Return one row per result, with the published figure and the difference."""
    heads = [
        heading("pair", is_number=False),
        heading("measure", is_number=False),
        heading("dataset", is_number=False),
        heading("ours"),
        heading("published"),
        heading("difference", first="largest"),
        heading("in standard deviations", first="largest"),
    ]
    rows = []
    for each in beside:
        difference = each.ours.mean - each.theirs.mean
        ratio = abs(difference) / each.theirs.std if each.theirs.std else None
        rows.append(
            [
                heading_cell(names[each.pair]),
                tag("td", MEASURES[each.measure].title),
                tag("td", each.dataset),
                number_cell(each.ours.mean, format_cell(each.ours)),
                number_cell(each.theirs.mean, published_text(each.theirs)),
                number_cell(difference, f"{difference:+.2g}".replace("-", "−")),
                number_cell(ratio, "" if ratio is None else f"{ratio:.1f}"),
            ]
        )
    return data_table("Results that are worse than the published ones", heads, rows)


def comparison_table(
    comparisons: Sequence[Comparison], datasets: Sequence[str], names: Names
) -> Markup:
    """Return the number of wins of every two pairs on each dataset, split by split."""
    by_pairs: dict[tuple[PairName, PairName], dict[str, Comparison]] = {}
    for each in comparisons:
        by_pairs.setdefault((each.one, each.other), {})[each.dataset] = each
    heads = [heading("first : second", is_number=False)]
    heads += [heading(dataset, first="largest") for dataset in datasets]
    rows = [
        [_versus(names[one], names[other]), *(_outcome_cell(found.get(name)) for name in datasets)]
        for (one, other), found in by_pairs.items()
    ]
    return data_table("Number of splits on which each pair is better", heads, rows)


def _versus(one: Name, other: Name) -> Markup:
    return tag("th", pair_label(one), " ", pair_label(other), scope="row", class_="versus")


def _outcome_cell(comparison: Comparison | None) -> Markup:
    if comparison is None:
        return number_cell(None)
    outcome = comparison.outcome
    kind = "strong" if outcome.p_value <= _SIGNIFICANCE_LEVEL else "span"
    p_value = "p < 0.001" if outcome.p_value < 0.001 else f"p = {outcome.p_value:.2g}"
    hint = f"{outcome.n_splits} splits, {outcome.ties} ties"
    if math.isfinite(outcome.mean_difference):
        hint += f"; mean difference {outcome.mean_difference:+.3g}"
    return number_cell(
        outcome.wins - outcome.losses,
        tag(kind, f"{outcome.wins} : {outcome.losses}"),
        " ",
        tag("span", p_value, class_="published", title=hint),
    )
