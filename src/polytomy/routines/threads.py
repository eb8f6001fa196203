"""Runs compiled functions on other threads, so that Ctrl-C is heard, and on several at a time.

Python handles signals in its main thread, between two steps of Python code: never while that thread
is inside a compiled function. So work that takes longer than a moment is done by other threads, and
the caller waits for them. If an exception ends the wait, such as KeyboardInterrupt, the threads are
told to stop by a flag that compiled loops read, and the exception goes on.

Threads are started for each piece of work and end with it. Compared with work that is worth a
thread, starting one takes little time, and so there is nothing that a fork could break.

BLAS and OpenMP have threads of their own: `one_blas_thread` limits the former, and the number of
threads respects a limit on the latter.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache, partial
from itertools import pairwise
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_Result = TypeVar("_Result")

_MOMENT = 1e7
"""Nanoseconds of work that the caller may do itself: too few to notice that Ctrl-C has to wait."""

_WORTH_A_THREAD = 7e5
"""Nanoseconds of work that are worth one of several threads. Starting one takes about 1e5."""

_WORTH_A_BLOCK = 5e5
_BLOCKS_PER_THREAD = 4

_PATIENCE = 0.1
"""Seconds until the wait looks up, because Windows does not interrupt it."""

_GRACE = 0.25
"""Seconds to wait for threads that were told to stop. One that takes longer, because it compiles a
function, say, is left to itself."""

_NEVER: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
"""The flag of work that is never told to stop."""

_thread = threading.local()
_called: set[Hashable] = set()
"""Functions and the types of arguments that they were called with: calls that compile nothing."""


class RoutineFailure(Exception):
    """A compiled function failed; its cause says how."""


class _Stopped(BaseException):
    """Ends the work of a thread that was told to stop."""


def count_threads() -> int:
    """Return the number of threads that work may be divided among.

    That is the number of processors, or less if the environment variable NUMBA_NUM_THREADS or a
    limit on OpenMP says so.
    """
    from numba import config

    most = int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    return min(most, _count_openmp_threads() or most)


def run_in_blocks(
    function: Callable[..., None],
    n_samples: int,
    *inputs: Any,
    outputs: Iterable[Any] = (),
    cost: float,
    multiple: int = 1,
) -> None:
    """Call ``function(*inputs, *outputs, first, last, stop)`` for blocks that make up all samples.

    Parameters
    ----------
    function : function of a module that gives up the interpreter lock
        It should return early if ``stop[0]`` is no longer zero.
    n_samples : int
    *inputs : what the function only reads, see `read_only`
    outputs : arrays that the function writes to, which must not overlap for different blocks
    cost : float
        Nanoseconds that a sample takes, roughly.
    multiple : int, default=1
        All blocks but the last have a multiple of this many samples.

    Examples
    --------
    >>> def note(blocks, first, last, stop):
    ...     blocks.append((first, last))
    >>> blocks = []
    >>> run_in_blocks(note, 50, outputs=[blocks], cost=1.0)
    >>> blocks
    [(0, 50)]
    """
    if n_samples == 0:
        return
    work = n_samples * cost
    n_units = -(-n_samples // multiple)
    n_threads = int(min(n_units, max(1, work // _WORTH_A_THREAD)))
    if n_threads > 1:
        n_threads = min(n_threads, count_threads())
    arguments = (*map(read_only, inputs), *outputs)
    if n_threads == 1 or hasattr(_thread, "stop"):
        _run_aside(function, (*arguments, 0, n_samples), work)
        return
    n_blocks = int(min(n_threads * _BLOCKS_PER_THREAD, n_units, max(1, work // _WORTH_A_BLOCK)))
    bounds = [
        min(n_samples, multiple * (block * n_units // n_blocks)) for block in range(n_blocks + 1)
    ]
    stop = np.zeros(1, dtype=np.int64)
    tasks = [
        partial(_call, function, *arguments, first, last, stop) for first, last in pairwise(bounds)
    ]
    for _ in _run_on_threads(tasks, n_threads, stop):
        pass


def run_aside(
    function: Callable[..., Any], *inputs: Any, outputs: Iterable[Any] = (), cost: float
) -> Any:
    """Return ``function(*inputs, *outputs, stop)``, called by another thread unless that is quick.

    Parameters
    ----------
    function, *inputs, outputs : as for `run_in_blocks`
    cost : float
        Nanoseconds that the call takes, roughly.

    Examples
    --------
    >>> run_aside(lambda number, stop: number + 1, 2, cost=1e9)
    3
    """
    return _run_aside(function, (*map(read_only, inputs), *outputs), cost)


def read_only(argument: Any) -> Any:
    """Return a read-only view of an array in C order, and anything else unchanged.

    An array in another order is copied. Numba gives arrays different types depending on their order
    and on whether they are writeable, and would compile a function again for each. The arrays in a
    tuple are replaced likewise.
    """
    if isinstance(argument, np.ndarray):
        view = np.ascontiguousarray(argument).view()
        view.setflags(write=False)
        return view
    if isinstance(argument, tuple):
        parts = map(read_only, argument)
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return argument


def run_tasks(tasks: Sequence[Callable[[], _Result]], n_threads: int) -> Generator[_Result]:
    """Yield the results of tasks, in their order.

    One thread is the calling one. Several are started for the tasks; what these run by `run_aside`
    or `run_in_blocks` stays in the same thread.

    Examples
    --------
    >>> list(run_tasks([lambda: "a", lambda: "b", lambda: "c"], 2))
    ['a', 'b', 'c']
    """
    if n_threads == 1 or hasattr(_thread, "stop"):
        return (task() for task in tasks)
    return _run_on_threads(tasks, n_threads, np.zeros(1, dtype=np.int64))


def _run_on_threads(
    tasks: Sequence[Callable[[], _Result]], n_threads: int, stop: NDArray[np.int64]
) -> Generator[_Result]:
    """Yield the results of tasks in their order; raise the error of the first that fails."""
    pending = deque(enumerate(tasks))
    done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    threads: list[threading.Thread] = []
    try:
        for _ in range(min(n_threads, len(tasks))):
            work = partial(copy_context().run, _take_tasks, pending, done, stop)
            threads.append(threading.Thread(target=work, name="polytomy", daemon=True))
            try:
                threads[-1].start()
            except RuntimeError:  # the system has no more threads
                threads.pop()
                break
        if not threads:
            _take_tasks(pending, done, stop)
        outcomes: dict[int, tuple[Any, BaseException | None]] = {}
        for number in range(len(tasks)):
            while number not in outcomes:
                try:
                    finished, result, error = done.get(timeout=_PATIENCE)
                except Empty:
                    continue
                outcomes[finished] = result, error
            result, error = outcomes.pop(number)
            if error is not None:
                raise error
            yield result
    finally:
        stop[0] = 1
        end = monotonic() + _GRACE
        for thread in threads:
            if thread.is_alive():  # not if starting it was interrupted
                thread.join(max(0.0, end - monotonic()))


def _take_tasks(
    pending: deque[tuple[int, Callable[[], Any]]],
    done: SimpleQueue[tuple[int, Any, BaseException | None]],
    stop: NDArray[np.int64],
) -> None:
    """Run tasks, one after the other, until none is left."""
    _thread.stop = stop
    try:
        while not stop[0]:
            try:
                number, task = pending.popleft()
            except IndexError:
                return
            try:
                done.put((number, task(), None))
            except _Stopped:
                return
            except BaseException as error:
                done.put((number, None, error))
    finally:
        del _thread.stop


def _run_aside(function: Callable[..., Any], arguments: tuple[Any, ...], cost: float) -> Any:
    if hasattr(_thread, "stop"):
        # This is a thread that runs tasks already.
        result = _call(function, *arguments, _thread.stop)
        if _thread.stop[0]:
            raise _Stopped
        return result
    if cost <= _MOMENT and (function, _types_of(arguments)) in _called:
        return _call_here(function, *arguments, _NEVER)
    stop = np.zeros(1, dtype=np.int64)
    (result,) = _run_on_threads([partial(_call, function, *arguments, stop)], 1, stop)
    return result


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function, which may have to be compiled first, and note that it works."""
    try:
        result = function(*arguments)
    except (MemoryError, RoutineFailure):
        raise
    except Exception as error:
        raise RoutineFailure(str(error)) from error
    # Without the flag, which is always the same type.
    _called.add((function, _types_of(arguments[:-1])))
    return result


