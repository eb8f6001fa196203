"""Compile all routines before their first use.

Numba compiles a function for the types of its arguments. So calling a routine with small arguments
of all types that the package uses compiles everything that it will ever need.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from os.path import commonpath
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import PolytomyError
from polytomy.routines.dispatch import compiled_routine, explain_cause, has_machine_code
from polytomy.routines.reference.calibration import SoftmaxData
from polytomy.routines.reference.kernels import KINDS, whole_matrix
from polytomy.routines.reference.linear import LinearForm, LinearProblems, LinearSamples
from polytomy.routines.reference.smo import Problems
from polytomy.routines.threads import RoutineFailure

_RBF = KINDS["rbf"], 1.0, 3, 0.0
_PAIR = np.array([[-1, 1]], dtype=np.int8)
_MANY_CLASSES = 100
"""A number of classes too large to solve samples side by side."""

_MORE_THAN_FEW = 16
"""A number of samples that are evaluated side by side, if they have one feature."""

_Calls = dict[str, list[tuple[Any, ...]]]
"""Arguments of the calls to each routine of a subject."""


class WarmUpProgress(NamedTuple):
    """Progress of `warm_up`.

    Attributes
    ----------
    n_done, n_routines : int
    routine : str
        Name of the next routine; with several jobs, of one that is ready; empty at the end.
    """

    n_done: int
    n_routines: int
    routine: str


class WarmUp(NamedTuple):
    """Result of `warm_up`.

    Attributes
    ----------
    n_routines : int
        Number of routines that are now ready.
    n_compiled : int
        Number of functions that were compiled; the others were in the cache.
    seconds : float
    folder : Path
        Where the machine code is stored.
    """

    n_routines: int
    n_compiled: int
    seconds: float
    folder: Path


class _Compiled(NamedTuple):
    """The compiled part of a subject: its routines, number of new functions, and folder."""

    names: list[str]
    n_new: int
    folder: Path


def warm_up(
    on_progress: Callable[[WarmUpProgress], None] | None = None, *, n_jobs: int | None = None
) -> WarmUp:
    """Compile all routines now, so that no later process has to.

    The machine code is stored on disk: beside the package, or in the folder given by the
    environment variable NUMBA_CACHE_DIR. It is valid for this processor type, this Python and this
    version of Numba and polytomy. Routines that are already in the cache are loaded, which takes a
    second or two for all of them.

    Parameters
    ----------
    on_progress : function, optional
        Called with a `WarmUpProgress` for each routine and at the end.
    n_jobs : int, optional
        Number of processes, or -1 for all cores. Each process compiles on one core.

    Returns
    -------
    WarmUp

    Raises
    ------
    PolytomyError
        If Numba cannot compile, or cannot write the machine code.

    Examples
    --------
    >>> import polytomy as pt
    >>> pt.warm_up().n_routines  # doctest: +SKIP
    19
    """
    started = perf_counter()
    _check_folder()
    report = on_progress or (lambda progress: None)
    calls: dict[str, _Calls] = {}
    for subject, name, arguments in examples():
        calls.setdefault(subject, {}).setdefault(name, []).append(arguments)
    n_routines = sum(map(len, calls.values()))
    n_done = 0

    def tell(name: str) -> None:
        nonlocal n_done
        report(WarmUpProgress(n_done, n_routines, name))
        n_done += 1

    if n_jobs in (None, 1):
        done = [_compile(subject, calls[subject], tell) for subject in calls]
    else:
        done = []
        for compiled in _compile_in_processes(calls, n_jobs):
            done.append(compiled)
            for name in compiled.names:
                tell(name)
    tell("")
    has_machine_code.cache_clear()  # there is some now
    n_new = sum(compiled.n_new for compiled in done)
    folder = Path(commonpath([compiled.folder for compiled in done]))
    return WarmUp(n_routines, n_new, perf_counter() - started, folder)


def _compile_in_processes(calls: dict[str, _Calls], n_jobs: int | None) -> Iterator[_Compiled]:
    """Yield the compiled part of each subject as soon as it is ready."""
    # Not at the top, because importing joblib is slow.
    from joblib import Parallel, delayed

    # A subject stays in one process, because its routines share helpers.
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator")
    compiled: Iterator[_Compiled] = parallel(
        delayed(_compile)(subject, own) for subject, own in calls.items()
    )
    return compiled


def _compile(
    subject: str, calls: _Calls, tell: Callable[[str], None] = lambda name: None
) -> _Compiled:
    """Compile the routines of a subject for the types of all calls."""
    with _explain_failure(next(iter(calls))):
        routines = {name: compiled_routine(name, subject) for name in calls}
    # Not at the top, because it imports Numba, which the lines above do on another thread.
    from polytomy.routines.compiling import count_compiled, machine_code_folder

    n_before = count_compiled()
    for name, run in routines.items():
        tell(name)
        with _explain_failure(name):
            for arguments in calls[name]:
                run(*arguments)
    return _Compiled(list(calls), count_compiled() - n_before, machine_code_folder())


@contextmanager
def _explain_failure(name: str) -> Iterator[None]:
    """Turn the failure of a routine into a PolytomyError."""
    try:
        yield
    except RoutineFailure as failure:
        raise PolytomyError(
            f"The routine {name} cannot be compiled ({explain_cause(failure)}). Numba must be "
            "installed and must be able to write its files: set NUMBA_CACHE_DIR to a writable "
            "folder."
        ) from failure.__cause__


def _check_folder() -> None:
    """Raise a PolytomyError if NUMBA_CACHE_DIR cannot be written: Numba would not say so."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if not folder:
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PolytomyError(
            f"NUMBA_CACHE_DIR is {folder}, which is not writable ({error.strerror}). Set it to "
            "a writable folder, or unset it to keep the machine code beside the package."
        ) from error


