"""Tables of measures."""

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
        [True, False],
        [True, True],
    ]
