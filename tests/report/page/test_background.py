"""The sections on schemes, problems and the protocol."""

from polytomy.report import report_html
from polytomy.trials import Results
from report.cases import EVIL, PAIRS, make_record
from report.pages import parse_page


def test_control_texts_are_those_of_the_first_trial_and_collapsed(page):
    place = page.at("schemes")
    assert all("open" not in each.attributes for each in place.find("details"))
    summaries = [each.text for each in place.find("summary")]
    assert summaries == ["one-vs-one", "sat", "own & <b>", "tree", "sat", "own & <b>"]
    texts = [f"text {EVIL}", f"text {EVIL}", "tree of trial 0", "tree of trial 0"]
    assert [each.text for each in place.find("pre")] == texts


def test_a_very_long_control_text_is_truncated_with_a_note():
    record = make_record("sat", 0) | {"schemes": {"tree": "x" * 60_001}}
    place = parse_page(report_html(Results([record], PAIRS, ["sat"]))).at("schemes")
    assert place.find("pre")[0].text == "x" * 60_000
    assert "end after 60,000 characters" in place.text


def test_problems_warnings_protocol_and_versions_are_listed(page):
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


def test_if_no_pair_could_be_run_the_page_says_why():
    cells = [{"configuration": "tree", "method": "greedy", "problem": "too few samples"}]
    results = Results([{"dataset": "a", "repeat": 0, "cells": cells}], [("tree", "greedy")], ["a"])
    page = parse_page(report_html(results))
    assert "too few samples" in page.at("problems").text
    assert not page.find("table")
