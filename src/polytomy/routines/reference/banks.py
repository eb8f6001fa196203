"""Decision values of many kernel machines at once, in plain NumPy: the oracle of the compiled twin.

All machines use one list of vectors and one kernel function. For machine b

    scores[i, b] += Σ_v coefficient[v, b] · K(vector v, sample i)

Most coefficients are zero. The others of vector v are `coefficients[starts[v]:starts[v + 1]]`, for
the machines `machines[starts[v]:starts[v + 1]]` (the columns of a CSR matrix). A kernel function is
the tuple (kind, gamma, degree, coef0), where kind is one of `KINDS`. Scores are added in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import expit

__all__ = [
    "KINDS",
    "add_dense_scores",
    "add_sparse_scores",
    "answer_logistic",
    "count_pair_votes",
    "integer_powers",
    "transform_products",
]

KINDS = {"linear": 0, "rbf": 1, "poly": 2, "sigmoid": 3}
_LINEAR, _RBF, _POLY, _SIGMOID = KINDS.values()

_BLOCK_BYTES = 2**22

Floats = NDArray[Any]
Indices = NDArray[Any]
Function = tuple[int, float, int, float]
Weights = tuple[Indices, Indices, NDArray[np.float64]]
SparseRows = tuple[Floats, Indices, Indices]


def add_dense_scores(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    centre: Floats,
    squares: Floats,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
) -> None:
    """Add the scores of dense samples.

    Parameters
    ----------
    samples : array of shape (n_samples, n_features)
    vectors : array of shape (n_stored, n_features)
    rows : array of shape (n_vectors,), the rows of `vectors` that are used, each once
    centre : array of shape (n_features,)
        Subtracted from samples and vectors, which are then rounded to its precision; distances and
        inner products are computed in that precision. Zero for kernels other than rbf.
    squares : array of shape (n_vectors,) or (0,)
        Squared distances of the vectors from the centre, with which the rbf kernel computes
        distances by |x|² + |y|² − 2x·y. If empty, it uses differences: slower, but always exact.
    function : (kind, gamma, degree, coef0)
    weights : (starts, machines, coefficients), see above
    scores : array of shape (n_samples, n_machines)
    """
    used = (vectors[rows] - centre).astype(centre.dtype)
    coefficients = _sparse(weights, scores.shape[1])
    for block in _blocks(len(samples), len(rows)):
        part = (samples[block] - centre).astype(centre.dtype)
        if function[0] == _RBF and not len(squares):
            values = np.exp(-function[1] * cdist(part, used, "sqeuclidean"))
        else:
            part_squares = np.einsum("ij,ij->i", part, part)
            values = _kernel_values(part @ used.T, function, part_squares, squares)
        scores[block] += values @ coefficients


def add_sparse_scores(
    samples: SparseRows,
    vectors: SparseRows,
    rows: Indices,
    n_features: int,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
) -> None:
    """Add the scores of sparse samples; rows are (data, indices, starts), as in CSR."""
    all_samples = csr_array(samples, shape=(len(samples[2]) - 1, n_features))
    used = csr_array(vectors, shape=(len(vectors[2]) - 1, n_features))[rows]
    vector_squares = used.multiply(used).sum(axis=1)
    coefficients = _sparse(weights, scores.shape[1])
    for block in _blocks(len(scores), len(rows)):
        part = all_samples[block]
        products = (part @ used.T).toarray()
        squares = part.multiply(part).sum(axis=1)
        scores[block] += _kernel_values(products, function, squares, vector_squares) @ coefficients


def transform_products(
    products: Floats, row_squares: Floats, column_squares: Floats, function: Function
) -> None:
    """Replace a matrix of inner products by kernel values, in place.

    Parameters
    ----------
    products : array of shape (n, m), of either precision
    row_squares, column_squares : arrays of shape (n,) and (m,)
        Squared lengths, used by the rbf kernel only.
    function : (kind, gamma, degree, coef0)
    """
    for block in _blocks(*products.shape):
        squares = row_squares[block]
        products[block] = _kernel_values(products[block], function, squares, column_squares)


def answer_logistic(
    scores: NDArray[np.float64], slopes: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> None:
    """Replace scores by r = P(+1) − P(−1), in place; their log-odds are slope·score + intercept.

    Parameters
    ----------
    scores : array of shape (n_samples, n_machines)
    slopes, intercepts : arrays of shape (n_machines,)
    """
    scores *= slopes
    scores += intercepts
    expit(scores, out=scores)
    scores -= 1.0 - scores


def count_pair_votes(
    scores: NDArray[np.float64],
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    negative: NDArray[np.intp],
    positive: NDArray[np.intp],
    votes: NDArray[np.float64],
) -> None:
    """Add to each class the number of pairs that it wins minus the number that it loses.

    Parameters
    ----------
    scores : array of shape (n_samples, n_machines)
    slopes, intercepts : arrays of shape (n_machines,)
        A machine votes for its positive class if slope·score + intercept > 0.
    negative, positive : arrays of shape (n_machines,), the two classes of each machine
    votes : array of shape (n_samples, n_classes) to add to
    """
    sides = np.nan_to_num(np.sign(slopes * scores + intercepts))
    for machine in range(scores.shape[1]):
        votes[:, positive[machine]] += sides[:, machine]
        votes[:, negative[machine]] -= sides[:, machine]


def _kernel_values(
    products: Floats,
    function: Function,
    sample_squares: Floats,
    vector_squares: Floats,
) -> NDArray[np.float64]:
    kind, gamma, degree, coef0 = function
    products = products.astype(np.float64)
    if kind == _LINEAR:
        return products
    if kind == _RBF:
        squares = sample_squares[:, np.newaxis] + vector_squares - 2.0 * products
        # Rounding can make a small squared distance negative.
        return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))
    products = gamma * products + coef0
    return np.asarray(np.tanh(products)) if kind == _SIGMOID else integer_powers(products, degree)


def integer_powers(base: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return base^degree by squaring, in the order of LIBSVM's products.

    Parameters
    ----------
    base : float64 array
    degree : int, not negative
    """
    powers = np.ones_like(base)
    while degree > 0:
        if degree % 2 == 1:
            powers *= base
        degree //= 2
        if degree > 0:
            base = base * base
    return powers


def _sparse(weights: Weights, n_machines: int) -> csr_array:
    starts, machines, coefficients = weights
    first, last = starts[0], starts[-1]
    triple = coefficients[first:last], machines[first:last], starts - first
    return csr_array(triple, shape=(len(starts) - 1, n_machines))


def _blocks(n_samples: int, n_vectors: int) -> Iterator[slice]:
    size = max(1, _BLOCK_BYTES // (8 * max(1, n_vectors)))
    for first in range(0, n_samples, size):
        yield slice(first, min(n_samples, first + size))
