"""The first sections: best pairs, unfinished runs and the comparison with the paper."""

from polytomy.report import report_html
from polytomy.report.overview import count_trials
from polytomy.trials import Results
from report.cases import PAIRS, make_results
from report.pages import parse_page, table_of


def test_an_unfinished_run_has_a_warning():
    whole = make_results()
    partly = Results(whole.records[:-1], PAIRS, whole.datasets, whole.facts, whole.manifest)
    page = parse_page(report_html(partly))
    (warning,) = page.find("p", "warning")
    assert warning.text == "The run is not finished: own & <b> has 2 of 3 trials."
    assert not parse_page(report_html(whole)).find("p", "warning")
    assert "2–3 trials per dataset" in page.find("header")[0].text


def test_a_dataset_without_trials_has_a_warning():
    whole = make_results(1)
    partly = Results(whole.records[:1], PAIRS, ["sat"], whole.facts, whole.manifest)
    (warning,) = parse_page(report_html(partly)).find("p", "warning")
    assert warning.text == "The run is not finished: own & <b> has 0 of 1 trials."


def test_trials_are_counted_by_dataset():
    whole = make_results()
    assert count_trials(whole) == {"sat": 3, "own & <b>": 3}
    assert count_trials(Results(whole.records[:4], PAIRS, whole.datasets)) == {
        "sat": 3,
        "own & <b>": 1,
    }


def test_cards_name_the_best_pair_over_all_datasets(page):
    cards = {
        card.find("p", "title")[0].text: [each.text for each in card.find("p")[1:]]
        for card in page.find("div", "card")
    }
    # The tree trains in 3 seconds on average, one-vs-one in 31.
    assert cards["Best training time"] == [" tree", "mean rank 1.00 of 2, over 2 datasets"]
    assert cards["Compared with the paper"][0] == "67%"


def test_the_table_of_datasets_names_the_best_pair_on_each(page):
    heads, *rows = table_of(page.at("overview"), "Datasets and the best pairs on each")
    assert [head.text for head in heads] == [
        "dataset", "samples", "features", "classes", "trials", "best uncertainty coefficient",
        "best accuracy", "best log-loss",
    ]  # fmt: skip
    best = {row[0].text: row[6].text for row in rows}
    assert best["sat"].startswith("2 tree, greedy")
    assert best["own & <b>"].startswith("1 one-vs-one, least-squares")
