"""The result in one sentence."""

import pytest

from polytomy.trials import Results, summarise
from polytomy.trials.summary import find_lead

PAIRS = [("one-vs-one", "least-squares"), ("one-vs-one", "voting"), ("tree", "greedy")]


def make_results(values, estimator="svc C=10"):
    """Return results with these accuracies: dataset → one list per pair."""
    records = [
        {
            "dataset": name,
            "repeat": repeat,
            "cells": [
                {"configuration": one, "method": other, "scores": {"accuracy": row[repeat]}}
                for (one, other), row in zip(PAIRS, rows, strict=True)
            ],
        }
        for name, rows in values.items()
        for repeat in range(len(rows[0]))
    ]
    facts = {name: {"name": name, "estimator": estimator} for name in values}
    return Results(records, PAIRS, list(values), facts, {"protocol": {"test": 0.5}})


def test_the_lead_is_over_the_next_scheme_and_not_over_the_same_one():
    results = make_results({"land": [[0.9, 0.92], [0.9, 0.9], [0.8, 0.8]]})
    lead = find_lead(results, "land")
    assert (lead.pair, lead.rival) == (PAIRS[0], PAIRS[2])
    assert lead.ahead == pytest.approx(0.11)
    # Half held out: the variance of the mean is (1/2 + 1) · 0.0002; t is 12.706 for 1 degree.
    assert lead.interval.high - lead.interval.mean == pytest.approx(12.7062 * 0.0003**0.5, rel=1e-4)
    assert lead.is_noise


def test_the_sentence_names_estimator_data_and_best_scheme():
    text = summarise(make_results({"land": [[0.9, 0.92], [0.9, 0.9], [0.8, 0.8]]}))
    assert text.startswith(
        "With svc C=10 on land, one-vs-one (least-squares) was the most accurate"
    )
    assert "of 3 pairs: 0.910 ± 0.014 over 2 trials, 0.110 above the next scheme, tree" in text
    assert text.endswith(": the difference is within noise.")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0.9], [0.8], [0.7]], "one trial cannot show how much of that is noise."),
        ([[0.9, 0.9]] * 3, "tree (greedy) and 1 more were the most accurate of 3 pairs"),
        ([[0.9, 0.901], [0.5, 0.5], [0.1, 0.1]], "confidence interval from 0.7"),
    ],
)
def test_a_single_trial_ties_and_clear_leads_are_called_that(rows, words):
    text = summarise(make_results({"land": rows}))
    assert words in text
    assert "within noise" not in text


def test_several_datasets_are_compared_by_ranks():
    rows = [[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]]
    text = summarise(make_results({"land": rows, "sea": rows}))
    assert "With svc C=10 on land and sea, one-vs-one (least-squares) had the best mean" in text
    assert "1.00 among 3 pairs, 2.00 ahead of the next scheme, tree (greedy)" in text
    # Nemenyi's critical difference for 3 methods on 2 datasets: 2.343 · sqrt(3 · 4 / 12).
    assert "no other pair is significantly worse (critical difference 2.34)" in text
    many = {f"data {k}": rows for k in range(20)}
    text = summarise(make_results(many, "x" * 200))
    assert "the difference is significant, and 2 of the 2 other pairs are" in text
    assert "on 20 datasets" in text
    assert len(text) < 400


def test_without_trials_the_sentence_says_so():
    assert summarise(Results([], [], [])) == "No trials have finished yet."
