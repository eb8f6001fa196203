"""Sparse matrices."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse

__all__ = ["is_sparse"]


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy."""
    return bool(issparse(X))
