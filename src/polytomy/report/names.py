"""How pairs of a configuration and a method are called and coloured, all over the page."""

from __future__ import annotations

from typing import NamedTuple

from polytomy.report.drawing import colour
from polytomy.report.markup import Markup, tag
from polytomy.trials import Published, Results
from polytomy.trials.results import PairName

__all__ = ["Name", "badge", "heading_cell", "labelled", "legend", "names_of", "published_text"]


class Name(NamedTuple):
    """What stands for a pair.

    Attributes
    ----------
    configuration, method : str; the method is empty for all of a configuration together
    number : of the pair, as pictures mark it; empty for a configuration
    colour : class of the style sheet; methods of one configuration share it
    """

    configuration: str
    method: str
    number: str
    colour: str

    @property
    def text(self) -> str:
        """The name in one line."""
        return f"{self.configuration}, {self.method}" if self.method else self.configuration


def names_of(results: Results) -> dict[PairName, Name]:
    """Return the names of all pairs, and of the configurations under pairs without a method.

    Examples
    --------
    >>> results = Results([], [("tree", "greedy"), ("tree", "voting")], [])
    >>> [(name.text, name.number, name.colour) for name in names_of(results).values()]
    [('tree, greedy', '1', 'c0'), ('tree, voting', '2', 'c0'), ('tree', '', 'c0')]
    """
    configurations = list(dict.fromkeys(pair[0] for pair in results.pairs))
    colours = {each: colour(k) for k, each in enumerate(configurations)}
    found = {(each, ""): Name(each, "", "", colours[each]) for each in configurations}
    pairs = {pair: Name(*pair, str(k), colours[pair[0]]) for k, pair in enumerate(results.pairs, 1)}
    return pairs | {pair: name for pair, name in found.items() if pair not in pairs}


def badge(name: Name) -> Markup:
    """Return the coloured number of a pair."""
    return tag("span", name.number, class_=f"badge {name.colour}")


def heading_cell(name: Name) -> Markup:
    """Return the first cell of a pair's row in a table."""
    method = tag("span", name.method, class_="method") if name.method else None
    words = tag("span", tag("span", name.configuration), " ", method, class_="words")
    return tag("th", tag("span", badge(name), " ", words, class_="pair"), scope="row")


def labelled(name: Name) -> Markup:
    """Return number and name of a pair in one line."""
    words = tag("span", name.text, class_="words")
    return tag("span", badge(name), " ", words, class_="pair")


def legend(results: Results) -> Markup:
    """Return what the numbers of pairs stand for."""
    names = names_of(results)
    items = [tag("li", labelled(names[pair])) for pair in results.pairs]
    return tag("ul", items, class_="legend")


def published_text(figure: Published) -> str:
    """Return a published figure with as many decimals in both of its parts.

    Examples
    --------
    >>> published_text(Published(0.94, 0.002)), published_text(Published(157.0, 2.0))
    ('0.940 ± 0.002', '157 ± 2')
    """
    parts = f"{figure.mean:g}", f"{figure.std:g}"
    decimals = max(len(part.partition(".")[2]) for part in parts)
    return f"{figure.mean:.{decimals}f} ± {figure.std:.{decimals}f}"
