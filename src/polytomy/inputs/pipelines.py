"""scikit-learn pipelines: their steps, and the steps before the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

__all__ = ["list_steps", "split_pipeline"]


def split_pipeline(estimator: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline before the last, and the last step.

    Parameters
    ----------
    estimator : Pipeline, or any other estimator, which has no steps before it

    Returns
    -------
    before : list of transformers; steps that do nothing ("passthrough" or None) are left out
    last : the last step, or the estimator itself

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> split_pipeline(Pipeline([("scale", StandardScaler()), ("svc", SVC())]))
    ([StandardScaler()], SVC())
    >>> split_pipeline(SVC())
    ([], SVC())
    """
    if type(estimator) is not Pipeline:
        return [], estimator
    *before, (_, last) = estimator.steps
    return _acting(before), last


def list_steps(pipeline: Pipeline | None) -> list[Any]:
    """Return the steps of a pipeline that do something; none for None."""
    return [] if pipeline is None else _acting(pipeline.steps)


def _acting(steps: Sequence[tuple[str, Any]]) -> list[Any]:
    return [step for _, step in steps if not (step is None or isinstance(step, str))]
