"""Fitting an estimator to some rows of the training data, with their weights and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.preparation import request_weights, weight_parameter
from polytomy.errors import ArgumentError
from polytomy.inputs.pipelines import split_pipeline
from polytomy.inputs.rows import count_rows, take_columns, take_rows, take_values

__all__ = ["check_neighbours", "fit_rows", "parameters_with_weights"]


def parameters_with_weights(
    estimator: Any, fit_params: Mapping[str, Any], weight: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the parameters of ``fit``, including the weights.

    Parameters
    ----------
    estimator : prepared estimator; it is set to pass weights on if there are any
    fit_params : parameters of ``fit`` besides the weights
    weight : array of shape (n_rows,), or None if all weights are one
    """
    parameters = dict(fit_params)
    if weight is not None:
        parameters[weight_parameter(estimator)] = weight
        request_weights(estimator)
    return parameters


def fit_rows(
    model: Any,
    X: Any,
    rows: NDArray[np.intp],
    targets: NDArray[Any],
    fit_params: Mapping[str, Any],
    *,
    takes_pairwise_values: bool,
    place: str,
) -> None:
    """Fit a model to some rows of the training data.

    Parameters
    ----------
    model : unfitted estimator
    X : the whole training data
    rows : rows to fit the model to
    targets : targets of these rows
    fit_params : parameters of ``fit``; those with a value for each row of X are reduced to `rows`
    takes_pairwise_values : whether X is a kernel matrix, so that columns are selected too
    place : what is being trained, for a note on errors
    """
    part = take_rows(X, rows)
    if takes_pairwise_values:
        part = take_columns(part, rows)
    n_rows = count_rows(X)
    parameters = {name: take_values(value, rows, n_rows) for name, value in fit_params.items()}
    try:
        model.fit(part, targets, **parameters)
    except Exception as error:
        error.add_note(f"while training the {place}")
        raise


def check_neighbours(estimator: Any, name: str) -> None:
    """Raise an ArgumentError if a problem has fewer samples than the number of neighbours.

    The estimator itself would fail only at prediction.
    """
    last = split_pipeline(estimator)[1]
    wanted, known = (getattr(last, each, None) for each in ("n_neighbors", "n_samples_fit_"))
    if isinstance(wanted, int) and isinstance(known, int) and wanted > known:
        raise ArgumentError(
            f'Partition "{name}" has {known} samples, fewer than the n_neighbors={wanted} of '
            f"{type(last).__name__}. Use n_neighbors={known} or fewer."
        )
