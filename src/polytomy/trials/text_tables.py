"""Tables for terminals: columns aligned, the best marked with a star."""

from __future__ import annotations

from collections.abc import Sequence

from polytomy.trials.measures import MEASURES
from polytomy.trials.results import Cell, PairName, Results, Table
from polytomy.trials.tables import format_cell

__all__ = ["dataset_to_text", "results_to_text", "table_to_text"]

_SHOWN = ("uncertainty_coefficient", "brier_score", "fit_seconds", "predict_seconds")
_SHORT = {
    "uncertainty_coefficient": "uncert. coeff.",
    "winner_brier_score": "winner Brier",
    "calibration_error": "calibration",
    "fit_seconds": "training s",
    "predict_seconds": "prediction s",
    "n_binaries": "binaries",
    "n_support_vectors": "vectors",
}


def results_to_text(results: Results) -> str:
    """Return the most asked for: all measures of one dataset, or some measures of several."""
    if len(results.datasets) == 1:
        body = dataset_to_text(results, results.datasets[0])
    else:
        tables = [table for table in map(results.table, _SHOWN) if table.rows]
        body = "\n\n".join(f"{table.measure.title}\n{table_to_text(table)}" for table in tables)
    lines = [body, "", "* best"]
    for problem, places in results.problems().items():
        shown = "; ".join(places[:2]) + (f"; and {len(places) - 2} more" * (len(places) > 2))
        lines.append(f"left out: {shown}: {problem}")
    return "\n".join(lines)


def table_to_text(table: Table) -> str:
    """Return one measure of every pair on every dataset."""
    heads = ["configuration", "method", *table.datasets]
    rows = [
        [*name, *map(_text, cells)] for name, cells in zip(table.rows, table.cells, strict=True)
    ]
    return _align([heads, *rows])


def dataset_to_text(results: Results, dataset: str) -> str:
    """Return every measure of every pair on one dataset."""
    single = Results(results.records, results.pairs, [dataset])
    tables = {name: single.table(name) for name in MEASURES}
    shown = [name for name, table in tables.items() if table.rows]
    heads = [
        "configuration",
        "method",
        *(_SHORT.get(name, name.replace("_", " ")) for name in shown),
    ]
    measured = {pair for table in tables.values() for pair in table.rows}
    rows = [
        [*pair, *(_text(_find(tables[name], pair)) for name in shown)]
        for pair in results.pairs
        if pair in measured
    ]
    return _align([heads, *rows])


def _find(table: Table, pair: PairName) -> Cell | None:
    wanted = (pair[0], "") if table.measure.of_scheme else pair
    return table.cells[table.rows.index(wanted)][0] if wanted in table.rows else None


def _text(cell: Cell | None) -> str:
    return "" if cell is None else f"{format_cell(cell, '±')}{'*' if cell.is_best else ' '}"


def _align(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text, the first two columns to the left; an empty column is left out."""
    head, *others = rows
    kept = [k for k in range(len(head)) if any(row[k] for row in others)]
    # The star of the best stands right of the numbers; heads leave its place free.
    cells = [[f"{head[k]} " if k > 1 else head[k] for k in kept]]
    cells += [[row[k] for k in kept] for row in others]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, cell, width in zip(kept, row, widths, strict=True)
        ).rstrip()
        for row in cells
    )
