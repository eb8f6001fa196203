"""Plain-text tables for terminals, with a star after the best values."""

from __future__ import annotations

from collections.abc import Sequence

from polytomy.trials.cells import format_cell
from polytomy.trials.measures import MEASURES
from polytomy.trials.results import Cell, PairName, Results, Table
from polytomy.trials.summary import summarise

__all__ = ["dataset_to_text", "results_to_text", "table_to_text"]

_MAIN_MEASURES = ("uncertainty_coefficient", "brier_score", "fit_seconds", "predict_seconds")
_SHORT_TITLES = {
    "uncertainty_coefficient": "uncert. coeff.",
    "brier_score": "Brier score",
    "winner_brier_score": "winner Brier",
    "log_loss": "log-loss",
    "out_of_fold_log_loss": "expected log-loss",
    "calibration_error": "calib. error",
    "fit_seconds": "training s",
    "predict_seconds": "prediction s",
    "n_binaries": "binaries",
    "n_support_vectors": "vectors",
}


def results_to_text(results: Results) -> str:
    """Format all measures for one dataset, or the main measures for several, and the result."""
    if len(results.datasets) == 1:
        body = dataset_to_text(results, results.datasets[0])
    else:
        tables = [table for table in map(results.table, _MAIN_MEASURES) if table.rows]
        body = "\n\n".join(f"{table.measure.title}\n{table_to_text(table)}" for table in tables)
    lines = [body, "", "* best"]
    for problem, places in results.problems().items():
        shown = "; ".join(places[:2]) + (f"; and {len(places) - 2} more" * (len(places) > 2))
        lines.append(f"not run: {shown}: {problem}")
    lines += ["", summarise(results)]
    return "\n".join(lines)


def table_to_text(table: Table) -> str:
    """Format one measure for every pair on every dataset."""
    heads = ["configuration", "method", *table.datasets]
    rows = [
        [*name, *map(_cell_text, cells)]
        for name, cells in zip(table.rows, table.cells, strict=True)
    ]
    return _align([heads, *rows])


def dataset_to_text(results: Results, dataset: str) -> str:
    """Format every measure for every pair on one dataset."""
    single = Results(results.records, results.pairs, [dataset])
    tables = {name: single.table(name) for name in MEASURES}
    shown = [name for name, table in tables.items() if table.rows]
    heads = [
        "configuration",
        "method",
        *(_SHORT_TITLES.get(name, name) for name in shown),
    ]
    measured = {pair for table in tables.values() for pair in table.rows}
    rows = [
        [*pair, *(_cell_text(_find(tables[name], pair)) for name in shown)]
        for pair in results.pairs
        if pair in measured
    ]
    return _align([heads, *rows])


def _find(table: Table, pair: PairName) -> Cell | None:
    row = table.row_of(pair)
    return table.cells[table.rows.index(row)][0] if row in table.rows else None


def _cell_text(cell: Cell | None) -> str:
    return "" if cell is None else f"{format_cell(cell, '±')}{'*' if cell.is_best else ' '}"


def _align(rows: Sequence[Sequence[str]]) -> str:
    """Align rows, the first two columns to the left; empty columns are omitted."""
    head, *body = rows
    kept = [k for k in range(len(head)) if any(row[k] for row in body)]
    # Heads leave room for the star to the right of the numbers.
    cells = [[f"{head[k]} " if k > 1 else head[k] for k in kept]]
    cells += [[row[k] for k in kept] for row in body]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, cell, width in zip(kept, row, widths, strict=True)
        ).rstrip()
        for row in cells
    )
