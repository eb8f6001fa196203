"""Who is told how the training of the binaries goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from polytomy.composition.dichotomies import Dichotomy

__all__ = ["Listener", "progress_bar"]


class Listener(NamedTuple):
    """What to call when a dichotomy has been trained, and with sentences on how it is done."""

    on_trained: Callable[[Dichotomy], None]
    on_note: Callable[[str], None]


@contextmanager
def progress_bar(wanted: Sequence[Dichotomy]) -> Iterator[Listener]:
    """Show a bar on standard error that names each dichotomy when it is trained, and the notes.

    Yields the functions to call.
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

        def on_note(note: str) -> None:
            bar.console.print(note, markup=False, highlight=False)

        yield Listener(on_trained, on_note)
