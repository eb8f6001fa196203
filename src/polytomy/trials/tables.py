"""Tables of results as text, Markdown, LaTeX, CSV and JSON, and the files of a results folder."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from polytomy.files import to_csv
from polytomy.trials.results import (
    MAIN_MEASURES,
    MEASURES,
    Cell,
    Results,
    Table,
    format_cell,
)
from polytomy.trials.store import write_content
from polytomy.trials.summary import summarise

# Characters in names that would otherwise be markup.
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*<[&"} | {"\n": " ", "\r": " "})
_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {'"': r"{\ttfamily\char34}"}
    # At the start of a row, these would be options of the line break before it.
    | {"[": "{[}", "*": "{*}"}
)
_ABOUT_P = r" $p$ is from Wilcoxon's signed-rank test against the best."
_DIRECTIONS = {"largest": "Larger is better", "smallest": "Smaller is better"}


def _lay_out(
    table: Table, show: Callable[[Cell | None], str], escape: Callable[[str], str] = str
) -> list[list[str]]:
    """Return the heads and rows of a table: configuration, method, and a column per dataset."""
    rows = [
        [*map(escape, pair), *map(show, cells)]
        for pair, cells in zip(table.rows, table.cells, strict=True)
    ]
    return [["configuration", "method", *map(escape, table.datasets)], *rows]


def table_to_text(table: Table) -> str:
    """Format one measure for every pair on every dataset, with a star after the best values."""
    return _align(_lay_out(table, _star))


def results_to_text(results: Results) -> str:
    """Format all measures for one dataset, or the main measures for several, and the result."""
    if len(results.datasets) == 1:
        body = dataset_to_text(results, results.datasets[0])
    else:
        tables = [table for table in map(results.table, MAIN_MEASURES) if table.rows]
        body = "\n\n".join(f"{table.measure.title}\n{table_to_text(table)}" for table in tables)
    lines = [body, "", "* best"]
    for problem, places in results.problems().items():
        shown = "; ".join(places[:2]) + (f"; and {len(places) - 2} more" * (len(places) > 2))
        lines.append(f"not run: {shown}: {problem}")
    lines += ["", summarise(results)]
    return "\n".join(lines)


def dataset_to_text(results: Results, dataset: str) -> str:
    """Format every measure for every pair on one dataset."""
    single = Results(results.records, results.pairs, [dataset])
    tables = {name: single.table(name) for name in MEASURES}
    shown = [name for name, table in tables.items() if table.rows]
    heads = ["configuration", "method", *(MEASURES[name].short_title for name in shown)]
    measured = {pair for table in tables.values() for pair in table.rows}
    rows = [
        [*pair, *(_star(tables[name].cell(pair)) for name in shown)]
        for pair in results.pairs
        if pair in measured
    ]
    return _align([heads, *rows])


def _star(cell: Cell | None) -> str:
    return "" if cell is None else f"{format_cell(cell, '±')}{'*' if cell.is_best else ' '}"


def _align(rows: Sequence[Sequence[str]], n_names: int = 2) -> str:
    """Align rows, the names to the left; columns that are empty but for the head are omitted."""
    # Heads leave room for the star to the right of the numbers.
    head = [f"{text} " if k >= n_names else text for k, text in enumerate(rows[0])]
    columns = [
        [text.ljust(width) if k < n_names else text.rjust(width) for text in column]
        for k, column in enumerate(zip(head, *rows[1:], strict=True))
        if any(column[1:]) and (width := max(map(len, column)))
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def table_to_markdown(table: Table) -> str:
    """Format a table in Markdown, with the best values in bold."""
    heads, *rows = _lay_out(table, _embolden, lambda text: text.translate(_MARKDOWN))
    rule = ["---", "---", *["--:"] * len(table.datasets)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def _embolden(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"**{format_cell(cell)}**" if cell.is_best else format_cell(cell)


def table_to_latex(table: Table, label: str | None = None, *, p_values: bool | None = None) -> str:
    r"""Format a table in LaTeX, with the best values in bold.

    The document needs ``\usepackage{booktabs}``. Names in scripts that pdfLaTeX does not support
    need LuaLaTeX or XeLaTeX, and a font that has them.

    Parameters
    ----------
    table : Table
    label : name for ``\ref``; by default ``tab:`` and the name of the measure, as in
        ``tab:log-loss``
    p_values : whether a column after each dataset has the p-values of Wilcoxon's test against the
        best pair; by default, if there is one dataset with more than one trial

    Examples
    --------
    >>> from polytomy.trials import MEASURES, Cell
    >>> cells = [[Cell(0.91, 0.012, 5, is_best=True)], [Cell(0.88, 0.009, 5)]]
    >>> rows = [("one-vs-one", "least-squares"), ("tree", "greedy")]
    >>> print(table_to_latex(Table(MEASURES["accuracy"], ["land_use"], rows, cells)))
    \begin{table}
      \centering
      \caption{Accuracy: mean $\pm$ standard deviation over 5 trials. Larger is better; bold marks
      the best.}
      \label{tab:accuracy}
      \begin{tabular}{llr}
        \toprule
        configuration & method & land\_use \\
        \midrule
        one-vs-one & least-squares & $\mathbf{0.910 \pm 0.012}$ \\
        tree & greedy & $0.8800 \pm 0.0090$ \\
        \bottomrule
      \end{tabular}
    \end{table}
    """
    rows = _lay_out(table, _latex_cell, escape_latex)
    if p_values is None:
        has_any = any(cell.p_value is not None for *_, cell in table.entries())
        p_values = has_any and len(table.datasets) == 1
    if p_values:
        columns = [
            ["$p$"] * len(table.datasets),
            *([_latex_p(each) for each in row] for row in table.cells),
        ]
        rows = [
            [*row[:2], *chain(*zip(row[2:], own, strict=True))]
            for row, own in zip(rows, columns, strict=True)
        ]
    head, *body = [f"    {' & '.join(row)} \\\\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_caption(table)}{_ABOUT_P if p_values else ''}}}",
            rf"  \label{{{label or 'tab:' + table.measure.name.replace('_', '-')}}}",
            rf"  \begin{{tabular}}{{ll{'r' * (len(rows[0]) - 2)}}}",
            r"    \toprule",
            head,
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX typesets literally.

    Examples
    --------
    >>> print(escape_latex("50%_of & more"), escape_latex("a--b"))
    50\%\_of \& more a{-}{-}b
    """
    plain = "".join(c if c.isprintable() else " " for c in text)
    # Two hyphens would become a dash.
    return re.sub("-(?=-)|(?<=-)-", "{-}", plain.translate(_SPECIAL))


def _caption(table: Table) -> str:
    title = escape_latex(table.measure.title)
    counts = sorted({cell.n_repeats for *_, cell in table.entries()})
    if not counts or counts == [1]:
        text = f"{title} in a single trial."
    else:
        trials = "--".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        text = rf"{title}: mean $\pm$ standard deviation over {trials} trials."
    direction = _DIRECTIONS.get(table.measure.best or "")
    return f"{text} {direction}; bold marks the best." if direction else text


def _latex_p(cell: Cell | None) -> str:
    if cell is None or cell.p_value is None:
        return ""
    return "$<0.001$" if cell.p_value < 0.001 else f"${cell.p_value:.3f}$"


def _latex_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = format_cell(cell, r" \pm ")
    return rf"$\mathbf{{{text}}}$" if cell.is_best else f"${text}$"


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
            "configuration": pair[0],
            "method": pair[1],
            **cell._asdict() | {"std": _finite_or_none(cell.std)},
        }
        for table in results.tables()
        for pair, dataset, cell in table.entries()
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
                "critical_difference": _finite_or_none(ranking.critical_difference),
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
