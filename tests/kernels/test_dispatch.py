"""Compiled kernels where they work, reference kernels where they do not, and one warning."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.kernels import compiled, dispatch, reference

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
    from polytomy.kernels.dispatch import kernel
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            print(kernel("project_answers")(np.array([[0.5, 0.75, -3.0]]), np.eye(3)).tolist())
    for warning in caught:
        print(warning.category.__name__, warning.message)
"""


def test_a_kernel_is_the_compiled_twin_by_default(monkeypatch):
    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(compiled, "project_answers", lambda *arguments: "compiled")
    assert dispatch.kernel("project_answers")(POINTS) == "compiled"


@pytest.mark.parametrize("side", ["reference", "compiled", " Reference "])
def test_the_environment_forces_a_side(side, monkeypatch):
    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, side)
    monkeypatch.setattr(compiled, "project_answers", lambda *arguments: "compiled")
    monkeypatch.setattr(reference, "project_answers", lambda *arguments: "reference")
    assert dispatch.kernel("project_answers")(POINTS) == side.strip().lower()


def test_an_unknown_side_is_an_error(monkeypatch):
    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, "fast")
    with pytest.raises(ArgumentError) as error:
        dispatch.kernel("project_answers")
    assert str(error.value) == (
        "POLYTOMY_KERNELS='fast' is not a kind of kernels. "
        'Set it to "reference" or "compiled", or leave it out.'
    )


def test_a_failure_of_forced_kernels_is_raised(monkeypatch):
    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, "compiled")
    monkeypatch.setattr(compiled, "project_answers", fail)
    with pytest.raises(OSError, match="disk full"):
        dispatch.kernel("project_answers")(POINTS)


def test_running_out_of_memory_is_not_a_failure_of_numba(monkeypatch):
    def fail(*arguments):
        raise MemoryError

    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(compiled, "project_answers", fail)
    with pytest.raises(MemoryError):
        dispatch.kernel("project_answers")(POINTS)


def test_without_numba_the_reference_answers_after_one_warning():
    lines = run(SOLVE_TWICE.format(before="import sys; sys.modules['numba'] = None"))
    assert lines[:2] == ["[[0.375, 0.625, 0.0]]"] * 2
    assert len(lines) == 3
    assert lines[2].startswith("KernelWarning the compiled kernels cannot be used (")
    assert "the slower reference kernels answer instead" in lines[2]
    assert "Set POLYTOMY_KERNELS=reference to choose them without this warning." in lines[2]


def test_where_numba_cannot_cache_the_reference_answers_after_one_warning():
    # The one place for machine code that is left exists in notebooks only.
    lines = run(SOLVE_TWICE.format(before=""), NUMBA_CACHE_LOCATOR_CLASSES="IPythonCacheLocator")
    assert lines[:2] == ["[[0.375, 0.625, 0.0]]"] * 2
    assert len(lines) == 3
    assert "KernelWarning" in lines[2]
    assert "cannot cache function" in lines[2]


def test_the_reference_needs_no_numba():
    before = "import sys; sys.modules['numba'] = None"
    lines = run(SOLVE_TWICE.format(before=before), POLYTOMY_KERNELS="reference")
    assert lines == ["[[0.375, 0.625, 0.0]]"] * 2


def test_importing_the_solvers_imports_no_numba():
    lines = run("import sys, polytomy.solvers; print('numba' in sys.modules)")
    assert lines == ["False"]


FORK = """
    import os
    import numpy as np
    {before}
    from polytomy.kernels.dispatch import kernel
    project, points = kernel("project_answers"), np.array([[0.5, 0.75, -3.0]] * 1000)
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
        "KernelWarning: the compiled kernels cannot be used (RuntimeError: this process "
        in (lines[2])
    )
    assert "forked after they had run; start workers by spawn or forkserver" in lines[2]


def test_threads_may_solve_at_the_same_time():
    lines = run(
        """
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        from polytomy.kernels.dispatch import kernel
        points = np.random.default_rng(0).normal(size=(500, 9))
        project = kernel("project_answers")
        expected = project(points, np.eye(9))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: project(points, np.eye(9)), range(100)))
        print(all(np.array_equal(each, expected) for each in found))
        """
    )
    assert lines == ["True"]
