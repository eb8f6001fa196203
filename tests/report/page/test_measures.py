"""The sections on measures and times."""

from polytomy.report import report_html
from polytomy.trials import MEASURES
from report.cases import make_results
from report.pages import parse_page, table_of

MEASURED = (
    "uncertainty_coefficient", "accuracy", "log_loss", "fit_seconds", "predict_seconds",
    "n_binaries",
)  # fmt: skip


def panel(page, measure):
    return page.at(f"measure-{measure}")


def test_every_measure_has_a_table_of_pairs_and_datasets(page):
    for measure in MEASURED:
        title = MEASURES[measure].title
        heads, *rows = table_of(panel(page, measure), title)
        assert [head.text for head in heads[1:]] == ["sat", "own & <b>"]
        assert len(rows) == {"log_loss": 2}.get(measure, 3)
    assert len(page.find("section", "panel")) >= len(MEASURED)


def test_ranks_are_drawn_if_all_pairs_were_measured_on_two_datasets(page):
    assert "critical difference" in panel(page, "log_loss").text
    # The greedy tree was measured on one dataset only.
    assert "critical difference" not in panel(page, "accuracy").text
    assert "critical difference" not in panel(page, "n_binaries").text


def test_a_single_trial_has_no_standard_deviation():
    for repeats, words in ((1, "● a single trial;"), (2, "● mean and standard deviation over the")):
        page = parse_page(report_html(make_results(repeats)))
        assert words in panel(page, "accuracy").text
        assert ("±" in panel(page, "log_loss").find("table")[0].text) == (repeats > 1)


def test_accuracy_is_plotted_against_both_times(page):
    times = page.at("times")
    labels = [each.attributes["aria-label"] for each in times.find("svg")]
    assert labels == [
        f"Accuracy against mean {kind} time (seconds) on {dataset}"
        for kind in ("training", "prediction")
        for dataset in ("sat", "own & <b>")
    ]
    assert "further left is faster" in times.text


def test_scores_are_plotted_for_every_dataset_unless_no_value_is_best(page):
    labels = [each.attributes["aria-label"] for each in panel(page, "accuracy").find("svg")]
    assert labels == [
        f"Accuracy on {dataset}: mean and standard deviation of each pair"
        for dataset in ("sat", "own & <b>")
    ]
    assert panel(page, "n_binaries").find("svg") == []
