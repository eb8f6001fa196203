"""The command `trials`: compare schemes and solvers on datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytomy.cli.class_orders import parse_class_order
from polytomy.cli.data_options import AsJson, Jobs, to_json
from polytomy.cli.text_files import print_text

if TYPE_CHECKING:
    from polytomy.trials import Progress, Results

__all__ = ["register"]

_LIVE_MEASURE = "uncertainty_coefficient"
# The exit code that shells use for a command ended by Ctrl-C.
_INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(trials)


def trials(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of files NAME.csv.gz; all of them run. Default: the datasets of "
            "scikit-learn.",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Run only these datasets, comma-separated (repeatable)."
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Run only the datasets of the paper in the folder.")
    ] = False,
    schemes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCHEMES",
            help="Designs, control files or control texts, comma-separated (repeatable). "
            "SCHEME:SOLVER sets the solver of one scheme.",
        ),
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOLVERS",
            help="Solvers for schemes without their own, comma-separated (repeatable).",
        ),
    ] = None,
    calibrated: Annotated[
        bool | None,
        typer.Option(
            "--calibrated/--no-calibrated",
            help="Whether to compare also pairs with a final calibration. Default: yes, except "
            "with --paper.",
            show_default=False,
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help='Binary classifier, such as "svc C=10". Default: chosen by dataset.',
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of trials per dataset.")] = 10,
    test: Annotated[float, typer.Option(help="Fraction of each class to hold out.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits and random designs.")] = 0,
    class_order: Annotated[
        str | None,
        typer.Option(
            "--class-order",
            metavar="LABELS",
            help="Class labels from first to last, for adjacent, chain and tree: a,b,c or a file, "
            "which may be a JSON object of datasets and their labels.",
        ),
    ] = None,
    jobs: Jobs = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the results.")
    ] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Compare schemes and solvers on datasets, in repeated trials.

    Run the same command again to continue after an interruption. Several runs can share a folder.

    Example: `polytomy trials --datasets iris,wine --repeats 2 -o results`
    """
    from polytomy.report import write_report
    from polytomy.trials import run
    from polytomy.trials.text_tables import results_to_text

    try:
        with _show_progress(is_silent=as_json) as on_progress:
            results = run(
                _split_commas(datasets),
                data=data,
                schemes=_parse_schemes(schemes),
                solvers=_split_commas(solvers),
                calibrated=calibrated,
                estimator=estimator,
                repeats=repeats,
                test=test,
                seed=seed,
                n_jobs=jobs,
                folder=output,
                on_progress=on_progress,
                paper=paper,
                class_order=parse_class_order(class_order),
            )
    except KeyboardInterrupt:
        _report_interruption(output)
        raise typer.Exit(_INTERRUPTED) from None
    page = write_report(output)
    if as_json:
        answer = {"folder": str(output), "report": str(page), "trials": results.rows()}
        print_text(to_json(answer))
        return
    print_text(f"\n{results_to_text(results)}")
    print_text(f"tables: {output} (tables.md, tables.tex, summary.csv, results.json)")
    print_text(f"report: {page}")


def _report_interruption(folder: Path) -> None:
    """Write the tables and report of the finished trials, and say how to continue."""
    from polytomy.errors import PolytomyError
    from polytomy.report import write_report
    from polytomy.trials import Results, write_tables
    from polytomy.trials.store import lock_tables

    try:
        n_trials = len(Results.read(folder).records)
    except PolytomyError:  # no trial had started
        _print_notice("stopped before any trial was finished")
        return
    saved = f"{n_trials} finished trial{'s are' if n_trials != 1 else ' is'} saved in {folder}"
    _print_notice(f"stopped; {saved}. Run the same command to continue")
    if n_trials:
        with lock_tables(folder):
            write_tables(Results.read(folder), folder)
        _print_notice(f"tables of the finished trials: {folder}; report: {write_report(folder)}")


def _print_notice(text: str) -> None:
    print(f"polytomy: {text}", file=sys.stderr, flush=True)


def _split_commas(texts: list[str] | None) -> list[str] | None:
    """Return the comma-separated values of a repeatable option."""
    if texts is None:
        return None
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _parse_schemes(texts: list[str] | None) -> list[Any] | None:
    from polytomy.solvers.methods import METHODS

    if texts is None:
        return None
    # A control text is one scheme, even if it contains commas.
    found = [
        word for text in texts for word in ([text] if "{" in text else _split_commas([text]) or [])
    ]
    pairs = [word.rpartition(":") for word in found]
    return [
        (scheme, solver) if solver in METHODS and scheme else word
        for word, (scheme, _, solver) in zip(found, pairs, strict=True)
    ]


@contextmanager
def _show_progress(*, is_silent: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a progress callback: a live table on a terminal, otherwise one line per trial."""
    if sys.stderr is not None and sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), refresh_per_second=4) as live:
            yield lambda progress: live.update(_live_table(progress))
    else:
        yield None if is_silent else _print_line


def _print_line(progress: Progress) -> None:
    if progress.stage not in ("found", "done"):
        return
    left = _format_seconds(progress.seconds_left)
    what = f"{progress.dataset}, trial {progress.repeat + 1}"
    if progress.stage == "found":
        what = "already finished"
    line = f"{progress.n_done}/{progress.n_trials} {what}{left and f'; {left} left'}"
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

    from polytomy.trials.tables import format_cell

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
    from polytomy.trials import Results

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
