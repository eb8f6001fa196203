"""Names of the compared pairs, and tables of their measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from polytomy.markup import Markup, tag
from polytomy.report.markup import data_table, heading, number_cell
from polytomy.trials import Cell, Measure, Results, Table
from polytomy.trials.results import PairName, format_cell

_N_COLOURS = 8


class Name(NamedTuple):
    """Name of a pair.

    Attributes
    ----------
    configuration, method : str
    number : number of the pair, used in figures
    colour : CSS class of the colour, shared by all methods of a configuration
    """

    configuration: str
    method: str
    number: str
    colour: str

    @property
    def text(self) -> str:
        """Configuration and method on one line."""
        return f"{self.configuration}, {self.method}"

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
"""Names of all pairs."""


def name_pairs(results: Results) -> dict[PairName, Name]:
    """Return the names of all pairs.

    Examples
    --------
    >>> results = Results([], [("tree", "greedy"), ("tree", "voting")], [])
    >>> [(name.text, name.number, name.colour) for name in name_pairs(results).values()]
    [('tree, greedy', '1', 'c0'), ('tree, voting', '2', 'c0')]
    """
    configurations = list(dict.fromkeys(pair[0] for pair in results.pairs))
    colours = {each: f"c{k % _N_COLOURS}" for k, each in enumerate(configurations)}
    return {pair: Name(*pair, str(k), colours[pair[0]]) for k, pair in enumerate(results.pairs, 1)}


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
