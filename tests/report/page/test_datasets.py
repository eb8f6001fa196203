"""The section on datasets: facts, trees, reliability and confusion."""

import numpy as np
import pytest

from polytomy.report import report_html
from polytomy.trials import Results
from report.cases import COEFFICIENTS, EVIL, PAIRS, make_results
from report.pages import parse_page


def labels_of(place):
    return [each.attributes["aria-label"] for each in place.find("svg")]


def test_every_dataset_has_its_tree_distances_reliability_and_confusion(page):
    labels = labels_of(page.at("datasets"))
    for expected in (
        "Reliability of the probabilities of tree, least-squares on sat",
        "Confusion matrix of tree, greedy on sat, summed over all trials",
        "Empirical tree of the 3 classes of own & <b>",
        "Distances between the 6 classes of sat",
    ):
        assert labels.count(expected) == 1


def test_only_probabilities_have_a_reliability_and_only_predictions_a_confusion(page):
    labels = labels_of(page.at("datasets"))
    assert not any("Reliability" in label and "greedy" in label for label in labels)
    assert sum("Confusion" in label for label in labels) == len(COEFFICIENTS)


def test_facts_of_a_dataset_are_listed(page):
    facts = {
        each.find("dt")[0].text: each.find("dd")[0].text
        for each in page.at("dataset-1").find("div")
        if len(each.find("dt")) == 1
    }
    assert facts["samples"] == "6,435"
    assert facts["features"] == "36"
    assert facts["training / test samples"] == "40 / 18"
    assert facts["b&b"] == "703"


def test_errors_are_counted_over_all_trials(page):
    errors = page.at("confusion-1-1").find(class_="mistakes")[0]
    assert errors.find("p")[0].text == "9 of 54 predictions are wrong (16.67%)."
    assert [item.text for item in errors.find("li")] == [
        'b&b predicted as c": 6 (33.3%)',
        f"{EVIL} predicted as b&b: 3 (16.7%)",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"empirical_tree": "no {scheme"},
        {"empirical_tree": "m {a b}"},
        {"empirical_tree": "@one-vs-one {a b c}", "classes": ["a", "b", "c"], "counts": [1, 2, 3]},
    ],
)
def test_a_tree_that_does_not_match_the_classes_is_shown_as_text(change):
    whole = make_results(1, ["sat"])
    facts = {"sat": whole.facts["sat"] | change}
    results = Results(whole.records, PAIRS, ["sat"], facts)
    page = parse_page(report_html(results))
    assert change["empirical_tree"] in [each.text for each in page.at("datasets").find("pre")]
    labels = [each.attributes.get("aria-label") or "" for each in page.find("svg")]
    assert not any("Empirical tree" in label for label in labels)


def test_hundreds_of_classes_are_not_drawn_but_their_errors_are_listed():
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
        "5 predicted as 7: 3 (75.0%)"
    ]
    assert "A matrix of 200 classes is too large to draw." in page.at("datasets").text
    assert "Correct predictions are blue" not in page.at("datasets").text
