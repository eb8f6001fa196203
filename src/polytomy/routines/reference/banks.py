"""Decision values of many kernel machines at once, in plain NumPy: the oracle of the compiled twin.

All machines use one list of vectors and one kernel function. For machine b

    scores[i, b] += Σ_v coefficient[v, b] · K(vector v, sample i)

Most coefficients are zero. The others of vector v are `coefficients[starts[v]:starts[v + 1]]`, for
the machines `machines[starts[v]:starts[v + 1]]` (the columns of a CSR matrix). A kernel function is
the tuple (kind, gamma, degree, coef0), see `kernels.py`. Scores are added in place.

Scores of any binaries with logistic calibrators become answers by `answer_logistic`, or votes for
one-vs-one by `count_pair_votes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import expit

from polytomy.routines.dispatch import spend
from polytomy.routines.reference.kernels import (
    IS_OF_DISTANCES,
    Function,
    blocks_of_samples,
    entries_of,
    exact_values,
)

Floats = NDArray[Any]
Indices = NDArray[Any]
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
        inner products are computed in that precision. Zero for kernels of inner products.
    squares : array of shape (n_vectors,) or (0,)
        Squared distances of the vectors from the centre. With them, kernels of distances use
        |x|² + |y|² − 2x·y; without, they use differences: slower, but always exact.
    function : (kind, gamma, degree, coef0)
    weights : (starts, machines, coefficients), see above
    scores : array of shape (n_samples, n_machines)
    """
    n_terms = len(rows) * (15.0 + samples.shape[1] / 2) + 2.0 * len(weights[2])
    spend(2e-4 + 1e-9 * len(samples) * n_terms)
    used = (vectors[rows] - centre).astype(centre.dtype)
    coefficients = _sparse(weights, scores.shape[1])
    for block in blocks_of_samples(len(samples), len(rows)):
        part = (samples[block] - centre).astype(centre.dtype)
        if IS_OF_DISTANCES[function[0]] and not len(squares):
            entries = cdist(part, used, "sqeuclidean")
        else:
            part_squares = np.einsum("ij,ij->i", part, part)
            entries = entries_of(part @ used.T, function[0], part_squares, squares)
        scores[block] += exact_values(entries, function) @ coefficients


def add_parts(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    centre: Floats,
    squares: Floats,
    function: Function,
    slots: tuple[Indices, Indices, Indices, NDArray[np.float64]],
    users: tuple[Indices, Indices, Indices],
    sums: NDArray[np.float64],
) -> None:
    """Add the scores of parts of the vectors, each for some of the samples.

    Parameters
    ----------
    samples, vectors, centre, function : as in `add_dense_scores`
    rows, squares : as in `add_dense_scores`, part by part
    slots : (slot_starts, *weights)
        Part p has the rows, squares and weights from `slot_starts[p]` to `slot_starts[p + 1]`.
    users : (user_starts, user_rows, widths)
        Its samples are `user_rows[user_starts[p]:user_starts[p + 1]]`, and it has `widths[p]`
        machines.
    sums : array with the scores of all parts, samples and machines, one after the other
    """
    slot_starts, starts, machines, coefficients = slots
    user_starts, user_rows, widths = users
    sizes = np.diff(user_starts) * widths
    for part, scores in enumerate(np.split(sums, np.cumsum(sizes)[:-1])):
        own = slice(*slot_starts[part : part + 2])
        weights = starts[own.start : own.stop + 1], machines, coefficients
        block = samples[user_rows[slice(*user_starts[part : part + 2])]], vectors, rows[own], centre
        scores = scores.reshape(-1, widths[part])
        add_dense_scores(*block, squares[own], function, weights, scores)


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
    n_terms = 20.0 * len(rows) + len(vectors[0]) + 2.0 * len(weights[2])
    spend(1e-3 + 1e-9 * len(scores) * n_terms)
    all_samples = csr_array(samples, shape=(len(samples[2]) - 1, n_features))
    used = csr_array(vectors, shape=(len(vectors[2]) - 1, n_features))[rows]
    vector_squares = used.multiply(used).sum(axis=1)
    coefficients = _sparse(weights, scores.shape[1])
    for block in blocks_of_samples(len(scores), len(rows)):
        part = all_samples[block]
        products = (part @ used.T).toarray()
        squares = part.multiply(part).sum(axis=1)
        entries = entries_of(products, function[0], squares, vector_squares)
        scores[block] += exact_values(entries, function) @ coefficients


def answer_logistic(
    scores: NDArray[np.float64], slopes: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> None:
    """Replace scores by r = P(+1) − P(−1), in place; their log-odds are slope·score + intercept.

    Parameters
    ----------
    scores : array of shape (n_samples, n_machines)
    slopes, intercepts : arrays of shape (n_machines,)
    """
    spend(5e-5 + 2e-8 * scores.size)
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
    spend(5e-4 + 2e-8 * scores.size)
    sides = np.nan_to_num(np.sign(slopes * scores + intercepts))
    for machine in range(scores.shape[1]):
        votes[:, positive[machine]] += sides[:, machine]
        votes[:, negative[machine]] -= sides[:, machine]


def _sparse(weights: Weights, n_machines: int) -> csr_array:
    starts, machines, coefficients = weights
    first, last = starts[0], starts[-1]
    triple = coefficients[first:last], machines[first:last], starts - first
    return csr_array(triple, shape=(len(starts) - 1, n_machines))
