"""Reference routines stand in for routines that are not compiled, as long as that pays."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polytomy.routines import dispatch
from polytomy.routines import dispatch as stand_ins
from polytomy.routines.dispatch import OverBudget, run_stand_in, spend
from polytomy.routines.reference import least_squares, smo
from polytomy.routines.reference.kernels import whole_matrix
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
    program = f"{PROJECT}    for n in (1, 5, 10**7, 5): project(n)"
    assert run(program, tmp_path) == ["0", "0", "1", "1"]
    assert run(f"{PROJECT}    project(1)", tmp_path) == ["0"]


def test_the_machine_code_of_another_process_is_found(tmp_path):
    program = f"""{PROJECT}
    from polytomy.routines import compiling
    project(%d)
    print([each.__name__ for each in compiling._entries if each.signatures])
    """
    alone, compiled = run(program % 1, tmp_path), run(program % 10**7, tmp_path)
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


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_every_reference_routine_says_how_long_it_takes(example, monkeypatch):
    module = importlib.import_module(f"polytomy.routines.reference.{example.subject}")
    twin = getattr(module, example.name)
    monkeypatch.setattr(stand_ins, "_left", {"name": 0.0})
    with pytest.raises(OverBudget):
        run_stand_in("name", twin, example.arguments)


def test_a_twin_that_would_need_much_memory_does_not_stand_in(monkeypatch):
    monkeypatch.setattr(stand_ins, "BUDGET", 1e9)
    negative, positive = np.triu_indices(100, 1)
    arguments = np.zeros((1, len(negative))), negative, positive, 100
    with pytest.raises(OverBudget):
        run_stand_in("name", least_squares.couple_pairs, arguments)


def test_a_budget_is_spent_once(monkeypatch):
    monkeypatch.setattr(stand_ins, "_left", {})
    monkeypatch.setattr(stand_ins, "BUDGET", 0.25)

    def twin(seconds):
        spend(seconds)
        return -seconds

    assert run_stand_in("name", twin, (0.125,)) == -0.125
    assert run_stand_in("name", twin, (0.125,)) == -0.125
    for seconds in (0.125, 0.0625):
        with pytest.raises(OverBudget):
            run_stand_in("name", twin, (seconds,))
    assert run_stand_in("other", twin, (0.25,)) == -0.25


def test_only_training_may_keep_its_twin_for_long(monkeypatch):
    monkeypatch.setattr(stand_ins, "_left", {})
    for name in ("smo.train_machines", "linear.fit_linear_models"):
        run_stand_in(name, spend, (1.5,))
    # 900 rows of an adjacent code, predicted again and again.
    for _ in range(5):
        run_stand_in("least_squares.regress_isotonic", spend, (0.045,))
    with pytest.raises(OverBudget):
        run_stand_in("least_squares.regress_isotonic", spend, (0.045,))


def test_a_routine_that_stands_in_for_none_has_no_budget():
    spend(np.inf)
    with pytest.raises(OverBudget):
        run_stand_in("a name", spend, (np.inf,))
    spend(np.inf)


def training_arguments(n_samples):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_samples, 2))
    squares = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    problems = smo.Problems(
        columns=np.arange(n_samples),
        ends=np.array([n_samples]),
        signs=np.where(np.arange(n_samples) % 2, 1.0, -1.0),
        bounds=np.full((1, n_samples), 1e3),
        diagonal=np.ones(n_samples),
        tolerances=np.array([1e-3]),
        most_steps=np.array([-1]),
        shrinks=np.array([True]),
    )
    matrix = whole_matrix(np.exp(-squares).astype(np.float32))
    return problems, matrix, np.array([[-1, -1]]), np.empty(2 * n_samples, np.float32)


def test_training_that_takes_too_long_is_given_up(monkeypatch):
    arguments = training_arguments(40)
    expected = smo.train_machines(*arguments)
    monkeypatch.setattr(stand_ins, "_left", {})
    monkeypatch.setattr(stand_ins, "BUDGET", 100.0)
    answer = run_stand_in("name", smo.train_machines, arguments)
    for found, value in zip(answer, expected, strict=True):
        assert np.array_equal(found, value)
    seconds = 100.0 - stand_ins._left["name"]
    # Enough for the usual number of steps, but this problem takes more.
    stand_ins._left["name"] = seconds / 2
    with pytest.raises(OverBudget):
        run_stand_in("name", smo.train_machines, arguments)


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
