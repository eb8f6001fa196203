"""The sections on schemes, problems and the protocol."""

from polytomy.report import report_html
from polytomy.trials import Results
from report.cases import EVIL, PAIRS, make_record
from report.pages import parse_page


def test_control_texts_are_collapsed_and_labelled_by_dataset_and_trial(page):
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


def test_a_very_long_control_text_is_truncated_with_a_note():
    record = make_record("sat", 0) | {"schemes": {"tree": "x" * 60_001}}
    place = parse_page(report_html(Results([record], PAIRS, ["sat"]))).at("schemes")
    assert place.find("pre")[0].text == "x" * 60_000
    assert "the first 60,000 of 60,001 characters" in place.text


def test_problems_warnings_protocol_versions_and_seeds_are_listed(page):
    problems = page.at("problems").text
    assert f"no tree for {EVIL}" in problems
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


def test_the_protocol_names_the_final_calibration_of_a_pair():
    pair = {"configuration": "tree", "method": "lsq + bias", "scheme": "tree", "solver": "lsq"}
    protocol = {"pairs": [pair, pair | {"method": "lsq"}]}
    protocol["pairs"][0] = pair | {"final_calibration": "bias"}
    names = [(each["configuration"], each["method"]) for each in protocol["pairs"]]
    page = parse_page(report_html(Results([], names, [], manifest={"protocol": protocol})))
    (own,) = [each for each in page.at("protocol").find("dl") if "solved by" in each.text]
    assert [each.text for each in own.find("dt")] == ["tree, lsq + bias"]
    assert own.find("dd")[0].text == "tree solved by lsq, final calibration bias"


def test_if_no_pair_could_be_run_the_page_says_why():
    cells = [{"configuration": "tree", "method": "greedy", "problem": "too few samples"}]
    results = Results([{"dataset": "a", "repeat": 0, "cells": cells}], [("tree", "greedy")], ["a"])
    page = parse_page(report_html(results))
    assert "too few samples" in page.at("problems").text
    assert not page.find("table")
