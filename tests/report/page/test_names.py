"""Names, numbers and colours of pairs."""

from polytomy.report.figures import name_pairs
from polytomy.report.page import heading_cell, legend, pair_label
from polytomy.trials import Results
from report.cases import EVIL
from report.pages import parse_page

PAIRS = [("tree", "greedy"), ("one-vs-one", "voting"), ("tree", "voting")]


def test_pairs_are_numbered_in_order_and_configurations_share_a_colour():
    names = name_pairs(Results([], PAIRS, []))
    assert [names[pair].number for pair in PAIRS] == ["1", "2", "3"]
    assert names["tree", "greedy"].colour == names["tree", "voting"].colour
    assert names["tree", "greedy"].colour != names["one-vs-one", "voting"].colour


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
