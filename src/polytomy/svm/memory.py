"""The memory budget for training on one kernel matrix, and the memory it takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polytomy.inputs.machine_memory import CONTAINER_LIMITS, machine_memory
from polytomy.inputs.parameters import Parameter, is_nonnegative_number
from polytomy.inputs.sparse import is_sparse

__all__ = [
    "CACHE_BYTES",
    "MEMORY_BUDGET",
    "bytes_of_matrix",
    "bytes_of_rows",
    "bytes_of_thread",
    "check_budget",
    "default_memory_budget",
    "size_in_words",
]

CACHE_BYTES = 2**24
"""Size of each thread's cache of kernel values. A larger cache was not faster."""

MEMORY_BUDGET = Parameter(
    "memory_budget", "a non-negative number of bytes", is_nonnegative_number, allows_none=True
)
"""The parameter `memory_budget`."""

# Size of a block of inner products while the matrix is filled.
_BLOCK_BYTES = 2**22

_SHARE_OF_MEMORY = 4


def default_memory_budget(limit_files: Sequence[Path] = CONTAINER_LIMITS) -> int:
    """Return a quarter of the memory of the computer or container, in bytes.

    Parameters
    ----------
    limit_files : files that may hold a limit in bytes; others are ignored
    """
    return machine_memory(limit_files) // _SHARE_OF_MEMORY


def check_budget(memory_budget: float | None) -> float:
    """Return the budget in bytes, by default a quarter of the memory."""
    MEMORY_BUDGET.check(memory_budget)
    return default_memory_budget() if memory_budget is None else float(memory_budget)


def bytes_of_matrix(n_rows: int, *, holds_kernel_values: bool) -> int:
    """Return the size of a matrix, of kernel values or of the entries they are computed from.

    Examples
    --------
    >>> bytes_of_matrix(1000, holds_kernel_values=True)
    4000000
    >>> bytes_of_matrix(1000, holds_kernel_values=False)
    8000000
    """
    return n_rows * n_rows * (4 if holds_kernel_values else 8)


def bytes_of_rows(numbers: Any, n_rows: int) -> int:
    """Return the size of three copies of rows: converted, in matrix order, and centred.

    Parameters
    ----------
    numbers : float64 array or CSR matrix
    n_rows : int
        The number of rows. Sparse rows are assumed to have the mean size.
    """
    if is_sparse(numbers):
        whole = numbers.data.nbytes + numbers.indices.nbytes + numbers.indptr.nbytes
    else:
        whole = numbers.nbytes
    return int(3 * whole * n_rows // max(1, numbers.shape[0]))


def bytes_of_thread(n_samples: int, n_runs: int) -> int:
    """Return the size of a thread's cache and arrays while it trains a problem.

    Parameters
    ----------
    n_samples : number of samples of the problem
    n_runs : one for the problem, and one for each fold of its calibration
    """
    # Each run has bounds, diagonals, coefficients, gradients, values and copies of some of them.
    # There are also the considered samples, and a gradient of all samples.
    arrays = 10 * n_runs + 16
    n_cached = max(2, min(CACHE_BYTES // (4 * n_samples), n_samples))
    return _BLOCK_BYTES + n_cached * 4 * n_samples + arrays * 8 * n_samples


def size_in_words(n_bytes: float) -> str:
    """Return a human-readable size with its unit.

    Examples
    --------
    >>> size_in_words(1_570_000_000)
    '1.57 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"
