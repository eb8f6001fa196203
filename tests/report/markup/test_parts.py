"""Building blocks of sections."""

import pytest

from polytomy.report.markup import (
    Panel,
    data_table,
    definition_list,
    details,
    figure,
    heading,
    number_cell,
    section,
    tabs,
    tag,
)
from report.pages import parse_page


@pytest.mark.parametrize(("n_panels", "is_group"), [(1, False), (2, True), (3, True)])
def test_several_panels_become_tabs_and_a_single_one_does_not(n_panels, is_group):
    panels = [Panel(f"key-{k}", f"title {k}", f"content {k}") for k in range(n_panels)]
    page = parse_page(tabs(panels, "Measure"))
    assert bool(page.find("div", "tab-group")) == is_group
    found = page.find("section", "panel")
    assert [each.attributes["id"] for each in found] == [panel.key for panel in panels]
    assert [each.text for each in found] == [f"title {k}content {k}" for k in range(n_panels)]


@pytest.mark.parametrize(
    ("value", "content", "text", "key"),
    [
        (0.1, (), "0.1", "0.1"),
        (1 / 3, ("a third",), "a third", repr(1 / 3)),
        (3, (), "3", "3.0"),
        (None, (), "", None),
    ],
)
def test_a_number_cell_sorts_by_its_exact_value(value, content, text, key):
    (cell,) = parse_page(number_cell(value, *content)).find("td")
    assert cell.text == text
    assert cell.attributes.get("data-value") == key
    assert "number" in cell.classes


def test_a_heading_says_which_values_come_first():
    (largest,) = parse_page(heading("accuracy", first="largest")).find("th")
    (default,) = parse_page(heading("dataset", is_number=False)).find("th")
    assert (largest.attributes["data-first"], largest.classes) == ("largest", ["number"])
    assert (default.attributes["data-first"], default.classes) == ("smallest", [])


def test_a_table_has_its_caption_headings_and_rows_in_a_box_for_keyboards():
    rows = [[tag("th", "a"), number_cell(1.0)], [tag("th", "b"), number_cell(2.0)]]
    page = parse_page(data_table("Scores", [heading("pair"), heading("score")], rows))
    (box,) = page.find("div", "scroll")
    assert box.attributes["tabindex"] == "0"
    assert box.attributes["aria-label"] == page.find("caption")[0].text == "Scores"
    assert [row.text for row in page.find("tr")] == ["pairscore", "a1", "b2"]


def test_details_are_collapsed_under_their_summary():
    (folded,) = parse_page(details("Seeds", "1, 2")).find("details")
    assert "open" not in folded.attributes
    assert [each.text for each in folded.find("summary")] == ["Seeds"]


def test_a_section_a_figure_and_a_list_keep_titles_and_content_together():
    page = parse_page(
        section("key", "Title", figure("caption", tag("svg")), definition_list([("seed", 7)]))
    )
    place = page.at("key")
    assert place.find("h2")[0].text == "Title"
    assert place.find("figcaption")[0].text == "caption"
    assert (place.find("dt")[0].text, place.find("dd")[0].text) == ("seed", "7")
