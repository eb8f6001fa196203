"""Who is told that a binary has been trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from polytomy.assembly.estimators import Dichotomy

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(wanted: Sequence[Dichotomy]) -> Iterator[Callable[[Dichotomy], None]]:
    """Show a bar on standard error that names each dichotomy when it is trained.

    Yields the function to call with it.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=sum(each.trained is None for each in wanted))

        def on_trained(dichotomy: Dichotomy) -> None:
            bar.update(task, advance=1, description=dichotomy.name)

        yield on_trained
