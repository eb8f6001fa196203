"""Whether the workers have the memory that tasks need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytomy.dask.group_tasks import classes_of
from polytomy.dask.layout import Layout
from polytomy.errors import ClusterError
from polytomy.learners.svm.matrix import size_in_words
from polytomy.model.dichotomies import Dichotomy

__all__ = ["check_memory"]

# A task has its rows twice: by class, as received, and in the order of the data.
_COPIES = 2


def check_memory(client: Any, groups: Sequence[Sequence[Dichotomy]], layout: Layout) -> None:
    """Raise a ClusterError if a task has more rows than any worker can hold.

    Otherwise, the workers would be killed one after the other.

    Parameters
    ----------
    client : distributed.Client
    groups : the dichotomies of each task
    layout : Layout
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    limits = [worker["memory_limit"] for worker in workers.values()]
    if not limits or not all(limits):
        return
    sizes = layout.class_sizes
    for group in groups:
        n_rows = sum(sizes[k] for k in classes_of(group))
        need = _COPIES * n_rows * layout.bytes_per_row
        if need > max(limits):
            raise ClusterError(
                f'partition "{group[0].name}" needs {n_rows} rows on one worker, which takes '
                f"{size_in_words(need)}; the workers have {size_in_words(max(limits))}. Give them "
                "more memory, use a scheme with smaller problems, such as one-vs-one, or train on "
                "fewer rows."
            )
