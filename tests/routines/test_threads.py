"""Work on other threads: in blocks, in order, and stopped by an exception in the caller."""

from __future__ import annotations

import _thread
import threading
import time
from typing import NamedTuple

import numba
import numpy as np
import pytest
import sklearn  # noqa: F401  (brings the OpenMP library whose limit is obeyed)
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from polytomy.routines import threads
from polytomy.routines.compiled import banks, divergence, least_squares
from polytomy.routines.threads import (
    RoutineFailure,
    read_only,
    run_aside,
    run_in_blocks,
    run_tasks,
)

LONG = 1e9
"""Nanoseconds that are worth many threads."""


def note_block(blocks, first, last, stop):
    blocks.append((first, last))


def note_thread(threads, *block):
    threads.append(threading.current_thread())


def interrupt_the_wait():
    time.sleep(0.05)  # until the main thread waits
    _thread.interrupt_main()


def fail(error, *block):
    raise error


@pytest.fixture(params=[1, 2, 5])
def many_blocks(request, monkeypatch):
    """All work is worth threads, and one sample is worth a block."""
    monkeypatch.setattr(threads, "count_threads", lambda: request.param)
    monkeypatch.setattr(threads, "_BLOCKS_PER_THREAD", 50)
    for name in ("_MOMENT", "_WORTH_A_THREAD", "_WORTH_A_BLOCK"):
        monkeypatch.setattr(threads, name, 1e-3)


def test_arrays_are_seen_as_read_only_and_not_copied():
    values = np.arange(3.0)
    view = read_only(values)
    assert not view.flags.writeable
    assert np.shares_memory(view, values)
    assert values.flags.writeable
    assert read_only(7) == 7


def test_arrays_in_tuples_are_seen_as_read_only():
    (inner,), number = read_only(((np.zeros(2),), 1))
    assert not inner.flags.writeable
    assert number == 1
    point = NamedTuple("point", [("x", np.ndarray)])(np.zeros((2, 2)).T[:1])
    seen = read_only(point)
    assert type(seen) is type(point)
    assert seen.x.flags.c_contiguous
    assert not seen.x.flags.writeable


class TestBlocks:
    def test_see_inputs_as_read_only_and_write_outputs(self):
        def add(inputs, outputs, first, last, stop):
            assert not inputs.flags.writeable
            outputs[first:last] += inputs[first:last]

        values = np.zeros(1000)
        run_in_blocks(add, 1000, np.arange(1000.0), outputs=[values], cost=LONG)
        np.testing.assert_array_equal(values, np.arange(1000.0))

    @given(
        n_samples=st.integers(0, 5000),
        cost=st.sampled_from([1.0, 1e4, LONG]),
        multiple=st.integers(1, 300),
    )
    def test_make_up_all_samples_once(self, n_samples, cost, multiple):
        blocks = []
        run_in_blocks(note_block, n_samples, blocks, cost=cost, multiple=multiple)
        samples = [sample for first, last in sorted(blocks) for sample in range(first, last)]
        assert samples == list(range(n_samples))
        assert all(first % multiple == 0 for first, _ in blocks)

    def test_of_long_work_leave_the_caller_free(self):
        workers = []
        run_in_blocks(note_thread, 100, workers, cost=LONG)
        assert workers
        assert threading.current_thread() not in workers

    def test_of_short_work_start_no_thread(self, monkeypatch):
        workers = []
        run_in_blocks(note_thread, 100, workers, cost=1.0)
        with monkeypatch.context() as patches:
            patches.setattr(threading, "Thread", None)
            run_in_blocks(note_thread, 100, workers, cost=1.0)
        assert workers[1:] == [threading.current_thread()]

    def test_of_work_for_one_thread_start_none_if_it_takes_a_moment(self, monkeypatch):
        monkeypatch.setattr(threads, "count_threads", lambda: 1)
        workers = []
        for _ in range(2):
            run_in_blocks(note_thread, 100, workers, cost=9e4)  # 9 ms
        assert workers[1:] == [threading.current_thread()]
        run_in_blocks(note_thread, 100, workers, cost=LONG)
        assert workers[2] is not threading.current_thread()

    def test_a_function_that_may_have_to_be_compiled_runs_on_another_thread(self):
        def work(workers, number, *block):
            workers.append(threading.current_thread())

        for number in (1, 1.0, np.zeros(1), np.zeros(1, np.float32), np.zeros((1, 1)), (1, 1.0)):
            workers = []
            for _ in range(2):
                run_in_blocks(work, 1, workers, number, cost=1.0)
            assert workers[0] is not threading.current_thread()
            assert workers[1] is threading.current_thread()

    def test_blocks_within_a_block_stay_in_its_thread(self):
        def outer(*block):
            inner = []
            run_in_blocks(note_thread, 1000, inner, cost=LONG)
            assert inner == [threading.current_thread()]
            done.append(inner)

        done = []
        run_in_blocks(outer, 40, cost=LONG)
        assert done

    def test_a_failure_in_a_block_says_what_failed(self):
        with pytest.raises(RoutineFailure) as failure:
            run_in_blocks(fail, 1000, ValueError("in a block"), cost=LONG)
        assert repr(failure.value.__cause__) == "ValueError('in a block')"

    def test_running_out_of_memory_is_no_failure_of_the_function(self):
        with pytest.raises(MemoryError):
            run_in_blocks(fail, 1000, MemoryError(), cost=LONG)

    def test_without_threads_the_caller_does_the_work(self, monkeypatch):
        def start(self):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        workers = []
        run_in_blocks(note_thread, 100, workers, cost=LONG)
        assert set(workers) == {threading.current_thread()}
        # The caller is not taken for a worker afterwards.
        monkeypatch.undo()
        run_in_blocks(note_thread, 100, workers, cost=LONG)
        assert len(set(workers)) > 1


