"""Progress of a run, and how it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from polytomy.trials.cells import format_cell
from polytomy.trials.results import Results

__all__ = ["Progress", "show_progress"]

_LIVE_MEASURE = "uncertainty_coefficient"


class Progress(NamedTuple):
    """Progress of a run.

    Attributes
    ----------
    n_done, n_trials : number of finished trials, and of all
    dataset, repeat : the trial that is running or was just finished
    stage : "found" for trials finished earlier, "begun", the name of a configuration when it has
        been trained, or "done"
    seconds_left : estimate; None until every remaining dataset has had one trial
    records : the finished trials
    """

    n_done: int
    n_trials: int
    dataset: str
    repeat: int
    stage: str
    seconds_left: float | None
    records: Sequence[Mapping[str, Any]]


@contextmanager
def show_progress() -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows progress on standard error.

    On a terminal it is a live table of the results so far, elsewhere one line per trial.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield _print_line
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4) as live:
        yield lambda progress: live.update(_live_table(progress))


def _print_line(progress: Progress) -> None:
    if progress.stage not in ("found", "done"):
        return
    left = _format_seconds(progress.seconds_left)
    what = f"{progress.dataset}, trial {progress.repeat + 1}"
    if progress.stage == "found":
        what = "already finished"
    line = f"{progress.n_done}/{progress.n_trials} {what}{left and f'; {left} left'}"
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


def _live_table(progress: Progress) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    left = _format_seconds(progress.seconds_left)
    at = f"{progress.dataset}, trial {progress.repeat + 1}: {progress.stage}"
    # A small terminal cuts off the right and the bottom, so the progress comes first.
    head = Table.grid()
    status = f"{progress.n_done}/{progress.n_trials}  {left and f'{left} left  '}{at}"
    head.add_row(Text(status, no_wrap=True, overflow="ellipsis"))
    head.add_row(ProgressBar(total=progress.n_trials, completed=progress.n_done, width=40))
    results = _results_so_far(progress)
    return head if results is None else Group(head, _scores_table(results))


def _scores_table(results: Results) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    found = results.table(_LIVE_MEASURE)
    # Text, because rich reads [brackets] in plain strings as markup.
    table = Table("configuration", "method", title=found.measure.title, box=SIMPLE_HEAD)
    for dataset in found.datasets:
        table.add_column(Text(dataset), justify="right")
    for name, cells in zip(found.rows, found.cells, strict=True):
        texts = [
            Text(
                "" if cell is None else format_cell(cell, "±"),
                "bold" if cell and cell.is_best else "",
            )
            for cell in cells
        ]
        table.add_row(*map(Text, name), *texts)
    return table


def _results_so_far(progress: Progress) -> Results | None:
    if not progress.records:
        return None
    cells = progress.records[0]["cells"]
    names = dict.fromkeys(record["dataset"] for record in progress.records)
    pairs = [(cell["configuration"], cell["method"]) for cell in cells]
    return Results(progress.records, pairs, list(names))


def _format_seconds(seconds: float | None) -> str:
    """Format a time as 5 s, 3 min or 2.5 h; empty if it is unknown or zero."""
    if not seconds:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