def _call_here(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function in the main thread.

    If a signal arrives in the meantime, Numba returns a result in spite of the handler's exception,
    which Python reports as a SystemError.
    """
    try:
        return function(*arguments)
    except SystemError as error:
        cause: BaseException = error
        while isinstance(cause, SystemError) and cause.__cause__ is not None:
            cause = cause.__cause__
        if cause is error:
            raise
        raise cause from None


def _types_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what Numba compiles a function for, without asking Numba, which takes long."""
    return tuple(map(_type_of, arguments))


def _type_of(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.dtype.char, argument.ndim, argument.flags.num
    if isinstance(argument, tuple):
        return type(argument), _types_of(argument)
    return type(argument)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread.

    Starting threads takes longer than a small matrix product itself, and far longer on a busy
    machine.
    """
    libraries = _libraries("blas", "sklearn" in sys.modules)
    changed = [(each, count) for each in libraries if (count := each.num_threads or 1) > 1]
    try:
        for library, _ in changed:
            library.set_num_threads(1)
        yield
    finally:
        for library, count in changed:
            library.set_num_threads(count)


def _count_openmp_threads() -> int | None:
    """Return how many threads OpenMP may use now, or None if no library uses OpenMP.

    Users limit them with ``threadpoolctl.threadpool_limits`` or the environment variable
    OMP_NUM_THREADS, as for scikit-learn's own parallel loops.
    """
    counts = [each.num_threads for each in _libraries("openmp", "sklearn" in sys.modules)]
    return min((count for count in counts if count is not None), default=None)


@cache
def _libraries(user_api: str, has_sklearn: bool) -> list[Any]:
    """Return the libraries, which takes a millisecond; scikit-learn loads one more."""
    libraries: list[Any] = ThreadpoolController().select(user_api=user_api).lib_controllers
    return libraries
