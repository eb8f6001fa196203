"""Reference routines stand in for routines that are not compiled, as long as that pays."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polytomy.routines import dispatch
from polytomy.routines.reference import smo
from polytomy.routines.reference.kernel_rows import KERNEL_VALUES, nothing_to_make
from polytomy.routines.threads import (
    Budgets,
    NotCompiled,
    OverBudget,
    StandIn,
    find_stand_in,
    is_compiling_allowed,
    run_in_blocks,
    without_compiling,
)
from polytomy.routines.warming import examples


def run(program: str, cache: object) -> list[str]:
    """Run a program with a cache of its own, and return the lines that it prints."""
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONWARNINGS": "error"}
    variables.pop(dispatch.ENVIRONMENT_VARIABLE, None)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


PROJECT = """
    import numpy as np
    from polytomy.routines.dispatch import routine
    def project(n_samples):
        points = np.tile([0.5, 0.75, -3.0], (n_samples, 1))
        found = routine("project_answers", "least_squares")(points, np.eye(3))
        assert np.abs(found - [0.375, 0.625, 0.0]).max() < 1e-15
        from polytomy.routines.compiling import count_compiled
        print(count_compiled())
"""


def test_little_work_compiles_nothing_and_much_work_compiles_once(tmp_path):
    program = f"{PROJECT}    for n in (1, 5, 10**6, 5): project(n)"
    assert run(program, tmp_path) == ["0", "0", "1", "1"]
    assert run(f"{PROJECT}    project(1)", tmp_path) == ["0"]


def test_the_machine_code_of_another_process_is_found(tmp_path):
    program = f"""{PROJECT}
    from polytomy.routines import compiling
    project(%d)
    print([each.__name__ for each in compiling._entries if each.signatures])
    """
    alone, compiled = run(program % 1, tmp_path), run(program % 10**6, tmp_path)
    assert alone == ["0", "[]"]
    assert compiled[0] == "1"
    assert compiled[1] != "[]"
    assert run(program % 1, tmp_path) == ["0", compiled[1]]


def test_many_small_calls_compile_in_the_end(tmp_path):
    program = f"""{PROJECT}
    calls = 0
    from pathlib import Path
    while not any(Path({str(tmp_path)!r}).glob("*/*.nbi")):
        project(100)
        calls += 1
        assert calls < 100_000
    """
    assert len(run(program, tmp_path)) > 100


def test_every_routine_has_an_estimate():
    for subject, name, arguments in examples():
        stand_in = find_stand_in(name, subject)
        assert stand_in is not None, f"{subject}.{name}"
        assert stand_in.estimate(*arguments) > 0


def test_large_work_has_no_stand_in():
    """The twin of `couple_pairs` would need much memory."""
    (estimate,) = {
        find_stand_in(name, subject).estimate(*arguments)
        for subject, name, arguments in examples()
        if name == "couple_pairs" and arguments[-1] > 50
    }
    assert estimate == np.inf


def test_a_budget_is_spent_once():
    budgets, stand_in = Budgets(), StandIn(1.0, estimate=lambda seconds: seconds)

    def answer(seconds):
        return budgets.answer("name", stand_in, lambda seconds: -seconds, (seconds,))

    assert answer(0.125) == -0.125
    assert answer(0.125) == -0.125
    with pytest.raises(OverBudget):
        answer(0.125)
    with pytest.raises(OverBudget):
        answer(0.0625)
    assert budgets.answer("other", stand_in, lambda seconds: -seconds, (0.25,)) == -0.25


def test_the_context_ends_also_after_an_error():
    assert is_compiling_allowed()

    def fail():
        with without_compiling():
            raise KeyError(is_compiling_allowed())

    with pytest.raises(KeyError, match="False"):
        fail()
    assert is_compiling_allowed()


def test_blocks_write_nothing_if_the_function_is_not_compiled():
    """Even if it is compiled by another thread between two blocks."""
    written = []

    def add(values, first, last, stop):
        if not written and not is_compiling_allowed():
            written.append("asked")
            raise NotCompiled
        values[first:last] += 1

    values = np.zeros(10_000)
    with pytest.raises(NotCompiled), without_compiling():
        run_in_blocks(add, len(values), values, cost=1e6)
    assert not values.any()


def training_arguments(n_samples, most_steps=-1):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_samples, 2))
    squares = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    values = np.exp(-squares).astype(np.float32)
    signs = np.where(np.arange(n_samples) % 2, 1.0, -1.0)
    return (
        *(values, np.empty((0, 0)), nothing_to_make(), KERNEL_VALUES, np.arange(n_samples)),
        *(np.array([n_samples]), signs),
        *(np.full((1, n_samples), 1e3), np.array([[1.0, 3.0, 0.0]]), np.ones((1, n_samples))),
        *(
            np.array([1e-3]),
            np.array([most_steps]),
            np.array([True]),
            True,
            np.empty(2 * n_samples, dtype=np.float32),
        ),
    )


def test_training_that_takes_too_long_is_given_up():
    stand_in = find_stand_in("train_machines", "smo")
    arguments = training_arguments(40)
    expected = smo.train_machines(*arguments)
    answer, seconds = stand_in.run_within(smo.train_machines, 100.0, arguments)
    for found, value in zip(answer, expected, strict=True):
        assert np.array_equal(found, value)
    given_up, short = stand_in.run_within(smo.train_machines, seconds / 2, arguments)
    assert given_up is None
    assert short <= seconds / 2


def test_the_limit_of_the_user_is_not_that_of_the_budget():
    stand_in = find_stand_in("train_machines", "smo")
    arguments = training_arguments(40, most_steps=3)
    answer, _ = stand_in.run_within(smo.train_machines, 100.0, arguments)
    assert answer[3].tolist() == [[3]]


def test_the_twin_adds_to_scores_once(tmp_path):
    program = """
    import numpy as np
    from polytomy.routines.warming import examples
    from polytomy.routines.dispatch import routine
    rng = np.random.default_rng(0)
    samples, vectors = rng.normal(size=(2000, 2)), rng.normal(size=(50, 2))
    weights = np.arange(51), np.zeros(50, dtype=int), np.ones(50)
    scores = np.ones((2000, 1))
    none = np.empty(0)
    linear = 0, 1.0, 3, 0.0
    add = routine("add_dense_scores", "banks")
    add(samples, vectors, np.arange(50), np.zeros(2), none, linear, weights, scores)
    expected = 1 + samples @ vectors.sum(axis=0)
    print(np.abs(scores[:, 0] - expected).max() < 1e-12)
    """
    assert run(program, tmp_path) == ["True"]
    assert not any(tmp_path.glob("*/*.nbi"))
