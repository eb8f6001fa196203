"""Tables: means, standard deviations, the best, and every form they are written in."""

import csv
import json
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.trials import Cell, Results, table_to_latex, table_to_markdown, write_tables
from polytomy.trials.tables import format_cell
from polytomy.trials.text_tables import results_to_text

PAIRS = [("pairs", "lsq"), ("tree", "rec"), ("tree", "lsq")]
ACCURACY = {
    ("a", "pairs"): [0.5, 0.75, 1.0],
    ("a", "tree"): [0.25, 0.75, 0.5],
    ("b_c", "pairs"): [0.125, 0.25, 0.5],
    ("b_c", "tree"): [0.5, 0.5, 0.5],
}


def results_of(accuracy, datasets=("a", "b_c")):
    """Return results whose accuracies are given; the walk down the tree is not done on b_c."""
    records = []
    for dataset in datasets:
        for repeat in range(3):
            cells = []
            for configuration, method in PAIRS:
                cell = {"configuration": configuration, "method": method, "problem": ""}
                value = accuracy[dataset, configuration][repeat]
                cell["scores"] = {"accuracy": value, "n_binaries": len(configuration)}
                cell["confusion"] = [[repeat, 1], [0, 2]]
                cell["reliability"] = None if method == "rec" else [[2, 0.5, 1.0]]
                cell["scores"]["log_loss"] = None if method == "rec" else 1 - value
                if (dataset, method) == ("b_c", "rec"):
                    cell = {"configuration": configuration, "method": method}
                    cell["problem"] = "no tree | here"
                cells.append(cell)
            records.append({"dataset": dataset, "repeat": repeat, "cells": cells})
    # A folder has them in no particular order.
    return Results(records[::-1], PAIRS, list(datasets), {}, {"format": 1})


@pytest.fixture
def results():
    return results_of(ACCURACY)


def test_cells_are_means_and_ordinary_standard_deviations(results):
    for (dataset, configuration), values in ACCURACY.items():
        cell = results.cell("accuracy", dataset, (configuration, "lsq"))
        assert cell.mean == pytest.approx(statistics.mean(values))
        assert cell.std == pytest.approx(statistics.stdev(values))
        assert cell.n_repeats == 3
    assert results.cell("accuracy", "b_c", ("tree", "rec")) is None


def test_values_are_in_the_order_of_the_repeats(results):
    assert results.values("accuracy", "a", ("pairs", "lsq")).tolist() == [0.5, 0.75, 1.0]
    assert np.isnan(results.values("accuracy", "b_c", ("tree", "rec"))).all()


def test_confusions_and_reliabilities_are_summed_over_the_repeats(results):
    pair = ("tree", "rec")
    assert results.total("confusion", "a", pair).tolist() == [[0 + 1 + 2, 3], [0, 6]]
    assert results.total("reliability", "a", ("tree", "lsq")).tolist() == [[6, 1.5, 3.0]]
    assert results.total("reliability", "a", pair) is None
    assert results.total("confusion", "b_c", pair) is None


def test_the_best_of_each_dataset_is_marked_whichever_end_is_best(results):
    def best(measure):
        table = results.table(measure)
        return [[bool(cell and cell.is_best) for cell in cells] for cells in table.cells]

    assert best("accuracy") == [[True, False], [False, False], [False, True]]
    assert results.table("log_loss").rows == [("pairs", "lsq"), ("tree", "lsq")]
    assert best("log_loss") == [[True, False], [False, True]]
    assert best("n_binaries") == [[False, False], [False, False]]


def test_equally_good_ones_are_all_marked():
    equal = {key: [0.1, 0.2, 0.3] for key in ACCURACY}
    # The same values in another order have a mean that differs in the last digit.
    equal["a", "tree"] = [0.3, 0.2, 0.1]
    table = results_of(equal).table("accuracy")
    assert all(cell.is_best for cells in table.cells for cell in cells if cell)


def test_what_all_methods_share_has_a_row_for_each_configuration(results):
    table = results.table("n_binaries")
    assert table.rows == [("pairs", ""), ("tree", "")]
    # On b_c the first method of the tree has no value, the second has.
    assert [[cell.mean for cell in cells] for cells in table.cells] == [[5, 5], [4, 4]]


def test_measures_without_values_have_no_table(results):
    assert [table.measure.name for table in results.tables()] == [
        "accuracy",
        "log_loss",
        "n_binaries",
    ]


def test_pairs_are_compared_split_by_split(results):
    found = {(each.dataset, each.one, each.other): each for each in results.compare("accuracy")}
    outcome = found["a", ("pairs", "lsq"), ("tree", "lsq")].outcome
    assert (outcome.wins, outcome.ties, outcome.losses) == (2, 1, 0)
    # One of two splits differs, and the other two: two signs alike have a chance of a half.
    assert outcome.p_value == pytest.approx(0.5)
    assert ("b_c", ("tree", "rec"), ("tree", "lsq")) not in found
    with pytest.raises(ArgumentError, match="measure='n_binaries' has no best"):
        results.compare("n_binaries")


