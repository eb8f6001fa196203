"""The page: its figures and words, that it is well formed and needs nothing from elsewhere."""

import base64
import hashlib
import json
import re
import statistics
from threading import Thread

import numpy as np
import pytest

from pages import parse_page, table_of
from polytomy.errors import DataError
from polytomy.report import report_html, write_report
from polytomy.trials import MEASURES, Results
from polytomy.trials.store import holding_tables
from report_cases import CLASSES, COEFFICIENTS, EVIL, PAIRS, make_record, make_results

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
        assert len(rows) == {"fit_seconds": 2, "n_binaries": 2, "log_loss": 2}.get(measure, 3)
    assert len(page.find("section", "panel")) >= len(MEASURED)


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
    _, *times = table_of(panel(page, "fit_seconds"), "Training time, seconds")
    assert [[bool(cell.find("strong")) for cell in row[1:]] for row in times] == [
        [False, False],
        [True, True],
    ]


def test_published_figures_stand_beside_ours_with_a_mark_and_words(page):
    title = MEASURES["uncertainty_coefficient"].title
    _, *rows = table_of(panel(page, "uncertainty_coefficient"), title)
    lines = [row[1].find(class_="published")[0] for row in rows]
    assert [line.text for line in lines] == [
        "≈ agrees with the published figure 0.80 ± 0.01",
        "▲ better than the published figure 0.788 ± 0.010",
        "▼ worse than the published figure 0.789 ± 0.010",
    ]
    # 0.51333 against 0.789 ± 0.010
    assert "the difference is -0.28, 27.6 standard deviations" in lines[2].attributes["title"]
    assert not any(row[2].find(class_="published") for row in rows)
    assert "ours is within two of its standard deviations" in page.at("measures").text
    assert "another machine" in panel(page, "fit_seconds").text


def test_agreement_with_the_paper_is_counted_and_what_is_worse_listed(page):
    place = page.at("published")
    heads, *rows = table_of(place, "Cells that the published tables have too")
    assert [head.text for head in heads[1:5]] == ["cells", "≈ agrees", "▲ better", "▼ worse"]
    assert [cell.text for cell in rows[0]] == ["Uncertainty coefficient", "3", "1", "1", "1", "67%"]
    assert "67%" in page.at("overview").text
    _, *worse = table_of(place, "Cells that are worse than the published ones")
    assert len(worse) == 1
    assert [cell.text for cell in worse[0]][1:5] == [
        "Uncertainty coefficient", "sat", "0.513 ± 0.015", "0.789 ± 0.010",
    ]  # fmt: skip


def test_pairs_are_compared_split_by_split(page):
    place = panel(page, "accuracy")
    heads, *rows = table_of(place, "Splits on which the first and the second is better")
    found = {row[0].text: [cell.text for cell in row[1:]] for row in rows}
    assert [head.text for head in heads] == ["first : second", "sat", "own & <b>"]
    assert found == {
        # Of the eight patterns of signs, two are as far out as 3 : 0; if the least difference is
        # the one that is lost, four are as far out as that.
        "1 one-vs-one, least-squares 2 tree, greedy": ["0 : 3 p = 0.25", ""],
        "1 one-vs-one, least-squares 3 tree, least-squares": ["3 : 0 p = 0.25", "2 : 1 p = 0.5"],
        "2 tree, greedy 3 tree, least-squares": ["3 : 0 p = 0.25", ""],
    }
    _, *times = table_of(
        panel(page, "fit_seconds"), "Splits on which the first and the second is better"
    )
    assert [row[0].text.split() for row in times] == [["one-vs-one", "tree"]]
    assert times[0][1].text == "0 : 3 p = 0.25"


def test_ranks_are_drawn_where_all_pairs_were_measured_on_two_datasets(page):
    assert "critical difference" in panel(page, "fit_seconds").text
    # The walk down the tree was measured on one dataset alone.
    assert "critical difference" not in panel(page, "accuracy").text
    assert "critical difference" not in panel(page, "n_binaries").text


