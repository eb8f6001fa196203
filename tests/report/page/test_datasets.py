"""The section on datasets: facts, trees, reliability and confusion."""

import numpy as np

from polytomy.report import report_html
from polytomy.trials import Results
from report.cases import COEFFICIENTS, EVIL, TREE
from report.pages import parse_page


def labels_of(place):
    return [
        each.attributes["aria-label"] for each in place.walk() if "aria-label" in each.attributes
    ]


def test_every_dataset_has_its_distances_reliability_and_confusion(page):
    labels = labels_of(page.at("datasets"))
    for expected in (
        "Reliability of the probabilities of tree, least-squares on sat",
        "Confusion matrix of tree, greedy on sat, summed over all trials",
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
    assert errors.find("p")[0].text == "Wrong predictions: 9 of 54 (16.67%)."
    assert [item.text for item in errors.find("li")] == [
        'b&b predicted as c": 6 (33.3%)',
        f"{EVIL} predicted as b&b: 3 (16.7%)",
    ]


def test_the_empirical_tree_is_shown_as_text(page):
    assert TREE in [each.text for each in page.at("dataset-2").find("pre")]


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
    assert not page.find("table", "matrix")
    assert [each.text for each in page.find(class_="mistakes")[0].find("li")] == [
        "5 predicted as 7: 3 (75.0%)"
    ]
    assert "A matrix of 200 classes is too large to draw." in page.at("datasets").text
    assert "Correct predictions are blue" not in page.at("datasets").text