def test_ranks_are_over_datasets_where_all_were_measured(results):
    names, ranking = results.rank("log_loss")
    assert names == [("pairs", "lsq"), ("tree", "lsq")]
    assert ranking.mean_ranks.tolist() == [1.5, 1.5]
    assert results.rank("accuracy") is None  # only one dataset is whole
    assert results.rank("n_binaries") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("accurracy", "a", PAIRS[0]), "Did you mean 'accuracy'?"),
        (("accuracy", "z", PAIRS[0]), "there are no trials of ('pairs', 'lsq') on 'z'"),
        (("accuracy", "a", ("x", "y")), "there are no trials of ('x', 'y')"),
    ],
)
def test_what_is_not_there_is_told(results, arguments, words):
    with pytest.raises(ArgumentError) as caught:
        results.values(*arguments)
    assert words in str(caught.value)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3))
def test_a_cell_shows_the_deviation_to_two_digits_and_the_mean_as_far(mean, std):
    shown_mean, shown_std = format_cell(Cell(mean, std, 3)).split(" ± ")
    last_digit = 0.5 * 10 ** -len(shown_std.partition(".")[2])
    assert abs(float(shown_std) - std) <= last_digit * 1.000001
    assert abs(float(shown_mean) - mean) <= last_digit * 1.000001
    assert len(shown_mean.partition(".")[2]) == len(shown_std.partition(".")[2])
    if std < 10:
        assert len(shown_std.replace(".", "").lstrip("0")) in (2, 3)  # 0.0996 is 0.10


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(0.0, float("nan"), 1), "0"),
        (Cell(0.5, float("nan"), 1), "0.5000"),
        (Cell(0.0123456, 0.0, 3), "0.01235"),
        (Cell(12345.6, float("nan"), 1), "12346"),
        (Cell(1e-12, float("nan"), 1), "0.000000000"),
        # Sums that would be the same if computers did not round.
        (Cell(0.5, 1.2e-17, 3), "0.5000"),
        (Cell(-1e-17, 2e-17, 3), "0"),
        (Cell(1 - 2e-16, float("nan"), 1), "1"),
    ],
)
def test_a_cell_without_deviation_has_four_digits(cell, text):
    assert format_cell(cell) == text


def test_markdown_has_the_best_in_bold(results):
    lines = table_to_markdown(results.table("accuracy")).splitlines()
    assert lines[0] == "| configuration | method | a | b_c |"
    assert lines[1] == "| --- | --- | --: | --: |"
    assert lines[2] == "| pairs | lsq | **0.75 ± 0.25** | 0.29 ± 0.19 |"
    assert lines[3] == "| tree | rec | 0.50 ± 0.25 |  |"
    assert lines[4] == "| tree | lsq | 0.50 ± 0.25 | **0.5000** |"
    heads = table_to_markdown(results.table("n_binaries")).splitlines()[0]
    assert heads == "| configuration | a | b_c |"


def test_names_are_no_markup_in_any_table(results):
    table = results.table("n_binaries")._replace(datasets=["<b>|*a*\n", "[x](y) `c` &lt; \\"])
    heads = table_to_markdown(table).splitlines()[0]
    assert heads == r"| configuration | \<b>\|\*a\*  | \[x](y) \`c\` \&lt; \\ |"
    assert r"\textless{}b\textgreater{}|*a*" in table_to_latex(table)


def test_latex_has_the_best_in_bold_and_no_character_with_a_meaning(results):
    text = table_to_latex(results.table("accuracy"))
    assert r"config. & method & a & b\_c \\" in text
    assert r"pairs & lsq & $\mathbf{0.75 \pm 0.25}$ & $0.29 \pm 0.19$ \\" in text
    assert r"tree & rec & $0.50 \pm 0.25$ &  \\" in text
    assert text.count("{") == text.count("}")


def test_text_for_a_terminal_is_aligned_and_tells_what_was_left_out(results):
    text = results_to_text(results)
    assert "left out: tree, rec on b_c: no tree | here" in text
    single = results_to_text(results_of(ACCURACY, ["a"]))
    lines = single.splitlines()
    assert lines[0].split() == ["configuration", "method", "accuracy", "log", "loss", "binaries"]
    assert lines[1].split() == ["pairs", "lsq", "0.75±0.25*", "0.25±0.25*", "5"]
    assert {len(line) for line in lines[1:4]} <= {len(lines[1]), len(lines[1]) - 1}


def test_every_form_has_the_same_numbers(results, tmp_path):
    files = {path.name for path in write_tables(results, tmp_path)}
    assert files == {path.name for path in tmp_path.iterdir()}
    everything = json.loads((tmp_path / "results.json").read_text())
    for name in ("trials", "summary", "comparisons", "ranks"):
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows == [
            {key: "" if value is None else str(value) for key, value in row.items()}
            for row in everything[name]
        ]
    assert len(everything["trials"]) == 18
    assert everything["problems"] == {"no tree | here": ["tree, rec on b_c"]}
    row = next(
        row
        for row in everything["summary"]
        if (row["measure"], row["dataset"], row["method"]) == ("accuracy", "b_c", "lsq")
        and row["configuration"] == "pairs"
    )
    assert row["mean"] == pytest.approx(statistics.mean(ACCURACY["b_c", "pairs"]))
    assert row["std"] == pytest.approx(statistics.stdev(ACCURACY["b_c", "pairs"]))
    for table in results.tables():
        assert table_to_markdown(table) in (tmp_path / "tables.md").read_text()
        assert table_to_latex(table) in (tmp_path / "tables.tex").read_text()


def test_a_frame_has_a_row_for_each_pair_and_trial(results):
    frame = results.frame()
    assert len(frame) == 18
    assert frame["accuracy"].isna().sum() == 3
