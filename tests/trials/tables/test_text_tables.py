"""Plain-text tables for terminals."""

import pytest

from polytomy.trials import MEASURES, Results
from polytomy.trials.tables import results_to_text, table_to_text
from trials.results_cases import ACCURACY, make_results


@pytest.fixture
def results():
    return make_results(ACCURACY)


def test_one_dataset_has_all_measures_in_aligned_columns():
    lines = results_to_text(make_results(ACCURACY, ["a"])).splitlines()
    assert lines[0].split() == ["configuration", "method", "accuracy", "log-loss", "binaries"]
    assert lines[1].split() == ["pairs", "lsq", "0.75±0.25*", "0.25±0.25*", "5"]
    assert {len(line) for line in lines[1:4]} <= {len(lines[1]), len(lines[1]) - 1}


def test_a_calibrated_pair_has_its_own_time_and_expected_log_loss():
    cells = [
        {
            "configuration": "tree",
            "method": "lsq",
            "scores": {"log_loss": 0.5, "fit_seconds": 1.0, "n_binaries": 3},
        },
        {
            "configuration": "tree",
            "method": "lsq + bias",
            "scores": {"out_of_fold_log_loss": 0.25, "fit_seconds": 2.0, "n_binaries": 3},
            "final_calibration": "bias",
        },
    ]
    records = [{"dataset": "a", "repeat": 0, "cells": cells}]
    pairs = [(cell["configuration"], cell["method"]) for cell in cells]
    lines = results_to_text(Results(records, pairs, ["a"])).splitlines()
    assert " ".join(lines[0].split()) == (
        "configuration method log-loss expected log-loss training s binaries"
    )
    assert lines[1].split() == ["tree", "lsq", "0.5000*", "1*", "3"]
    assert " ".join(lines[2].split()) == "tree lsq + bias 0.2500 2 3"


def test_several_datasets_have_the_main_measures_only():
    cells = [
        {"configuration": "tree", "method": "lsq", "scores": {"brier_score": 0.25, "log_loss": 0.5}}
    ]
    records = [{"dataset": name, "repeat": 0, "cells": cells} for name in ("a", "b")]
    text = results_to_text(Results(records, [("tree", "lsq")], ["a", "b"]))
    assert text.splitlines()[0] == MEASURES["brier_score"].title
    assert MEASURES["log_loss"].title not in text


def test_pairs_that_could_not_be_run_are_listed_with_the_reason(results):
    assert "not run: tree, rec on b_c: no tree | here" in results_to_text(results)


def test_a_star_marks_the_best_of_each_dataset(results):
    lines = table_to_text(results.table("accuracy")).splitlines()
    assert [line.split() for line in lines] == [
        ["configuration", "method", "a", "b_c"],
        ["pairs", "lsq", "0.75±0.25*", "0.29±0.19"],
        ["tree", "rec", "0.50±0.25"],
        ["tree", "lsq", "0.50±0.25", "0.5000*"],
    ]


def test_an_empty_column_is_omitted(results):
    table = results.table("accuracy")
    heads = table_to_text(table._replace(rows=table.rows[1:2], cells=table.cells[1:2]))
    assert heads.splitlines()[0].split() == ["configuration", "method", "a"]
