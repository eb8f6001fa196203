"""Names, numbers and colours of pairs."""

from polytomy.report.tables import (
    heading_cell,
    legend,
    name_pairs,
    pair_label,
    published_text,
)
from polytomy.trials import Published, Results
from report.cases import EVIL
from report.pages import parse_page

PAIRS = [("tree", "greedy"), ("one-vs-one", "voting"), ("tree", "voting")]


def test_pairs_are_numbered_in_order_and_configurations_share_a_colour():
    names = name_pairs(Results([], PAIRS, []))
    assert [names[pair].number for pair in PAIRS] == ["1", "2", "3"]
    assert names["tree", "greedy"].colour == names["tree", "voting"].colour
    assert names["tree", "greedy"].colour != names["one-vs-one", "voting"].colour


def test_configurations_have_a_name_without_number_and_method():
    names = name_pairs(Results([], PAIRS, []))
    assert (names["tree", ""].text, names["tree", ""].number) == ("tree", "")
    assert names["tree", ""].colour == names["tree", "greedy"].colour


def test_names_in_figures_are_short_and_distinct():
    solvers = ["least-squares", "divergence"]
    methods = [*solvers, *(f"{each} + bias" for each in solvers), "least-squares + decoder"]
    names = name_pairs(Results([], [("tree", method) for method in methods], []))
    assert [names["tree", method].short for method in methods] == [
        "tree, least-squares",
        "tree, divergence",
        "tree + bias",
        "tree, divergence + bias",
        "tree + decoder",
    ]
    assert names["tree", ""].short == "tree"


def test_the_legend_lists_every_pair_with_its_number():
    items = parse_page(legend(Results([], PAIRS, []))).find("li")
    assert [item.text for item in items] == [
        "1 tree, greedy",
        "2 one-vs-one, voting",
        "3 tree, voting",
    ]


def test_names_are_escaped():
    pair = (EVIL, "voting")
    name = name_pairs(Results([], [pair], []))[pair]
    for drawn in (pair_label(name), heading_cell(name)):
        page = parse_page(drawn)
        assert EVIL in page.text
        assert page.find("script") == []


def test_both_parts_of_a_published_figure_have_the_same_decimals():
    assert published_text(Published(0.8, 0.01)) == "0.80 ± 0.01"
    assert published_text(Published(14.4, 0.2)) == "14.4 ± 0.2"
    assert published_text(Published(0.03, 5e-06)) == "0.030000 ± 0.000005"
