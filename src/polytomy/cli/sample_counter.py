"""A count of samples on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["count_samples"]


@contextmanager
def count_samples(verb: str) -> Iterator[Any]:
    """Yield a function that counts samples; the count is only shown on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda n_samples: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,.0f} samples " + verb),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda n_samples: progress.advance(task, n_samples)
