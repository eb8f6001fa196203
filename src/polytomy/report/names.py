"""Names, numbers and colours of the pairs, the same throughout the page."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from polytomy.report.drawing import series_colour
from polytomy.report.markup import Markup, tag
from polytomy.trials import Published, Results
from polytomy.trials.results import PairName

__all__ = ["Name", "badge", "heading_cell", "legend", "name_pairs", "pair_label", "published_text"]


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


def name_pairs(results: Results) -> dict[PairName, Name]:
    """Return the names of all pairs; a key without a method stands for the configuration.

    Examples
    --------
    >>> results = Results([], [("tree", "greedy"), ("tree", "voting")], [])
    >>> [(name.text, name.number, name.colour) for name in name_pairs(results).values()]
    [('tree, greedy', '1', 'c0'), ('tree, voting', '2', 'c0'), ('tree', '', 'c0')]
    """
    configurations = list(dict.fromkeys(pair[0] for pair in results.pairs))
    colours = {each: series_colour(k) for k, each in enumerate(configurations)}
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
