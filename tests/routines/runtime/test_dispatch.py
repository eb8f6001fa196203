"""Compiled kernels where they work, reference kernels where they do not, and one warning."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.routines.least_squares import compiled, reference
from polytomy.routines.runtime import dispatch

POINTS = np.array([[0.5, 0.75, -3.0]])


def run(program: str, **environment: str) -> list[str]:
    """Run a program in a process of its own, which must end well, and return its output."""
    variables = {**os.environ, "PYTHONWARNINGS": "always", **environment}
    variables.pop(dispatch.ENVIRONMENT_VARIABLE, None)
    variables |= {k: v for k, v in environment.items() if k == dispatch.ENVIRONMENT_VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).splitlines()


SOLVE_TWICE = """
    import warnings
    import numpy as np
    {before}
    from polytomy.routines.runtime.dispatch import routine
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            project = routine("project_answers", "least_squares")
            print(project(np.array([[0.5, 0.75, -3.0]]), np.eye(3)).tolist())
    for warning in caught:
        print(warning.category.__name__, warning.message)
"""


def test_a_kernel_is_the_compiled_twin_by_default(monkeypatch):
    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(compiled, "project_answers", lambda *arguments: "compiled")
    assert dispatch.routine("project_answers", "least_squares")(POINTS) == "compiled"


@pytest.mark.parametrize("side", ["reference", "compiled", " Reference "])
def test_the_environment_forces_a_side(side, monkeypatch):
    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, side)
    monkeypatch.setattr(compiled, "project_answers", lambda *arguments: "compiled")
    monkeypatch.setattr(reference, "project_answers", lambda *arguments: "reference")
    assert dispatch.routine("project_answers", "least_squares")(POINTS) == side.strip().lower()


def test_an_unknown_side_is_an_error(monkeypatch):
    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, "fast")
    with pytest.raises(ArgumentError) as error:
        dispatch.routine("project_answers", "least_squares")
    assert str(error.value) == (
        'POLYTOMY_ROUTINES must be "reference" or "compiled", or not set; got \'fast\'.'
    )


def test_a_failure_of_forced_kernels_is_raised(monkeypatch):
    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, "compiled")
    monkeypatch.setattr(compiled, "project_answers", fail)
    with pytest.raises(OSError, match="disk full"):
        dispatch.routine("project_answers", "least_squares")(POINTS)


def test_running_out_of_memory_is_not_a_failure_of_numba(monkeypatch):
    def fail(*arguments):
        raise MemoryError

    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(compiled, "project_answers", fail)
    with pytest.raises(MemoryError):
        dispatch.routine("project_answers", "least_squares")(POINTS)


def test_without_numba_the_reference_answers_after_one_warning():
    lines = run(SOLVE_TWICE.format(before="import sys; sys.modules['numba'] = None"))
    assert lines[:2] == ["[[0.375, 0.625, 0.0]]"] * 2
    assert len(lines) == 3
    assert lines[2].startswith("RoutineWarning the compiled routines cannot be used (")
    assert "the slower reference routines are used instead" in lines[2]
    assert "Set POLYTOMY_ROUTINES=reference to choose them without this warning." in lines[2]


def test_where_numba_cannot_cache_the_reference_answers_after_one_warning():
    # The one place for machine code that is left exists in notebooks only.
    lines = run(SOLVE_TWICE.format(before=""), NUMBA_CACHE_LOCATOR_CLASSES="IPythonCacheLocator")
    assert lines[:2] == ["[[0.375, 0.625, 0.0]]"] * 2
    assert len(lines) == 3
    assert "RoutineWarning" in lines[2]
    assert "cannot cache function" in lines[2]


def test_the_reference_needs_no_numba():
    before = "import sys; sys.modules['numba'] = None"
    lines = run(SOLVE_TWICE.format(before=before), POLYTOMY_ROUTINES="reference")
    assert lines == ["[[0.375, 0.625, 0.0]]"] * 2


def test_importing_the_solvers_imports_no_numba():
    lines = run("import sys, polytomy.solvers; print('numba' in sys.modules)")
    assert lines == ["False"]


FORK = """
    import os
    import numpy as np
    {before}
    from polytomy.routines.runtime.dispatch import routine
    project = routine("project_answers", "least_squares")
    points = np.array([[0.5, 0.75, -3.0]] * 1000)
    project(points, np.eye(3))
    child = os.fork()
    if child == 0:
        print(project(points, np.eye(3))[-1].tolist(), flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_forked_process_has_compiled_kernels_too():
    assert run(FORK.format(before="")) == ["[0.375, 0.625, 0.0]", "0"]


@needs_fork
def test_a_forked_process_does_without_the_threads_of_numba():
    # GNU OpenMP, which Numba uses by default, does not work in the child.
    before = """
    import numba
    @numba.njit(parallel=True)
    def fill(values):
        for k in numba.prange(len(values)):
            values[k] = k
    fill(np.empty(100))
    """
    lines = run(FORK.format(before=before))
    assert lines[:2] == ["[0.375, 0.625, 0.0]", "0"]
    assert len(lines) > 2
    assert (
        "RoutineWarning: the compiled routines cannot be used (RuntimeError: this process "
        in (lines[2])
    )
    assert "forked after they had run; start workers with spawn or forkserver" in lines[2]


def test_threads_may_solve_at_the_same_time():
    lines = run(
        """
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        from polytomy.routines.runtime.dispatch import routine
        points = np.random.default_rng(0).normal(size=(500, 9))
        project = routine("project_answers", "least_squares")
        expected = project(points, np.eye(9))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: project(points, np.eye(9)), range(100)))
        print(all(np.array_equal(each, expected) for each in found))
        """
    )
    assert lines == ["True"]
