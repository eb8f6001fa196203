"""Pipelines of scikit-learn: what stands before the last step."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

__all__ = ["split_pipeline"]


def split_pipeline(estimator: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one of a pipeline, and the last one.

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
    return [step for _, step in before if not (step is None or isinstance(step, str))], last
