"""Progress reporting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polytomy.binary.options import TrainingListener

__all__ = ["ListenerGroup", "progress_bar"]


class ListenerGroup(TrainingListener):
    """Forwards everything to several listeners."""

    def __init__(self, listeners: Sequence[TrainingListener]) -> None:
        self._listeners = tuple(listeners)
        self.wants_estimates = any(each.wants_estimates for each in self._listeners)

    def trained(self, partition: str) -> None:
        """Notify all listeners that a binary has been trained."""
        for listener in self._listeners:
            listener.trained(partition)

    def note(self, text: str) -> None:
        """Pass a note on how the binaries are trained to all listeners."""
        for listener in self._listeners:
            listener.note(text)


class _ProgressBar(TrainingListener):
    wants_estimates = True

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def trained(self, partition: str) -> None:
        self._bar.update(self._task, advance=1, description=partition)

    def note(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)


@contextmanager
def progress_bar(n_partitions: int, verb: str = "training") -> Iterator[TrainingListener]:
    """Show a progress bar with the remaining time on standard error, and notes above it.

    Yields the listener that advances it.
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
        TextColumn(verb),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield _ProgressBar(bar, bar.add_task("", total=n_partitions))
