"""Reference routines stand in for routines that would have to be compiled first.

Compiling a routine takes seconds, and its reference twin may be done by then. So the twin does the
work as long as the routine is neither in memory nor in Numba's cache. Each twin has a budget in
seconds, a fraction of the compile time, and every call reduces it. A call that exceeds the budget
compiles the routine, so no process keeps using the slow twin.

The time of a call is estimated from its arguments. The figures were measured on one machine and
rounded up. They do not depend on a clock, so the same calls always use the same twins.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, partial
from itertools import pairwise
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

__all__ = [
    "Budgets",
    "NotCompiled",
    "OverBudget",
    "RoutineFailure",
    "StandIn",
    "count_openmp_threads",
    "count_threads",
    "find_stand_in",
    "is_compiling_allowed",
    "one_blas_thread",
    "run_aside",
    "run_in_blocks",
    "run_tasks",
    "without_compiling",
]

_SHARE = 0.3
"""Fraction of the time to compile a routine that its twin may take instead."""

_is_compiling_allowed: ContextVar[bool] = ContextVar("_is_compiling_allowed", default=True)


class NotCompiled(Exception):
    """A function would have to be compiled first."""


def is_compiling_allowed() -> bool:
    """Return whether functions may be compiled here; otherwise they raise `NotCompiled`."""
    return _is_compiling_allowed.get()


@contextmanager
def without_compiling() -> Iterator[None]:
    """Return a context in which functions that are not compiled yet raise `NotCompiled`."""
    token = _is_compiling_allowed.set(False)
    try:
        yield
    finally:
        _is_compiling_allowed.reset(token)


class OverBudget(Exception):
    """The twin would take too long."""


class StandIn(NamedTuple):
    """The time that the twin of a routine takes.

    Attributes
    ----------
    compiling : approximate seconds to compile the routine
    estimate : function of the routine's arguments that returns the twin's approximate seconds
    run_within : function, optional
        Function of the twin, a number of seconds and the routine's arguments. It returns the twin's
        answer, or None if that would take longer, and the seconds it took.
    """

    compiling: float
    estimate: Callable[..., float]
    run_within: Callable[[Callable[..., Any], float, tuple[Any, ...]], Any] | None = None


class Budgets:
    """The remaining seconds of the routines' twins."""

    def __init__(self) -> None:
        self._left: dict[str, float] = {}

    def answer(
        self, name: str, stand_in: StandIn, twin: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        """Return the answer of a routine's twin, and reduce its budget.

        Raise OverBudget if the budget does not suffice; the budget is then used up.

        Examples
        --------
        >>> budgets, stand_in = Budgets(), StandIn(10.0, estimate=lambda seconds: seconds)
        >>> budgets.answer("wait", stand_in, "waited {} s".format, (2.5,))
        'waited 2.5 s'
        >>> budgets.answer("wait", stand_in, "waited {} s".format, (2.5,))
        Traceback (most recent call last):
        polytomy.routines.threads.OverBudget
        """
        left = self._left.get(name, _SHARE * stand_in.compiling)
        seconds = stand_in.estimate(*arguments)
        if seconds > left:
            self._left[name] = 0.0
            raise OverBudget
        if stand_in.run_within is None:
            answer = twin(*arguments)
        else:
            answer, seconds = stand_in.run_within(twin, left, arguments)
        self._left[name] = max(0.0, self._left.get(name, left) - seconds)
        if answer is None and stand_in.run_within is not None:
            self._left[name] = 0.0
            raise OverBudget
        return answer


def find_stand_in(name: str, subject: str) -> StandIn | None:
    """Return the StandIn of a routine, or None if its twin never stands in.

    Examples
    --------
    >>> import numpy as np
    >>> find_stand_in("answer_logistic", "banks").estimate(np.zeros((1000, 45)), None, None)
    0.00095
    """
    return _STAND_INS.get(f"{subject}.{name}")


def _train_machines(
    kernel_values: Any,
    entries: Any,
    maker: Any,
    form: Any,
    columns: Any,
    ends: Any,
    signs: Any,
    bounds: Any,
    *others: Any,
) -> float:
    if len(maker.slot_of):
        return inf  # the problem is large, and its rows are slow to compute in the twin
    # There are usually a fifth as many steps as samples, but hard problems take many more.
    sizes = np.diff(ends, prepend=0)
    return float(len(bounds) * (sizes / 5 @ _seconds_of_step(sizes)))


def _train_machines_within(
    twin: Callable[..., Any], seconds: float, arguments: tuple[Any, ...]
) -> tuple[Any, float]:
    """Train machines, but stop if the steps take too long."""
    columns, ends, signs, bounds, parameters, diagonals, tolerances, most_steps, shrinks = (
        arguments[4:13]
    )
    trained, taken = [], 0.0
    for k, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        of_step = _seconds_of_step(end - start)
        limit = max(1, int((seconds - taken) / of_step / len(bounds)))
        is_limited = not 0 <= most_steps[k] <= limit
        own, problem = slice(start, end), slice(k, k + 1)
        machines = twin(
            *arguments[:4],
            *(columns[own], ends[problem] - start, signs[own], bounds[:, own], parameters),
            *(diagonals[:, own], tolerances[problem]),
            np.array([limit]) if is_limited else most_steps[problem],
            *(shrinks[problem], *arguments[13:]),
        )
        taken += float(machines[3].sum() * of_step)
        if is_limited and machines[3].max() >= limit:
            return None, taken
        trained.append(machines)
    return tuple(map(np.hstack, zip(*trained, strict=True))), taken


def _seconds_of_step(n_samples: Any) -> Any:
    return 4e-5 + 4e-8 * n_samples


def _fit_linear_models(
    samples: Any, rows: Any, starts: Any, signs: Any, costs: Any, fold_of: Any, is_trained: Any,
    *others: Any,
) -> float:  # fmt: skip
    n_models = len(is_trained) + float(is_trained.sum())
    return 2e-3 * n_models + 2e-7 * costs.size * samples.n_features


def _fit_sigmoids(values: Any, is_positive: Any, weight: Any, starts: Any) -> float:
    return 1e-3 * len(starts) + 2e-6 * len(values)


def _fit_scale_and_bias(features: Any, class_indices: Any, weights: Any, *others: Any) -> float:
    seconds = 2e-3 + 1e-9 * features.size * (800.0 + 10.0 * features.shape[1])
    return seconds * len(weights)


def _add_dense_scores(
    samples: Any, vectors: Any, rows: Any, centre: Any, squares: Any, function: Any, weights: Any,
    scores: Any,
) -> float:  # fmt: skip
    n_terms = len(rows) * (15.0 + samples.shape[1] / 2) + 2.0 * len(weights[2])
    return 2e-4 + 1e-9 * len(samples) * n_terms


def _add_sparse_scores(
    samples: Any, vectors: Any, rows: Any, n_features: Any, function: Any, weights: Any,
    scores: Any,
) -> float:  # fmt: skip
    n_terms = 20.0 * len(rows) + len(vectors[0]) + 2.0 * len(weights[2])
    return 1e-3 + 1e-9 * len(scores) * n_terms


def _couple_pairs(decisions: Any, negative: Any, positive: Any, n_classes: int) -> float:
    size = len(negative) * n_classes
    if size > 2**14:
        return inf  # the twin would need too much memory
    return 1e-4 + 1e-6 * len(decisions) * (1.0 + 1e-4 * size * n_classes)


def _minimise_divergence(matrix: Any, decisions: Any, weights: Any, is_convex: bool) -> float:
    n_descents = 1 if is_convex else 8
    return float(len(decisions) * n_descents * (3e-3 + 1e-8 * matrix.size * matrix.shape[1]))


def _hausdorff_matrix(rows: Any, starts: Any) -> float:
    return 1e-5 * len(starts) ** 2 + 1e-9 * len(rows) ** 2 * (2.0 + rows.shape[1])


def _size(seconds: float, *, per_entry: float) -> Callable[..., float]:
    """Return an estimate that grows with the size of the first argument."""
    return lambda values, *others: seconds + per_entry * values.size


def _samples(per_sample: float, *, per_class: float) -> Callable[..., float]:
    """Return an estimate that grows with samples and classes, the last argument."""
    return lambda decisions, *others: len(decisions) * (per_sample + per_class * others[-1])


_STAND_INS = {
    "kernel_rows.kernel_values": StandIn(1.5, _size(5e-5, per_entry=4e-8)),
    "kernel_rows.store_products": StandIn(2.0, _size(5e-5, per_entry=4e-8)),
    "smo.train_machines": StandIn(10.0, _train_machines, _train_machines_within),
    "linear.fit_linear_models": StandIn(8.0, _fit_linear_models),
    "calibration.fit_log_odds": StandIn(1.5, _size(1e-3, per_entry=3e-7)),
    "calibration.fit_sigmoids": StandIn(2.0, _fit_sigmoids),
    "calibration.fit_scale_and_bias": StandIn(3.0, _fit_scale_and_bias),
    "banks.add_dense_scores": StandIn(4.0, _add_dense_scores),
    "banks.add_sparse_scores": StandIn(4.0, _add_sparse_scores),
    "banks.answer_logistic": StandIn(1.5, _size(5e-5, per_entry=2e-8)),
    "banks.count_pair_votes": StandIn(0.4, _size(5e-4, per_entry=2e-8)),
    "banks.transform_products": StandIn(2.5, _size(1e-4, per_entry=2e-8)),
    "least_squares.multiply_down_tree": StandIn(0.7, _size(2e-4, per_entry=8e-8)),
    "least_squares.regress_isotonic": StandIn(0.7, lambda answers, *others: 5e-5 * len(answers)),
    "least_squares.project_answers": StandIn(0.5, _size(1e-4, per_entry=2e-7)),
    "least_squares.couple_pairs": StandIn(2.5, _couple_pairs),
    "least_squares.minimise_on_simplex": StandIn(12.0, _samples(2e-4, per_class=3e-5)),
    "divergence.minimise_one_vs_rest": StandIn(0.7, _size(1e-3, per_entry=2e-6)),
    "divergence.minimise_divergence": StandIn(5.0, _minimise_divergence),
    "coupling.stationary_distribution": StandIn(
        1.5, lambda first, second, answers, n_classes: 2.5e-5 * len(answers) * n_classes
    ),
    "distances.hausdorff_matrix": StandIn(2.0, _hausdorff_matrix),
}


# -- The threads of BLAS and OpenMP: limits that polytomy sets, and limits that it respects --


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


# -- Runs compiled functions on other threads, so that Ctrl-C is heard, and on several at a time --


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

_LAYOUT_FLAGS = 0x1 | 0x2 | 0x400
"""NumPy's flags of arrays in C order, in Fortran's order, and that can be written to."""

_thread = threading.local()
_compiled: set[Callable[..., Any]] = set()
"""Functions that have been called, for some types of arguments."""

_called: set[Hashable] = set()
"""The same with the types: calling one of these compiles nothing."""


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
    return min(most, count_openmp_threads() or most)


def run_in_blocks(
    function: Callable[..., None],
    n_samples: int,
    *arguments: Any,
    cost: float,
    multiple: int = 1,
) -> None:
    """Call ``function(*arguments, first, last, stop)`` for blocks that make up all samples.

    Parameters
    ----------
    function : function of a module that gives up the interpreter lock
        It should return early if ``stop[0]`` is no longer zero.
    n_samples : int
    *arguments : what the function takes besides the first sample of the block, the one after its
        last, and the flag; what it writes must not overlap for different blocks
    cost : float
        Nanoseconds that a sample takes, roughly.
    multiple : int, default=1
        All blocks but the last have a multiple of this many samples.

    Examples
    --------
    >>> def note(blocks, first, last, stop):
    ...     blocks.append((first, last))
    >>> blocks = []
    >>> run_in_blocks(note, 50, blocks, cost=1.0)
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
    if n_threads == 1 or hasattr(_thread, "stop"):
        run_aside(function, *arguments, 0, n_samples, cost=work)
        return
    if not is_compiling_allowed():
        # An empty block first, to find out whether it is compiled before a block writes anything.
        run_aside(function, *arguments, 0, 0, cost=0.0)
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


def run_aside(function: Callable[..., Any], *arguments: Any, cost: float) -> Any:
    """Return ``function(*arguments, stop)``, called by another thread unless that is quick.

    Parameters
    ----------
    function, *arguments : as for `run_in_blocks`
    cost : float
        Nanoseconds that the call takes, roughly.

    Examples
    --------
    >>> run_aside(lambda number, stop: number + 1, 2, cost=1e9)
    3
    """
    if not (function in _compiled or is_compiling_allowed() or _may_be_compiled(function)):
        raise NotCompiled
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


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function, which may have to be compiled first, and note that it works."""
    try:
        result = function(*arguments)
    except (MemoryError, NotCompiled, RoutineFailure):
        raise
    except Exception as error:
        raise RoutineFailure(str(error)) from error
    # Without the flag, which is always the same type.
    _called.add((function, _types_of(arguments[:-1])))
    _compiled.add(function)
    return result


def _may_be_compiled(function: Any) -> bool:
    """Return False if Numba has compiled a function neither here nor, by its files, elsewhere.

    Asking Numba itself takes a quarter of a second the first time, and a thread every time.
    """
    if not hasattr(function, "signatures") or function.signatures:
        return True
    folder = Path(function.stats.cache_path)
    return any(folder.glob(f"*{function.__name__}*.nbi"))


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
        return argument.dtype.char, argument.ndim, argument.flags.num & _LAYOUT_FLAGS
    if isinstance(argument, tuple):
        return type(argument), _types_of(argument)
    return type(argument)
