"""Answers of linear binaries for chosen pairs of a sample and a binary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.banks.scaling import check_dense
from polytomy.inputs.samples import Samples, blocks_of
from polytomy.inputs.sparse import is_sparse

__all__ = ["LinearAnswers"]

Floats = NDArray[np.float64]

_BLOCK_BYTES = 2**25


class LinearAnswers:
    """Log-odds of linear binaries, each evaluated on some of the samples only.

    Parameters
    ----------
    model : one of the fitted estimators, used to check the features
    weights : array of shape (n_binaries, n_features)
    offsets : array of shape (n_binaries,)
        The log-odds of the +1 side are (x − centre)·w + offset.
    centre : array of shape (n_features,), or None for zero
    """

    def __init__(self, model: Any, weights: Floats, offsets: Floats, centre: Floats | None) -> None:
        self._model, self._weights, self._offsets = model, weights, offsets
        self._centre = centre

    def prepare(self, X: Any) -> Any:
        """Convert samples to the form that `log_odds` requires: a float64 array or CSR matrix."""
        numbers = Samples(X).as_numbers(self._model, self._weights.shape[1])
        if self._centre is None:
            return numbers
        check_dense(numbers)
        return numbers - self._centre

    def log_odds(self, X: Any, samples: NDArray[np.intp], binaries: NDArray[np.intp]) -> Floats:
        """Return the log-odds of pairs.

        Parameters
        ----------
        X : samples, as `prepare` returns them
        samples, binaries : arrays of shape (n_pairs,)
        """
        found = self._offsets[binaries].copy()
        n_terms = X.nnz / max(1, X.shape[0]) if is_sparse(X) else X.shape[1]
        for block in blocks_of(len(samples), 24 * (1 + int(n_terms)), _BLOCK_BYTES):
            rows, own = X[samples[block]], binaries[block]
            if is_sparse(rows):
                counts = np.diff(rows.indptr)
                terms = rows.data * self._weights[np.repeat(own, counts), rows.indices]
                pairs = np.repeat(np.arange(len(own)), counts)
                found[block] += np.bincount(pairs, terms, minlength=len(own))
            else:
                found[block] += np.einsum("ij,ij->i", rows, self._weights[own])
        return found
