"""The union of the support vectors of many machines: each vector once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from polytomy.inputs.sparse import check_sparse, is_sparse

__all__ = ["Pool", "pool_by_bytes", "pool_by_index"]


class Pool(NamedTuple):
    """Vectors that several machines share.

    Attributes
    ----------
    vectors : array or CSR array of shape (n_stored, n_features)
    rows : the rows that any machine uses, each once
    places : for each machine, the positions of its vectors in `rows`
    """

    vectors: Any
    rows: NDArray[np.intp]
    places: list[NDArray[np.intp]]


def pool_by_index(vectors: Any, supports: Sequence[NDArray[np.intp]]) -> Pool:
    """Return the pool of machines whose vectors are rows of one matrix, without a copy.

    Examples
    --------
    >>> pool = pool_by_index(np.eye(4), [np.array([3, 1]), np.array([1])])
    >>> pool.rows, pool.places
    (array([1, 3]), [array([1, 0]), array([0])])
    """
    rows = np.unique(np.concatenate(supports)).astype(np.intp)
    return Pool(
        check_sparse(vectors, "pool.vectors"),
        rows,
        [np.searchsorted(rows, support) for support in supports],
    )


def pool_by_bytes(matrices: Sequence[Any]) -> Pool:
    """Return the pool of machines that have their own matrices, all dense or all sparse.

    Two rows are the same vector if their bytes are equal.

    Examples
    --------
    >>> pool_by_bytes([np.array([[1.0], [2.0]]), np.array([[3.0], [1.0]])]).places
    [array([0, 1]), array([2, 0])]
    """
    known: dict[bytes, int] = {}
    parts, places = [], []
    for each in matrices:
        matrix = check_sparse(each, "support_vectors_")
        n_before = len(known)
        keys = _sparse_keys(matrix) if is_sparse(matrix) else _dense_keys(matrix)
        found = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
        new, first_seen = np.unique(found, return_index=True)
        parts.append(matrix[first_seen[new >= n_before]])
        places.append(found)
    vectors: Any = vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
    return Pool(vectors, np.arange(len(known)), places)


def _dense_keys(matrix: NDArray[np.float64]) -> list[bytes]:
    if matrix.shape[1] == 0:
        return [b""] * len(matrix)
    row_type = np.dtype((np.void, matrix.itemsize * matrix.shape[1]))
    keys: Any = np.ascontiguousarray(matrix).view(row_type).ravel().tolist()
    return list(keys)


def _sparse_keys(matrix: Any) -> list[bytes]:
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [
        matrix.indices[first:last].tobytes() + matrix.data[first:last].tobytes()
        for first, last in ends
    ]
