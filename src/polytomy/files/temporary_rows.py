"""Rows in a temporary file instead of in memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["write_temporary_rows"]


def write_temporary_rows(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate blocks of rows into one read-only array in a temporary file.

    The operating system reads parts of the file when they are used, and may drop them again. The
    file has no name, and is deleted with the array.

    Parameters
    ----------
    blocks : iterable of arrays of the same type and width, at least one

    Raises
    ------
    OSError
        If the file cannot be written, for example because the disk is full.

    Examples
    --------
    >>> blocks = [np.zeros((2, 3)), np.ones((1, 3))]
    >>> write_temporary_rows(blocks).sum(axis=1)
    array([0., 0., 3.])
    """
    dtype, width = np.dtype(np.float64), 0
    try:
        # Write to the file, not to the memory map: there, a full disk would kill the process.
        with tempfile.TemporaryFile(prefix="polytomy-") as file:
            for block in blocks:
                dtype, width = block.dtype, block.shape[1]
                file.write(np.ascontiguousarray(block).data)
            file.flush()
            # Not np.memmap: joblib would look for a file with its name.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise OSError(
            f"Cannot write the pre-processed rows to a temporary file in {tempfile.gettempdir()}: "
            f"{error.strerror or error}. Set the environment variable TMPDIR to a folder with more "
            "space, or increase memory_budget to keep the rows in memory."
        ) from error
    return np.frombuffer(mapped, dtype=dtype).reshape(-1, width)
