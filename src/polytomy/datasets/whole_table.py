"""All blocks of a table joined, within the memory of the machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from polytomy.datasets.table_blocks import RawBlock
from polytomy.errors import DataError, PythonOnly
from polytomy.inputs.rows import machine_memory
from polytomy.inputs.sparse import is_sparse

__all__ = ["SHARE_OF_MEMORY", "check_size", "join_blocks"]

#: The samples of a file may take one half of the machine's memory: training needs the rest.
SHARE_OF_MEMORY = 2


def check_size(source: str, n_bytes: int) -> None:
    """Raise DataError if samples of this size are too large for the machine.

    A small file can hold a very large table, by its declared shape or by compression.
    """
    limit = machine_memory() // SHARE_OF_MEMORY
    if n_bytes > limit:
        raise DataError(
            f"{source}: the samples take more than {limit / 2**30:.1f} GB, half of the machine's "
            "memory. Use fewer rows or columns",
            PythonOnly(", or read it block by block with open_blocks"),
            ". On the command line, train --stream reads it block by block.",
        )


def join_blocks(source: str, blocks: Iterable[RawBlock], n_rows: int | None) -> RawBlock:
    """Return all blocks of a table as one, with little memory beyond that of the result.

    Parameters
    ----------
    source : name of the file, for messages
    blocks : blocks of the table, at least one
    n_rows : number of rows; None if it is known only after reading all of them
    """
    parts: list[Any] = []
    labels: list[NDArray[np.intp]] = []
    rows: list[NDArray[np.int64]] = []
    whole: NDArray[np.float64] | None = None
    n_bytes = n_read = 0
    for block in blocks:
        X = block.X
        n_bytes += X.data.nbytes + X.indices.nbytes if is_sparse(X) else X.nbytes
        check_size(source, n_bytes)
        if n_rows is not None and isinstance(X, np.ndarray):
            if whole is None:
                whole = np.empty((n_rows, X.shape[1]))
            if n_read + len(X) > n_rows:
                raise DataError(f"{source}: the file has more rows than it declares, {n_rows}")
            whole[n_read : n_read + len(X)] = X
        else:
            parts.append(X)
        n_read += X.shape[0]
        rows.append(block.row_numbers)
        if block.labels is not None:
            labels.append(block.labels)
    if not rows:
        raise DataError(f"{source}: the file has no rows")
    if whole is not None and n_read < len(whole):
        raise DataError(f"{source}: the file declares {n_rows} rows but has {n_read}")
    X = _join_parts(parts) if whole is None else whole
    return RawBlock(X, np.concatenate(labels) if labels else None, np.concatenate(rows))


def _join_parts(parts: list[Any]) -> Any:
    """Return the rows of all parts; parts are removed from the list as they are copied."""
    if len(parts) == 1:
        return parts[0]
    if is_sparse(parts[0]):
        return vstack(parts, "csr")
    # The pages of a new array take memory only once they are written to.
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    last = len(whole)
    while parts:
        part = parts.pop()
        whole[last - len(part) : last] = part
        last -= len(part)
    return whole