@pytest.mark.usefixtures("hears_interrupts")
class TestInterrupts:
    def test_one_ends_the_wait_and_stops_the_threads(self):
        stopped = []

        def work(stop):
            interrupt_the_wait()
            while not stop[0]:
                time.sleep(0.001)
            stopped.append(threading.current_thread())

        with pytest.raises(KeyboardInterrupt):
            run_aside(work, cost=LONG)
        (thread,) = stopped
        assert not thread.is_alive()

    def test_a_thread_that_does_not_stop_is_left_alone(self):
        is_over = threading.Event()

        def work(stop):
            interrupt_the_wait()
            is_over.wait()

        with pytest.raises(KeyboardInterrupt):
            run_aside(work, cost=LONG)
        is_over.set()

    def test_no_block_is_begun_after_one(self):
        begun = []

        def work(first, last, stop):
            begun.append(first)
            interrupt_the_wait()
            while not stop[0]:
                time.sleep(0.001)

        with pytest.raises(KeyboardInterrupt):
            run_in_blocks(work, 1000, cost=LONG)
        assert len(begun) <= threads.count_threads()

    def test_one_in_the_caller_is_not_hidden_by_a_system_error(self):
        # What Numba does if the handler of a signal raises an exception while it boxes a result.
        def work(is_interrupted, stop):
            if is_interrupted:
                error = SystemError("returned a result with an exception set")
                error.__cause__ = KeyboardInterrupt()
                raise SystemError("returned a result with an exception set") from error

        run_aside(work, False, cost=1.0)
        with pytest.raises(KeyboardInterrupt):
            run_aside(work, True, cost=1.0)

    def test_a_task_in_python_ends_at_its_next_compiled_function(self):
        reached = []

        def task():
            interrupt_the_wait()
            run_aside(wait_for_stop, cost=LONG)
            reached.append("the next step")

        def wait_for_stop(stop):
            while not stop[0]:
                time.sleep(0.001)

        with pytest.raises(KeyboardInterrupt):
            list(run_tasks([task, task], 2))
        assert reached == []


class TestTasks:
    @pytest.mark.parametrize("n_threads", [1, 2, 7])
    def test_results_are_in_the_order_of_the_tasks(self, n_threads):
        def task(number):
            time.sleep(0.002 * (number % 3))
            return number

        tasks = [lambda number=number: task(number) for number in range(20)]
        assert list(run_tasks(tasks, n_threads)) == list(range(20))

    def test_one_thread_is_the_calling_one(self):
        assert list(run_tasks([threading.current_thread], 1)) == [threading.current_thread()]

    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_an_error_is_raised_where_the_result_would_be(self, n_threads):
        def task():
            raise ValueError("in a task")

        results = run_tasks([lambda: "first", task, lambda: "third"], n_threads)
        assert next(results) == "first"
        with pytest.raises(ValueError, match="in a task"):
            next(results)

    def test_no_task_is_begun_after_closing(self):
        begun = []

        def task(number):
            begun.append(number)
            while number and not threads._thread.stop[0]:
                time.sleep(0.001)

        results = run_tasks([lambda number=number: task(number) for number in range(1000)], 2)
        next(results)
        results.close()
        assert set(begun) <= {0, 1, 2}

    def test_threads_see_the_context_of_the_caller(self):
        with np.errstate(divide="raise"):
            found = list(run_tasks([np.geterr] * 2, 2))
        assert [each["divide"] for each in found] == ["raise"] * 2


def as_scipy_has_it(rows):
    """Sparse rows with the types that the package passes: Numba would compile others anew."""
    data, columns, starts = rows
    return data, columns.astype(np.int32), starts.astype(np.int32)


