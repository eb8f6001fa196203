"""The first section: the result in one sentence and one table."""

from polytomy.report import report_html
from polytomy.report.page import count_trials
from polytomy.trials import Results, summarise
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


def test_the_page_opens_with_the_result_and_then_its_table(page):
    result = page.at("result")
    (sentence,) = result.find("p", "result")
    assert sentence.text == summarise(make_results())
    heads, *rows = table_of(result, "Datasets and the best pair on each")
    assert [head.text for head in heads] == [
        "dataset", "most accurate", "accuracy", "lead", "trials",
        "samples", "features", "classes", "binary classifier",
    ]  # fmt: skip
    best = {row[0].text: row[1].text for row in rows}
    assert best == {"sat": "2 tree, greedy", "own & <b>": "1 one-vs-one, least-squares"}
    # 0.91 and 0.80333 on average.
    assert rows[0][3].text.startswith("+0.107")


def test_one_dataset_has_a_table_of_all_pairs_the_most_accurate_first():
    page = parse_page(report_html(make_results(datasets=["sat"])))
    heads, *rows = table_of(page.at("result"), "All pairs on sat, the most accurate first")
    assert [head.text for head in heads] == [
        "configuration and method", "accuracy", "behind the best", "log-loss", "training s",
        "prediction s",
    ]  # fmt: skip
    assert [row[0].text.split()[0] for row in rows] == ["2", "1", "3"]
    assert [row[2].text[:6] for row in rows] == ["", "−0.107", "−0.397"]
    (header,) = page.find("header")
    assert "Trials on sat" in header.text
    assert "svc C=50 gamma=0.1" in header.text
