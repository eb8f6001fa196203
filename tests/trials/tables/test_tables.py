"""Tables in Markdown, LaTeX, CSV and JSON."""

import csv
import json
import shutil
import statistics
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.trials import Cell, Results, table_to_latex, table_to_markdown, write_tables
from polytomy.trials.results import format_cell
from trials.results_cases import ACCURACY, make_results


@pytest.fixture
def results():
    return make_results(ACCURACY)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3))
def test_a_cell_shows_two_digits_of_the_deviation_and_as_many_decimals_of_the_mean(mean, std):
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
        # Sums that differ only by rounding errors.
        (Cell(0.5, 1.2e-17, 3), "0.5000"),
        (Cell(-1e-17, 2e-17, 3), "0"),
        (Cell(1 - 2e-16, float("nan"), 1), "1"),
    ],
)
def test_a_cell_without_deviation_has_four_significant_digits(cell, text):
    assert format_cell(cell) == text


def test_markdown_has_the_best_in_bold(results):
    lines = table_to_markdown(results.table("accuracy")).splitlines()
    assert lines[0] == "| configuration | method | a | b_c |"
    assert lines[1] == "| --- | --- | --: | --: |"
    assert lines[2] == "| pairs | lsq | **0.75 ± 0.25** | 0.29 ± 0.19 |"
    assert lines[3] == "| tree | rec | 0.50 ± 0.25 |  |"
    assert lines[4] == "| tree | lsq | 0.50 ± 0.25 | **0.5000** |"


def test_names_are_escaped_in_every_table(results):
    table = results.table("n_binaries")._replace(datasets=["<b>|*a*\n", "[x](y) `c` &lt; \\"])
    heads = table_to_markdown(table).splitlines()[0]
    assert heads == r"| configuration | method | \<b>\|\*a\*  | \[x](y) \`c\` \&lt; \\ |"
    assert r"\textless{}b\textgreater{}\textbar{}{*}a{*}  & {[}x](y)" in table_to_latex(table)


def test_latex_has_the_best_in_bold_and_special_characters_escaped(results):
    text = table_to_latex(results.table("accuracy"))
    assert r"configuration & method & a & b\_c \\" in text
    assert r"pairs & lsq & $\mathbf{0.75 \pm 0.25}$ & $0.29 \pm 0.19$ \\" in text
    assert r"tree & rec & $0.50 \pm 0.25$ &  \\" in text
    assert text.count("{") == text.count("}")


def test_latex_of_one_dataset_has_a_column_of_p_values(results):
    text = table_to_latex(make_results(ACCURACY, ["a"]).table("accuracy"))
    assert r"\begin{tabular}{llrr}" in text
    assert r"configuration & method & a & $p$ \\" in text
    assert text.count(r" & $0.500$ \\") == 2  # better on two of three splits, and one tie
    assert "Wilcoxon" in text
    table = results.table("accuracy")
    assert "$p$" not in table_to_latex(table)
    assert r"\begin{tabular}{llrrrr}" in table_to_latex(table, p_values=True)


def test_all_files_have_the_same_numbers(results, tmp_path):
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


def test_names_that_a_spreadsheet_would_run_have_an_apostrophe(tmp_path):
    pairs = [("=1+1", "@now"), ("-x", "rec")]
    cells = [
        {"configuration": one, "method": other, "scores": {"accuracy": value}}
        for (one, other), value in zip(pairs, (0.5, 0.25), strict=True)
    ]
    records = [{"dataset": "+cmd", "repeat": k, "cells": cells} for k in range(2)]
    write_tables(Results(records, pairs, ["+cmd"]), tmp_path)
    for name in ("trials", "summary", "comparisons"):
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["dataset"] for row in rows} == {"'+cmd"}
        found = {row.get("configuration", row.get("one")) for row in rows}
        assert found in ({"'=1+1", "'-x"}, {"'=1+1, @now"})
    assert float(rows[0]["mean_difference"]) == 0.25
    exact = json.loads((tmp_path / "results.json").read_text())
    assert exact["trials"][0]["configuration"] == "=1+1"


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="needs pdflatex: apt-get install texlive-latex-base texlive-latex-recommended",
)
def test_latex_compiles_and_its_labels_are_known(results, tmp_path):
    odd = '[1] *a* {b} \\ ~^ <c|d> "e" 50% $f$ #1 g_h & i--j é'
    table = results.table("accuracy")._replace(datasets=[odd, "*\n"])
    table = table._replace(rows=[(odd, "[x]"), ("*", "&"), ("%", "_")])
    write_tables(results, tmp_path)
    (tmp_path / "odd.tex").write_text(table_to_latex(table, "tab:odd"))
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}"
        r"See \ref{tab:log-loss} and \ref{tab:odd}. \input{tables.tex} \input{odd.tex}"
        r"\end{document}"
    )
    command = ["pdflatex", "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(2):  # labels are known the second time
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode()[-2000:]
    assert b"undefined" not in done.stdout
