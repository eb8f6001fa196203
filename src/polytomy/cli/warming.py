"""The command that compiles all routines ahead of their first use: warm-up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from polytomy.cli.data_options import AsJson, Jobs, to_json
from polytomy.cli.text_files import print_text

if TYPE_CHECKING:
    from polytomy.routines.warming import WarmUpProgress

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command("warm-up")(warm_up)


def warm_up(jobs: Jobs = None, as_json: AsJson = False) -> None:
    """Compile all routines now, so that no later command or program has to.

    Run it when you build a container image. The machine code is stored next to the package, or in
    the folder named by the environment variable NUMBA_CACHE_DIR. Routines that are already compiled
    are not compiled again.

    Example: `polytomy warm-up`
    """
    from polytomy.routines import warming

    with _show_progress(is_silent=as_json) as on_progress:
        done = warming.warm_up(on_progress, n_jobs=jobs)
    if as_json:
        fields = {**done._asdict(), "folder": str(done.folder)}
        print_text(to_json(fields))
        return
    compiled = f"{done.n_compiled} functions compiled" if done.n_compiled else "nothing to compile"
    print_text(
        f"{done.n_routines} routines are ready ({compiled}, {done.seconds:.1f} s); "
        f"their machine code is in {done.folder}"
    )


@contextmanager
def _show_progress(*, is_silent: bool) -> Iterator[Callable[[WarmUpProgress], None] | None]:
    """Yield a progress callback: a bar on a terminal, otherwise one line per routine."""
    if is_silent:
        yield None
        return
    if sys.stderr is None or not sys.stderr.isatty():
        yield _print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda at: progress.update(
            task, completed=at.n_done, total=at.n_routines, description=at.routine
        )


def _print_line(at: WarmUpProgress) -> None:
    if at.routine:
        line = f"{at.n_done + 1}/{at.n_routines} {at.routine}"
        print(line, file=sys.stderr, flush=True)
