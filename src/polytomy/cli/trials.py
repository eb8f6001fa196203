"""The command that compares schemes on datasets, in repeated trials."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytomy.cli.data_options import AsJson, to_json
from polytomy.cli.text_files import print_text

if TYPE_CHECKING:
    from polytomy.trials import Progress, Results

__all__ = ["register"]

_LIVE_MEASURE = "uncertainty_coefficient"
# What shells report for a command that Ctrl-C has ended.
_INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(trials)


def trials(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A folder of NAME.csv.gz; else scikit-learn's own datasets."
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Of the datasets, with commas; again for more."),
    ] = None,
    schemes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCHEMES",
            help="Designs, control files or texts, with commas; SCHEME:SOLVER for one solver.",
        ),
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(metavar="SOLVERS", help="For all schemes that have none, with commas."),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC", help='The binary classifier: "svc C=10"; else by the dataset.'
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Trials of each dataset.")] = 10,
    test: Annotated[float, typer.Option(help="The part of each class that is held out.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Fixes splits and what is drawn.")] = 0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Jobs over the binaries of a trial.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The folder of the results.")
    ] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Compare schemes and solvers on datasets, in repeated trials.

    Stopped, by Ctrl-C or otherwise, and started again it goes on where it was. Several runs can
    share a folder.

    Example: `polytomy trials --datasets iris,wine --repeats 2 -o results`
    """
    from polytomy.report import write_report
    from polytomy.trials import run
    from polytomy.trials.text_tables import results_to_text

    try:
        with _watching(is_silent=as_json) as on_progress:
            results = run(
                _words(datasets),
                data=data,
                schemes=_schemes(schemes),
                solvers=_words(solvers),
                estimator=estimator,
                repeats=repeats,
                test=test,
                seed=seed,
                n_jobs=jobs,
                folder=output,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        _leave(output)
        raise typer.Exit(_INTERRUPTED) from None
    page = write_report(output)
    if as_json:
        answer = {"folder": str(output), "report": str(page), "trials": results.rows()}
        print_text(to_json(answer))
        return
    print_text(f"\n{results_to_text(results)}")
    print_text(f"all tables are in {output}: tables.md, tables.tex, summary.csv, results.json")
    print_text(f"the report is {page}")


def _leave(folder: Path) -> None:
    """Say how a run that was interrupted goes on, and show what it has finished."""
    from polytomy.errors import PolytomyError
    from polytomy.report import write_report
    from polytomy.trials import Results, write_tables
    from polytomy.trials.store import holding_tables

    try:
        n_trials = len(Results.read(folder).records)
    except PolytomyError:  # it had not begun
        _say("stopped before anything was finished")
        return
    kept = f"{n_trials} trial{'s' if n_trials != 1 else ''}"
    _say(f"stopped; {kept} in {folder} are kept, and the same command goes on from there")
    if n_trials:
        with holding_tables(folder):
            write_tables(Results.read(folder), folder)
        _say(f"tables of these are in {folder}, and the report is {write_report(folder)}")


def _say(text: str) -> None:
    print(f"polytomy: {text}", file=sys.stderr, flush=True)


def _words(texts: list[str] | None) -> list[str] | None:
    """Return the words of options that were given once or more, each with commas."""
    if texts is None:
        return None
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _schemes(texts: list[str] | None) -> list[Any] | None:
    from polytomy.solvers.methods import METHODS

    if texts is None:
        return None
    # A control text is one scheme, whatever is in it.
    found = [word for text in texts for word in ([text] if "{" in text else _words([text]) or [])]
    pairs = [word.rpartition(":") for word in found]
    return [
        (scheme, solver) if solver in METHODS and scheme else word
        for word, (scheme, _, solver) in zip(found, pairs, strict=True)
    ]


@contextmanager
def _watching(*, is_silent: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield who is told of the progress: a live table on a terminal, else a line a trial."""
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
    left = _in_words(progress.seconds_left)
    what = f"{progress.dataset}, trial {progress.repeat + 1}"
    if progress.stage == "found":
        what = "were finished before"
    line = f"{progress.n_done}/{progress.n_trials} {what}{left and f'; {left} left'}"
    print(line, file=sys.stderr, flush=True)


def _live_table(progress: Progress) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    left = _in_words(progress.seconds_left)
    at = f"{progress.dataset}, trial {progress.repeat + 1}: {progress.stage}"
    # What a terminal is too small for is cut off at the right and at the bottom: so these first.
    head = Table.grid()
    told = f"{progress.n_done}/{progress.n_trials}  {left and f'{left} left  '}{at}"
    head.add_row(Text(told, no_wrap=True, overflow="ellipsis"))
    head.add_row(ProgressBar(total=progress.n_trials, completed=progress.n_done, width=40))
    results = _so_far(progress)
    return head if results is None else Group(head, _scores_so_far(results))


def _scores_so_far(results: Results) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from polytomy.trials.tables import format_cell

    found = results.table(_LIVE_MEASURE)
    # Names go in as Text: in plain strings, rich would read [brackets] as markup.
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


def _so_far(progress: Progress) -> Results | None:
    from polytomy.trials import Results

    if not progress.records:
        return None
    cells = progress.records[0]["cells"]
    names = dict.fromkeys(record["dataset"] for record in progress.records)
    pairs = [(cell["configuration"], cell["method"]) for cell in cells]
    return Results(progress.records, pairs, list(names))


def _in_words(seconds: float | None) -> str:
    """Return a time as 5 s, 3 min or 2.5 h; nothing where it is not known, or no time at all."""
    if not seconds:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
