"""Tables in Markdown and CSV, and the files of a results folder."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polytomy.files import to_csv
from polytomy.trials.cells import format_cell
from polytomy.trials.latex_tables import table_to_latex
from polytomy.trials.measures import MEASURES
from polytomy.trials.results import Cell, Results, Table
from polytomy.trials.store import write_content
from polytomy.trials.summary import summarise

__all__ = ["table_to_markdown", "write_tables"]

# Characters in names that would otherwise be markup.
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*<[&"} | {"\n": " ", "\r": " "})


def table_to_markdown(table: Table) -> str:
    """Format a table in Markdown, with the best values in bold."""
    titles = ["configuration", *(["method"] if _has_methods(table) else []), *table.datasets]
    heads = [title.translate(_MARKDOWN) for title in titles]
    rows = [
        [
            *(text.translate(_MARKDOWN) for text in _row_names(table, name)),
            *map(_markdown_cell, cells),
        ]
        for name, cells in zip(table.rows, table.cells, strict=True)
    ]
    n_names = len(heads) - len(table.datasets)
    rule = ["---"] * n_names + ["--:"] * len(table.datasets)
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"**{format_cell(cell)}**" if cell.is_best else format_cell(cell)


def _has_methods(table: Table) -> bool:
    return any(method for _, method in table.rows)


def _row_names(table: Table, name: tuple[str, str]) -> list[str]:
    return list(name) if _has_methods(table) else [name[0]]


def write_tables(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Write all tables into a folder, and return the files.

    =================  ==========================================================================
    trials.csv         every value of every trial
    summary.csv        mean and standard deviation of each measure, pair and dataset
    comparisons.csv    all pairs compared with each other on each dataset (Wilcoxon's test)
    ranks.csv          mean ranks over the datasets, with the critical difference
    tables.md          the result in one sentence, and a table for each measure
    tables.tex         the tables in LaTeX, for a document that uses the package booktabs
    results.json       everything above, and the manifest
    =================  ==========================================================================

    In the CSV files, names that a spreadsheet would run as formulas have an apostrophe in front.
    """
    home = Path(folder)
    summary, comparisons, ranks = _summarise(results), _compare(results), _rank(results)
    tables = results.tables()
    everything = {
        "manifest": results.manifest,
        "datasets": results.facts,
        "trials": results.rows(),
        "summary": summary,
        "comparisons": comparisons,
        "ranks": ranks,
        "problems": results.problems(),
    }
    sentence = " ".join(summarise(results).split())
    markdown = "\n\n".join(
        [
            sentence.translate(_MARKDOWN),
            *(f"## {table.measure.title}\n\n{table_to_markdown(table)}" for table in tables),
        ]
    )
    latex = [f"% {sentence}\n% In the preamble: \\usepackage{{booktabs}}"]
    contents = {
        "trials.csv": _rows_to_csv(results.rows()),
        "summary.csv": _rows_to_csv(summary),
        "comparisons.csv": _rows_to_csv(comparisons),
        "ranks.csv": _rows_to_csv(ranks),
        "tables.md": f"{markdown}\n",
        "tables.tex": "\n\n".join([*latex, *map(table_to_latex, tables)]) + "\n",
        "results.json": json.dumps(everything, indent=1, ensure_ascii=False, allow_nan=False)
        + "\n",
    }
    for name, content in contents.items():
        write_content(home / name, content.encode())
    return [home / name for name in contents]


def _summarise(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "measure": table.measure.name,
            "dataset": dataset,
            "configuration": name[0],
            "method": name[1],
            "mean": cell.mean,
            "std": _finite_or_none(cell.std),
            "n_repeats": cell.n_repeats,
            "is_best": cell.is_best,
        }
        for table in results.tables()
        for name, cells in zip(table.rows, table.cells, strict=True)
        for dataset, cell in zip(table.datasets, cells, strict=True)
        if cell is not None
    ]


def _compare(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "measure": each.measure,
            "dataset": each.dataset,
            "one": ", ".join(each.one),
            "other": ", ".join(each.other),
            **{name: _finite_or_none(value) for name, value in each.outcome._asdict().items()},
        }
        for measure in MEASURES.values()
        if measure.best is not None
        for each in results.compare(measure.name)
    ]


def _rank(results: Results) -> list[dict[str, Any]]:
    found = []
    for measure in MEASURES:
        ranked = results.rank(measure)
        if ranked is None:
            continue
        names, ranking = ranked
        found += [
            {
                "measure": measure,
                "configuration": name[0],
                "method": name[1],
                "mean_rank": float(rank),
                "critical_difference": ranking.critical_difference,
                "friedman_p_value": _finite_or_none(ranking.p_value),
                "n_datasets": ranking.n_datasets,
            }
            for name, rank in zip(names, ranking.mean_ranks, strict=True)
        ]
    return found


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rows_to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0]) if rows else []
    return to_csv([names, *(row.values() for row in rows)])
