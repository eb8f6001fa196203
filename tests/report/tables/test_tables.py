"""Tables of measures, published figures and comparisons."""

import statistics

import pytest

from polytomy.trials import MEASURES
from report.cases import COEFFICIENTS, PAIRS
from report.pages import table_of


def panel(page, measure):
    return page.at(f"measure-{measure}")


def test_cells_are_means_and_standard_deviations(page):
    title = MEASURES["uncertainty_coefficient"].title
    _, *rows = table_of(panel(page, "uncertainty_coefficient"), title)
    for k, row in enumerate(rows):
        assert row[0].text.split() == [str(k + 1), *PAIRS[k]]
        for dataset, cell in zip(("sat", "own & <b>"), row[1:], strict=True):
            values = COEFFICIENTS.get((dataset, k))
            if values is None:
                assert (cell.text, cell.attributes.get("data-value")) == ("", None)
                continue
            mean, std = statistics.mean(values), statistics.stdev(values)
            assert float(cell.attributes["data-value"]) == pytest.approx(mean)
            shown = [float(part) for part in cell.children[0].text.split(" ± ")]
            assert shown == pytest.approx([mean, std], abs=0.0051 if dataset != "sat" else 0.00051)


def test_the_best_is_bold(page):
    _, *rows = table_of(panel(page, "accuracy"), "Accuracy")
    assert [[bool(cell.find("strong")) for cell in row[1:]] for row in rows] == [
        [False, True],
        [True, False],
        [False, False],
    ]
    _, *times = table_of(panel(page, "fit_seconds"), "Training time (seconds)")
    assert [[bool(cell.find("strong")) for cell in row[1:]] for row in times] == [
        [False, False],
        [True, True],
    ]


def test_published_figures_are_below_ours_with_a_mark_and_its_meaning(page):
    title = MEASURES["uncertainty_coefficient"].title
    _, *rows = table_of(panel(page, "uncertainty_coefficient"), title)
    lines = [row[1].find(class_="published")[0] for row in rows]
    assert [line.text for line in lines] == [
        "≈ agrees with the published figure 0.80 ± 0.01",
        "▲ better than the published figure 0.788 ± 0.010",
        "▼ worse than the published figure 0.789 ± 0.010",
    ]
    # 0.51333 against 0.789 ± 0.010
    assert "difference -0.28, 27.6 standard deviations" in lines[2].attributes["title"]
    assert not any(row[2].find(class_="published") for row in rows)
    assert "ours is within two published standard deviations" in page.at("measures").text
    assert "another machine" in panel(page, "fit_seconds").text


def test_agreement_with_the_paper_is_counted_and_worse_results_are_listed(page):
    place = page.at("published")
    heads, *rows = table_of(place, "Results compared with the published tables")
    assert [head.text for head in heads[1:5]] == ["results", "≈ agrees", "▲ better", "▼ worse"]
    assert [cell.text for cell in rows[0]] == ["Uncertainty coefficient", "3", "1", "1", "1", "67%"]
    _, *worse = table_of(place, "Results that are worse than the published ones")
    assert len(worse) == 1
    assert [cell.text for cell in worse[0]][1:5] == [
        "Uncertainty coefficient", "sat", "0.513 ± 0.015", "0.789 ± 0.010",
    ]  # fmt: skip


def test_pairs_are_compared_split_by_split(page):
    place = panel(page, "accuracy")
    heads, *rows = table_of(place, "Number of splits on which each pair is better")
    found = {row[0].text: [cell.text for cell in row[1:]] for row in rows}
    assert [head.text for head in heads] == ["first : second", "sat", "own & <b>"]
    assert found == {
        # Two of the eight sign patterns are as extreme as 3 : 0; four if the smallest difference is
        # the one that is lost.
        "1 one-vs-one, least-squares 2 tree, greedy": ["0 : 3 p = 0.25", ""],
        "1 one-vs-one, least-squares 3 tree, least-squares": ["3 : 0 p = 0.25", "2 : 1 p = 0.5"],
        "2 tree, greedy 3 tree, least-squares": ["3 : 0 p = 0.25", ""],
    }
    _, *times = table_of(
        panel(page, "fit_seconds"), "Number of splits on which each pair is better"
    )
    assert [row[0].text.split() for row in times] == [["one-vs-one", "tree"]]
    assert times[0][1].text == "0 : 3 p = 0.25"
