"""Transformers that all binaries share, fitted to data in parts."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from polytomy.dask.cluster import gather, name_task
from polytomy.dask.grouping import GroupedPart
from polytomy.dask.sampling import Sample
from polytomy.inputs.rows import take_rows, unchangeable
from polytomy.inputs.seeds import seed_all

__all__ = ["fit_transformers"]


def fit_transformers(
    client: Any, steps: Sequence[tuple[str, Any]], parts: Sequence[Any], sample: Sample, seed: Any
) -> Pipeline:
    """Return the fitted transformers of a pipeline.

    Those with ``partial_fit``, such as scalers, learn from all rows, one part after the other, each
    on the worker that has the part. All others are fitted to the sample.

    Parameters
    ----------
    client : distributed.Client
    steps : names and unfitted transformers
    parts : futures of GroupedPart
    sample : Sample
    seed : int, optional, for the transformers
    """
    pipeline = clone(Pipeline(list(steps)))
    seed_all(pipeline, seed)
    fitted: list[Any] = []
    X = take_rows(sample.X, np.flatnonzero(_has_weight(sample.weight, len(sample.y))))
    for number, (name, step) in enumerate(pipeline.steps):
        if step is None or step == "passthrough":
            continue
        if hasattr(step, "partial_fit"):
            state = step
            for part in parts:
                state = client.submit(
                    _learn, state, part, tuple(fitted), key=name_task(f"fit {name}")
                )
            if state is not step:
                (step,) = gather(client, [state])
        elif get_tags(step).requires_fit:
            step = step.fit(unchangeable(X))
        pipeline.steps[number] = name, step
        X = step.transform(unchangeable(X))
        fitted.append(step)
    return pipeline


def _has_weight(weight: Any, n_rows: int) -> Any:
    return np.ones(n_rows, dtype=np.bool_) if weight is None else weight > 0


def _learn(step: Any, part: GroupedPart, before: Sequence[Any]) -> Any:
    """Return a transformer that has been fitted to one more part."""
    rows = np.flatnonzero(_has_weight(part.weight, len(part.rows)))
    if not len(rows):
        return step
    X = take_rows(part.X, rows)
    if before:
        X = make_pipeline(*before).transform(X)
    # A copy: the state before this part may be needed again if a worker is lost.
    return deepcopy(step).partial_fit(X)