def kernel_scores(rng, n_samples, *, is_sparse):
    n_features, n_vectors, n_machines = 7, 40, 3
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.5)
    vectors = rng.normal(size=(n_vectors, n_features))
    starts = np.arange(0, 2 * n_vectors + 1, 2)
    machines = rng.integers(0, n_machines, 2 * n_vectors)
    weights = starts, machines, rng.normal(size=2 * n_vectors)
    function, rows, scores = (1, 0.3, 0, 0.0), np.arange(n_vectors), np.zeros((n_samples, 3))
    if is_sparse:
        columns = [np.flatnonzero(row) for row in X]
        # The order of a row's entries differs from row to row.
        columns = [rng.permutation(each) for each in columns]
        data = np.concatenate([row[each] for row, each in zip(X, columns, strict=True)])
        bounds = np.cumsum([0, *map(len, columns)])
        samples = data, np.concatenate(columns), bounds
        dense = vectors.ravel(), np.tile(np.arange(7), n_vectors), np.arange(0, 7 * 41, 7)
        sparse = map(as_scipy_has_it, (samples, dense))
        banks.add_sparse_scores(*sparse, rows, n_features, function, weights, scores)
    else:
        nothing = np.empty(0)
        centre = np.zeros(n_features)
        banks.add_dense_scores(X, vectors, rows, centre, nothing, function, weights, scores)
    return scores


def answers_with_gaps(rng, n_samples, n_partitions):
    answers = np.tanh(rng.normal(size=(n_samples, n_partitions)))
    answers[rng.random(n_samples) < 0.2, 0] = np.nan
    return answers


def minimise_on_simplex(rng, n_samples):
    matrix = np.array([[-1, 1, 1, 1], [1, -1, 1, 1], [1, 1, -1, -1], [1, -1, -1, 1]], float)
    starts, classes = np.arange(0, 17, 4), np.tile(np.arange(4), 4)
    answers = answers_with_gaps(rng, n_samples, 4)
    return least_squares.minimise_on_simplex(answers, starts, classes, matrix.ravel(), 4)


FIRST, SECOND = np.array(np.triu_indices(4, 1)).astype(np.intp)
ROUTINES = {
    "dense scores": lambda rng, n: kernel_scores(rng, n, is_sparse=False),
    "sparse scores": lambda rng, n: kernel_scores(rng, n, is_sparse=True),
    "divergence": lambda rng, n: divergence.minimise_divergence(
        np.array([[-1, 1, 0], [0, -1, 1], [-1, 1, 1]], np.int8),
        answers_with_gaps(rng, n, 3),
        np.ones((3, 2)),
        False,
    ),
    "pairs": lambda rng, n: least_squares.couple_pairs(
        np.tanh(rng.normal(size=(n, 6))), FIRST, SECOND, 4
    ),
    "any code": minimise_on_simplex,
    "projection": lambda rng, n: least_squares.project_answers(rng.normal(size=(n, 5)), np.eye(5)),
}


@pytest.mark.parametrize("n_allowed", [1, 2])
def test_limits_of_threadpoolctl_are_obeyed(n_allowed, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)
    meeting = threading.Barrier(n_allowed)
    used = set()

    def work(first, last, stop):
        if threading.current_thread() not in used:
            used.add(threading.current_thread())
            meeting.wait(timeout=10)  # fails unless all the threads are there

    with threadpool_limits(limits=n_allowed):
        run_in_blocks(work, 1000, cost=LONG)
    assert len(used) == n_allowed


def test_limits_of_blas_alone_do_not_matter():
    with threadpool_limits(limits=2):
        before = threads.count_threads()
        with threadpool_limits(limits=1, user_api="blas"):
            assert threads.count_threads() == before


@pytest.mark.parametrize("name", ROUTINES)
def test_answers_do_not_depend_on_threads_and_blocks(name, many_blocks):
    found = ROUTINES[name](np.random.default_rng(0), 700)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(threads, "count_threads", lambda: 1)
        in_one_block = ROUTINES[name](np.random.default_rng(0), 700)
    assert found.tobytes() == in_one_block.tobytes()


@pytest.mark.parametrize("is_sparse", [False, True])
def test_few_rows_are_scored_as_they_are_among_others(is_sparse):
    # All samples are made before the first is scored: these are the first rows of one sequence.
    def scores_of(rows):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.5)
        vectors, coefficients = rng.normal(size=(20, 6)), rng.normal(size=20)
        weights = np.arange(21), np.zeros(20, np.intp), coefficients
        function, scores = (1, 0.3, 0, 0.0), np.zeros((len(X[rows]), 1))
        if is_sparse:
            part = X[rows]
            place = [np.flatnonzero(row) for row in part]
            samples = (
                part[part != 0],
                np.concatenate(place),
                np.cumsum([0, *map(len, place)]),
            )
            stored = vectors.ravel(), np.tile(np.arange(6), 20), np.arange(0, 121, 6)
            sparse = map(as_scipy_has_it, (samples, stored))
            banks.add_sparse_scores(*sparse, np.arange(20), 6, function, weights, scores)
        else:
            more = np.arange(20), np.zeros(6), np.empty(0), function, weights
            banks.add_dense_scores(X[rows], vectors, *more, scores)
        return scores[:, 0]

    together = scores_of(slice(None))
    for first, last in ((0, 1), (5, 9), (127, 128), (128, 135), (149, 150)):
        alone = scores_of(slice(first, last))
        # Up to a few rows are summed in another order. Kernel values are at most one.
        np.testing.assert_allclose(alone, together[first:last], rtol=0, atol=1e-13)
    assert scores_of(slice(0, 100)).tolist() == together[:100].tolist()