def test_pictures_of_every_kind_are_there_and_say_what_they_show(page):
    pictures = [each for each in page.find("svg") if "plot" in each.classes]
    assert all(each.attributes["role"] == "img" for each in pictures)
    labels = [each.attributes["aria-label"] for each in pictures]
    for expected in (
        "Accuracy on sat, mean and standard deviation of each pair",
        "Accuracy against training time, seconds, mean on own & <b>",
        "Accuracy against prediction time, seconds, mean on sat",
        "Reliability of the probabilities of tree, least-squares on sat",
        "Confusion matrix of tree, greedy on sat, all trials together",
        "Empirical tree of the 3 classes of own & <b>",
        "Distances between the 3 classes of sat",
        "Mean ranks by training time, seconds over 2 datasets, best first",
    ):
        assert labels.count(expected) == 1
    # Neither is there a reliability of the greedy walk, nor any confusion where it was not done.
    assert not any("Reliability" in label and "greedy" in label for label in labels)
    assert sum("Confusion" in label for label in labels) == len(COEFFICIENTS)


def test_mistakes_are_counted_over_all_trials(page):
    told = page.at("confusion-1-1").find(class_="mistakes")[0]
    assert told.find("p")[0].text == "9 of 54 wrong (16.67%)."
    assert [item.text for item in told.find("li")] == [
        'b&b taken for c": 6 (33.3%)',
        f"{EVIL} taken for b&b: 3 (16.7%)",
    ]


def test_control_texts_are_folded_and_told_apart_by_their_trials(page):
    place = page.at("schemes")
    assert all("open" not in each.attributes for each in place.find("details"))
    summaries = [each.text for each in place.find("summary")]
    assert summaries[:3] == ["one-vs-one", "sat", "own & <b>"]
    assert summaries[3:5] == ["tree", "sat, trial 1"]
    assert [each.text for each in place.find("pre")][:3] == [
        f"text {EVIL}",
        f"text {EVIL}",
        "tree of trial 0",
    ]


def test_a_very_long_control_text_is_cut_and_says_so():
    record = make_record("sat", 0) | {"schemes": {"tree": "x" * 60_001}}
    place = parse_page(report_html(Results([record], PAIRS, ["sat"]))).at("schemes")
    assert place.find("pre")[0].text == "x" * 60_000
    assert "the first 60,000 of 60,001 characters" in place.text


def test_problems_warnings_protocol_versions_and_seeds_are_told(page):
    problems = page.at("problems").text
    assert f"no walk on {EVIL}" in problems
    assert "tree, greedy on own & <b>" in problems
    assert f"odd {EVIL}" in problems
    facts = {
        each.find("dt")[0].text: each.find("dd")[0].text
        for each in page.at("protocol").find("div")
        if each.find("dt") and len(each.find("dt")) == 1
    }
    assert facts["held out for testing"] == "30% of each class"
    assert facts["seed"] == "77"
    assert facts["numpy"] == "1.26, 2.0"
    assert facts["threads"] == "OMP_NUM_THREADS=1"
    assert facts["jobs"] == "2"
    assert facts["sat"] in ("1000, 1001, 1002", "f00d")
    assert "1000, 1001, 1002" in page.at("protocol").text
    assert "f00d" in page.at("protocol").text


