"""The threads of BLAS and OpenMP: limits that polytomy sets, and limits that it respects."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

__all__ = ["count_openmp_threads", "one_blas_thread"]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread.

    Starting threads takes longer than a small matrix product itself, and far longer on a busy
    machine.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


def count_openmp_threads() -> int | None:
    """Return how many threads OpenMP may use now, or None if no library uses OpenMP.

    Users limit them with ``threadpoolctl.threadpool_limits`` or the environment variable
    OMP_NUM_THREADS, as for scikit-learn's own parallel loops.
    """
    counts = [library.num_threads for library in _openmp_libraries("sklearn" in sys.modules)]
    return min((count for count in counts if count is not None), default=None)


@cache
def _openmp_libraries(has_sklearn: bool) -> list[Any]:
    """Return the libraries; scikit-learn loads one, so the cache distinguishes both cases."""
    libraries: list[Any] = ThreadpoolController().select(user_api="openmp").lib_controllers
    return libraries


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes a millisecond, so it is done once.
    return ThreadpoolController()