class Example(NamedTuple):
    """A call of a routine."""

    subject: str
    name: str
    arguments: tuple[Any, ...]


def examples() -> Iterator[Example]:
    """Yield calls of all routines, those that take longest to compile first.

    Examples
    --------
    >>> sorted({example.subject for example in examples()})[:3]
    ['banks', 'calibration', 'distances']
    """
    yield _training_example()
    yield from _solver_examples()
    yield from map(_linear_example, (np.float64, np.float32))
    yield from _bank_examples()
    yield from _calibration_examples()
    starts = np.array([0, 2, 4])
    yield Example("distances", "hausdorff_matrix", (np.arange(8.0).reshape(4, 2), starts))


def _training_example() -> Example:
    problems = Problems(
        columns=np.arange(2),
        ends=np.array([2]),
        signs=np.array([-1.0, 1.0]),
        bounds=np.ones((2, 2)),
        diagonal=np.ones(2),
        tolerances=np.array([1e-3]),
        most_steps=np.array([-1]),
        shrinks=np.array([True]),
    )
    matrix = whole_matrix(np.eye(2, dtype=np.float32))
    arguments = problems, matrix, np.array([[-1, -1], [-1, 0]]), np.empty(4, dtype=np.float32)
    return Example("smo", "train_machines", arguments)


def _linear_example(dtype: Any) -> Example:
    nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
    samples = LinearSamples(np.eye(2, dtype=dtype), *nothing, np.ones(2), 2)
    problem = np.arange(2), np.array([0, 2]), np.array([-1.0, 1.0]), np.ones((1, 2))
    folds = np.full(2, -1), np.empty((1, 0), dtype=np.bool_)
    problems = LinearProblems(*problem, *folds, np.ones(1), np.ones(1))
    arguments = samples, problems, LinearForm(True, 1.0, 0.0, 100)
    return Example("linear", "fit_linear_models", arguments)


def _calibration_examples() -> Iterator[Example]:
    values, ones = np.array([-1.0, 1.0]), np.ones(2)
    sigmoid = values, values > 0, ones, np.array([0, 2]), True
    yield Example("calibration", "fit_sigmoids", sigmoid)
    softmax = np.diag(values), np.array([0, 1]), np.ones((1, 2)), np.zeros((1, 3)), True, 1e-10
    yield Example("calibration", "fit_scale_and_bias", softmax)
    data = SoftmaxData(np.eye(2), np.eye(2), np.array([0, 1]), ones / 2, 2.0)
    decoder = data, 1.0, np.ones(3), np.eye(2)[np.newaxis], np.zeros(7), 1e-3
    yield Example("calibration", "fit_softmax", decoder)


def _bank_examples() -> Iterator[Example]:
    sums = np.zeros(1)
    yield Example("banks", "answer_logistic", (np.zeros((1, 1)), sums, sums))
    pair = np.array([0]), np.array([1]), np.zeros((1, 2))
    yield Example("banks", "count_pair_votes", (np.zeros((1, 1)), sums, sums, *pair))
    rows = np.zeros(1, dtype=np.intp)
    weights = np.array([0, 1]), rows, sums
    block = np.eye(2), np.ones(2), np.ones(2), _RBF, np.empty((2, 2), np.float32), 0, 0
    yield Example("kernels", "store_products", block)
    # One sample, which is processed by itself, and more than a few.
    for dtype, n_samples in product((np.float64, np.float32), (1, _MORE_THAN_FEW)):
        centre, X, scores = np.zeros(1, dtype), np.zeros((n_samples, 1)), np.zeros((n_samples, 1))
        dense = X, np.zeros((1, 1)), rows, centre, centre, _RBF, weights
        yield Example("banks", "add_dense_scores", (*dense, scores))
        parts = (weights[0], *weights), (weights[0], rows, np.array([1])), np.zeros(1)
        yield Example("banks", "add_parts", (*dense[:-1], *parts))
        sparse = _sparse_rows(dtype, n_samples), _sparse_rows(dtype, 1), rows, 1, _RBF, weights
        yield Example("banks", "add_sparse_scores", (*sparse, scores))


def _sparse_rows(dtype: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    starts = np.arange(n_rows + 1, dtype=np.int32)
    return np.ones(n_rows, dtype), np.zeros(n_rows, dtype=np.int32), starts


def _solver_examples() -> Iterator[Example]:
    answers, zero, one = np.zeros((1, 1)), np.array([0]), np.array([1])
    yield Example("least_squares", "multiply_down_tree", (answers, np.array([[~0, ~1]]), zero))
    cuts = np.array([0, 1]), zero, np.ones(1, dtype=np.int8)
    yield Example("least_squares", "regress_isotonic", (answers, *cuts))
    yield Example("least_squares", "project_answers", (answers, np.array([[-1.0, 1.0]])))
    many = np.array(np.triu_indices(_MANY_CLASSES, 1))
    for negative, positive, n_classes in ((zero, one, 2), (*many, _MANY_CLASSES)):
        pairs = np.zeros((1, len(negative))), negative, positive, n_classes
        yield Example("least_squares", "couple_pairs", pairs)
    row = np.array([0, 2]), np.array([0, 1]), np.array([-1.0, 1.0])
    yield Example("least_squares", "minimise_on_simplex", (answers, *row, 2))
    answer = np.array([[0.5, 0.5]])
    yield Example("divergence", "minimise_one_vs_rest", (answer, np.ones(2)))
    yield Example("divergence", "minimise_divergence", (_PAIR, answers, np.ones((1, 2)), True))