@pytest.mark.parametrize(("n_records", "n_links"), [(6, 8), (1, 7), (0, 2)])
def test_ids_are_unique_and_links_lead_to_them(n_records, n_links):
    whole = make_results()
    results = Results(whole.records[:n_records], PAIRS, whole.datasets, whole.facts, whole.manifest)
    page = parse_page(report_html(results))
    ids = [each.attributes["id"] for each in page.walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    links = [each.attributes["href"] for each in page.find("a")]
    assert len(links) == n_links
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_nothing_is_fetched(html, page):
    fetching = {"src", "srcset", "data", "poster", "action", "background", "xlink:href"}
    for each in page.walk():
        assert not fetching & set(each.attributes)
        assert each.name not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert (each.attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in each.attributes)
    assert "url(" not in html
    assert "@import" not in html
    assert not re.search(r"https?:|//[a-z0-9-]+\.", html)
    (policy,) = [
        each.attributes["content"]
        for each in page.find("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none';")
    (script,) = page.find("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_labels_names_and_texts_are_never_markup(html, page):
    assert EVIL not in html
    assert "&lt;script&gt;alert(" in html
    assert len(page.find("script")) == 1
    # "own & <b>" is a name; the only bold letters are ours.
    assert all(each.text in {*CLASSES, "one-vs-one", "tree"} for each in page.find("b"))
    assert page.find("title")[0].text == "Numerical trials of polytomy: sat, own & <b>"


def test_a_run_that_is_not_finished_says_so():
    whole = make_results()
    partly = Results(whole.records[:-1], PAIRS, whole.datasets, whole.facts, whole.manifest)
    page = parse_page(report_html(partly))
    (warning,) = page.find("p", "warning")
    assert warning.text == "The run is not finished: of 3 trials that others have, own & <b> 2."
    assert not parse_page(report_html(whole)).find("p", "warning")
    assert "2–3 trials of each" in page.find("header")[0].text


def test_a_dataset_without_any_trial_is_told():
    whole = make_results(1)
    partly = Results(whole.records[:1], PAIRS, ["sat"], whole.facts, whole.manifest)
    (warning,) = parse_page(report_html(partly)).find("p", "warning")
    assert warning.text == "The run is not finished: of 1 trial that others have, own & <b> 0."


def test_without_any_trial_there_is_still_a_page():
    page = parse_page(report_html(Results([], PAIRS, [], {}, make_results().manifest)))
    assert page.find("p", "warning")[0].text == "No trial is finished yet."
    assert "77" in page.at("protocol").text


def test_the_least_that_results_have_is_enough():
    cells = [{"configuration": "tree", "method": "greedy", "scores": {"accuracy": 0.75}}]
    results = Results(
        [{"dataset": "a", "repeat": 0, "cells": cells}], [("tree", "greedy")], ["a", "b"]
    )
    page = parse_page(report_html(results))
    _, (_, first, second) = table_of(page, "Accuracy")
    assert (first.find("strong")[0].text, second.text) == ("0.7500", "")


def test_one_trial_has_no_deviation():
    for repeats, words in ((1, "● of one trial;"), (2, "● mean and standard deviation over the")):
        page = parse_page(report_html(make_results(repeats)))
        assert words in panel(page, "accuracy").text
        assert ("±" in panel(page, "log_loss").find("table")[0].text) == (repeats > 1)


def test_where_nothing_could_be_done_the_page_says_why():
    cells = [{"configuration": "tree", "method": "greedy", "problem": "too few samples"}]
    results = Results([{"dataset": "a", "repeat": 0, "cells": cells}], [("tree", "greedy")], ["a"])
    page = parse_page(report_html(results))
    assert "too few samples" in page.at("problems").text
    assert not page.find("table")


def test_configurations_are_compared_once_whatever_the_order_of_their_methods():
    pairs = [("tree", "greedy"), ("pairs", "lsq"), ("tree", "lsq")]
    cells = [
        {"configuration": one, "method": other, "scores": {"fit_seconds": float(len(one))}}
        for one, other in pairs
    ]
    records = [{"dataset": "a", "repeat": repeat, "cells": cells} for repeat in range(2)]
    page = parse_page(report_html(Results(records, pairs, ["a"])))
    _, *rows = table_of(page, "Splits on which the first and the second is better")
    assert [row[0].text.split() for row in rows] == [["tree", "pairs"]]
    assert rows[0][1].text.startswith("2 : 0")


@pytest.mark.parametrize(
    "change",
    [
        {"empirical_tree": "no {scheme"},
        {"empirical_tree": "m {a b}"},
        {"empirical_tree": "@one-vs-one {a b c}", "classes": ["a", "b", "c"]},
    ],
)
def test_a_tree_that_does_not_fit_is_shown_as_text(change):
    whole = make_results(1, ["sat"])
    facts = {"sat": whole.facts["sat"] | change}
    results = Results(whole.records, PAIRS, ["sat"], facts)
    page = parse_page(report_html(results))
    assert change["empirical_tree"] in [each.text for each in page.at("datasets").find("pre")]
    labels = [each.attributes.get("aria-label") or "" for each in page.find("svg")]
    assert not any("Empirical tree" in label for label in labels)


def test_twenty_six_classes_and_eight_pairs_make_a_page_of_moderate_size():
    pairs = [(f"scheme {k}", "least-squares") for k in range(8)]
    confusion = [[1 + (i + k) % 7 for k in range(26)] for i in range(26)]
    letters = [chr(65 + k) for k in range(26)]
    cells = [
        {"configuration": one, "method": other, "scores": {"accuracy": 0.5}, "confusion": confusion}
        for one, other in pairs
    ]
    record = {"dataset": "letters", "repeat": 0, "classes": letters, "cells": cells}
    html = report_html(Results([record], pairs, ["letters"]))
    matrices = [each for each in parse_page(html).find("svg") if "matrix" in each.classes]
    assert len(matrices) == 8
    assert len(html) < 500_000


def test_hundreds_of_classes_are_not_drawn_but_their_mistakes_listed():
    n_classes = 200
    confusion = np.eye(n_classes, dtype=int)
    confusion[5, 7] = 3
    cells = [
        {"configuration": "t", "method": "m", "scores": {"accuracy": 0.5}}
        | {"confusion": confusion.tolist()}
    ]
    record = {"dataset": "many", "repeat": 0, "cells": cells}
    page = parse_page(report_html(Results([record], [("t", "m")], ["many"])))
    assert not [each for each in page.find("svg") if "matrix" in each.classes]
    assert [each.text for each in page.find(class_="mistakes")[0].find("li")] == [
        "5 taken for 7: 3 (75.0%)"
    ]
    assert "A matrix of 200 classes could not be read." in page.at("datasets").text
    assert "Blue is right" not in page.at("datasets").text


@pytest.fixture
def folder(tmp_path):
    """Return a folder as a run leaves it."""
    results = make_results()
    (tmp_path / "manifest.json").write_text(json.dumps(results.manifest | {"format": 1}))
    for part in ("trials", "datasets"):
        (tmp_path / part).mkdir()
    for k, record in enumerate(results.records):
        (tmp_path / "trials" / f"{k}.json").write_text(json.dumps(record))
    for k, facts in enumerate(results.facts.values()):
        (tmp_path / "datasets" / f"{k}.json").write_text(json.dumps(facts))
    return tmp_path


def test_the_report_of_a_folder_is_that_of_its_results(folder, tmp_path):
    page = write_report(folder)
    assert page == folder / "report.html"
    assert page.read_text(encoding="utf-8") == report_html(Results.read(folder))
    elsewhere = write_report(str(folder), tmp_path / "else.html")
    assert elsewhere.read_bytes() == page.read_bytes()


def test_who_makes_a_report_waits_for_others_who_do(folder):
    (folder / ".claims").mkdir()
    with holding_tables(folder):
        other = Thread(target=write_report, args=[folder])
        other.start()
        other.join(0.5)
        assert not (folder / "report.html").exists()
        (folder / "trials" / "0.json").unlink()
    other.join()
    assert (folder / "report.html").read_text(encoding="utf-8") == report_html(Results.read(folder))


def test_a_report_that_cannot_be_made_leaves_the_old_one(folder):
    page = write_report(folder)
    before = page.read_bytes()
    (folder / "datasets" / "0.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        write_report(folder)
    assert page.read_bytes() == before
    assert [each.name for each in folder.glob(".polytomy-*")] == []


def test_half_a_character_is_written_as_a_question_mark(tmp_path):
    record = make_record("sat", 0) | {"warnings": ["odd \ud800 text"]}
    page = write_report(Results([record], PAIRS, ["sat"]), tmp_path / "page.html")
    assert "odd ? text" in page.read_text(encoding="utf-8")
