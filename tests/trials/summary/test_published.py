"""The published figures, and the comparison with ours."""

import pytest

from polytomy.trials import CATALOGUE, PAPER_PAIRS, Results, pairs_from
from polytomy.trials.summary import beside_published, find_published

FACTS = {
    "n_samples": 6435,
    "n_features": 36,
    "classes": list("abcdef"),
    "counts": [1533, 703, 1358, 626, 707, 1508],
    "estimator": "svc C=50 gamma=0.1",
}
PROTOCOL = {
    "pairs": [pair.describe() for pair in PAPER_PAIRS],
    "test": 0.3,
    "seed": 5,
    "calibration": "auto",
    "folds": 5,
}
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
        ("root_brier_score", "letter", ("one-vs-one", "least-squares"), 0.0480, 0.0008),
        ("root_brier_score", "sat", ("empirical-tree", "least-squares"), 0.149, 0.004),
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
        ("root_brier_score", 8 * 6),  # none for greedy trees
        ("fit_seconds", 8 * 8),  # shared by both methods of a tree
        ("accuracy", 0),
    ],
)
def test_every_cell_of_every_table_is_present(measure, n_figures):
    found = [find_published(measure, name, pair) for name in CATALOGUE for pair in PAIRS]
    assert sum(each is not None for each in found) == n_figures


def test_pairs_with_a_final_calibration_are_not_in_the_paper():
    calibrated = [pair for pair in pairs_from(calibrated=True) if pair.final_calibration]
    for measure in ("fit_seconds", "predict_seconds", "root_brier_score"):
        for pair in calibrated:
            name = (pair.configuration, pair.method)
            assert find_published(measure, "sat", name) is None
            assert find_published(measure, "sat", (pair.configuration, "least-squares")) is not None


def test_a_figure_may_have_a_note():
    pair = ("orthogonal", "least-squares")
    assert find_published("root_brier_score", "letter", pair).note == "random code"


@pytest.mark.parametrize(
    ("measure", "value", "verdict"),
    [
        # 0.800 ± 0.010, largest is best; 0.145 ± 0.004, smallest is best.
        ("uncertainty_coefficient", 0.819, "agrees"),
        ("uncertainty_coefficient", 0.821, "better"),
        ("uncertainty_coefficient", 0.779, "worse"),
        ("root_brier_score", 0.138, "agrees"),
        ("root_brier_score", 0.136, "better"),
        ("root_brier_score", 0.154, "worse"),
    ],
)
def test_cells_agree_within_two_standard_deviations(measure, value, verdict):
    pair = ("one-vs-one", "least-squares")
    cell = {"configuration": pair[0], "method": pair[1], "scores": {measure: value, "accuracy": 1}}
    records = [{"dataset": name, "repeat": 0, "cells": [cell]} for name in ("sat", "iris")]
    results = Results(records, [pair], ["sat", "iris"], {"sat": FACTS}, {"protocol": PROTOCOL})
    (found,) = beside_published(results)
    assert (found.measure, found.dataset, found.pair) == (measure, "sat", pair)
    assert found.ours.mean == value
    assert found.verdict == verdict


def compare_with(facts=FACTS, protocol=PROTOCOL, pairs=PAIRS):
    """Return the configurations of sat that are compared with the paper."""
    scores = {"uncertainty_coefficient": 0.8}
    cells = [{"configuration": one, "method": other, "scores": scores} for one, other in pairs]
    records = [{"dataset": "sat", "repeat": 0, "cells": cells}]
    results = Results(records, pairs, ["sat"], {"sat": facts}, {"protocol": protocol})
    return list(dict.fromkeys(each.pair[0] for each in beside_published(results)))


def test_the_protocol_of_the_paper_is_compared():
    assert compare_with() == list(dict.fromkeys(configuration for configuration, _ in PAIRS))


def test_calibrated_pairs_beside_those_of_the_paper_are_not_compared():
    pairs = pairs_from(calibrated=True)
    protocol = PROTOCOL | {"pairs": [pair.describe() for pair in pairs]}
    scores = {"fit_seconds": 1.0, "predict_seconds": 1.0}
    cells = [
        {"configuration": pair.configuration, "method": pair.method, "scores": scores}
        | ({"final_calibration": pair.final_calibration} if pair.final_calibration else {})
        for pair in pairs
    ]
    records = [{"dataset": "sat", "repeat": 0, "cells": cells}]
    names = [(pair.configuration, pair.method) for pair in pairs]
    results = Results(records, names, ["sat"], {"sat": FACTS}, {"protocol": protocol})
    found = beside_published(results)
    assert [each.pair for each in found if each.measure == "predict_seconds"] == PAIRS
    assert [each.pair for each in found if each.measure == "fit_seconds"] == PAIRS


@pytest.mark.parametrize(
    "facts",
    [
        {"n_features": 4},
        {"counts": [1072, 1073, 1072, 1073, 1072, 1073]},
        {"estimator": "logistic-regression"},
        {"estimator": "svc C=10 gamma=0.1"},
        {"estimator": None},
    ],
)
def test_other_data_or_another_estimator_is_not_compared(facts):
    assert compare_with(FACTS | facts) == []


@pytest.mark.parametrize("change", [{"test": 0.5}, {"calibration": "isotonic"}, {"folds": 3}])
def test_another_split_or_calibration_is_not_compared(change):
    assert compare_with(protocol=PROTOCOL | change) == []


def test_results_of_an_unknown_protocol_are_not_compared():
    assert compare_with(protocol={}) == []
    assert compare_with(facts={}) == []


def test_a_scheme_of_the_user_with_a_name_of_the_paper_is_not_compared():
    own = [pair.describe() for pair in PAPER_PAIRS]
    own[0] = own[0] | {"scheme": "m {a b}"}
    found = compare_with(protocol=PROTOCOL | {"pairs": own})
    assert "one-vs-one" not in found
    assert "one-vs-rest" in found


def test_another_order_of_the_classes_is_not_compared():
    assert compare_with(FACTS | {"counts": sorted(CATALOGUE["sat"].counts)}) == []
