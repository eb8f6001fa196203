"""The published figures, and the comparison with ours."""

import pytest

from polytomy.errors import ArgumentError
from polytomy.trials import CATALOGUE, PAPER_PAIRS, Results
from polytomy.trials.published import beside_published, find_published

PAIRS = [(pair.configuration, pair.method) for pair in PAPER_PAIRS]


@pytest.mark.parametrize(
    ("measure", "dataset", "pair", "mean", "std"),
    [
        # From the first, a middle and the last row of tables, copied by hand.
        ("fit_seconds", "letter", ("one-vs-one", "least-squares"), 157, 2),
        ("fit_seconds", "humidity", ("empirical-tree", "greedy"), 47, 7),
        ("predict_seconds", "usps", ("tree", "greedy"), 3.7, 0.3),
        ("predict_seconds", "segment", ("empirical-tree", "least-squares"), 0.03, 5e-6),
        ("uncertainty_coefficient", "shuttle", ("orthogonal", "least-squares"), 0.974, 0.002),
        ("uncertainty_coefficient", "urban", ("tree", "least-squares"), 0.727, 0.030),
        ("brier_score", "letter", ("one-vs-one", "least-squares"), 0.0480, 0.0008),
        ("brier_score", "sat", ("empirical-tree", "least-squares"), 0.149, 0.004),
        ("winner_brier_score", "humidity", ("one-vs-rest", "least-squares"), 0.419, 0.005),
        ("winner_brier_score", "pendigits", ("empirical-tree", "greedy"), 0.076, 0.006),
    ],
)
def test_figures_equal_those_of_the_tables(measure, dataset, pair, mean, std):
    assert find_published(measure, dataset, pair)[:2] == (mean, std)


@pytest.mark.parametrize(
    ("measure", "n_figures"),
    [
        ("uncertainty_coefficient", 8 * 8),
        ("winner_brier_score", 8 * 8),
        ("predict_seconds", 8 * 8),
        ("brier_score", 8 * 6),  # none for greedy trees
        ("fit_seconds", 8 * 8),  # shared by both methods of a tree
        ("accuracy", 0),
    ],
)
def test_every_cell_of_every_table_is_present(measure, n_figures):
    found = [find_published(measure, name, pair) for name in CATALOGUE for pair in PAIRS]
    assert sum(each is not None for each in found) == n_figures


def test_a_figure_may_have_a_note():
    pair = ("orthogonal", "least-squares")
    assert find_published("brier_score", "letter", pair).note == "random code"
    with pytest.raises(ArgumentError, match='measure="brier" is unknown'):
        find_published("brier", "letter", pair)


@pytest.mark.parametrize(
    ("measure", "value", "verdict"),
    [
        # 0.800 ± 0.010, largest is best; 0.145 ± 0.004, smallest is best.
        ("uncertainty_coefficient", 0.819, "agrees"),
        ("uncertainty_coefficient", 0.821, "better"),
        ("uncertainty_coefficient", 0.779, "worse"),
        ("brier_score", 0.138, "agrees"),
        ("brier_score", 0.136, "better"),
        ("brier_score", 0.154, "worse"),
    ],
)
def test_cells_agree_within_two_standard_deviations(measure, value, verdict):
    pair = ("one-vs-one", "least-squares")
    cell = {"configuration": pair[0], "method": pair[1], "scores": {measure: value, "accuracy": 1}}
    records = [{"dataset": name, "repeat": 0, "cells": [cell]} for name in ("sat", "iris")]
    (found,) = beside_published(Results(records, [pair], ["sat", "iris"]))
    assert (found.measure, found.dataset, found.pair) == (measure, "sat", pair)
    assert found.ours.mean == value
    assert found.verdict == verdict


def test_a_dataset_with_a_published_name_but_another_size_is_not_compared():
    scores = {"uncertainty_coefficient": 0.8}
    cells = [{"configuration": PAIRS[0][0], "method": PAIRS[0][1], "scores": scores}]
    records = [{"dataset": "sat", "repeat": 0, "cells": cells}]
    for facts, n_cells in (
        ({"n_samples": 6435, "n_features": 36}, 1),
        ({"n_samples": 6435, "n_features": 4}, 0),
        ({"n_samples": 100, "n_features": 36}, 0),
    ):
        results = Results(records, PAIRS, ["sat"], {"sat": facts})
        assert len(beside_published(results)) == n_cells
