"""Compiled routines where they work, reference routines where they do not, and one warning."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from needs import needs_posix
from polytomy.errors import ArgumentError, RoutineWarning
from polytomy.routines import dispatch
from polytomy.routines.compiled import least_squares as compiled
from polytomy.routines.reference import least_squares as reference
from polytomy.routines.threads import RoutineFailure, run_aside

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
    from polytomy.routines.dispatch import routine
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            project = routine("project_answers", "least_squares")
            print(project(np.array([[0.5, 0.75, -3.0]]), np.eye(3)).tolist())
    for warning in caught:
        print(warning.category.__name__, warning.message)
"""


def test_a_routine_is_the_compiled_twin_by_default(monkeypatch):
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


def fail_to_compile(*arguments):
    def fail(stop):
        raise OSError("disk full")

    run_aside(fail, cost=1.0)


def test_a_failure_of_forced_routines_is_raised(monkeypatch):
    monkeypatch.setenv(dispatch.ENVIRONMENT_VARIABLE, "compiled")
    monkeypatch.setattr(compiled, "project_answers", fail_to_compile)
    with pytest.raises(OSError, match="disk full"):
        dispatch.routine("project_answers", "least_squares")(POINTS)


def test_a_failure_to_compile_is_reported_once_and_the_reference_answers(monkeypatch):
    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(dispatch, "_compiled_side", dispatch._CompiledSide())
    monkeypatch.setattr(compiled, "project_answers", fail_to_compile)
    with pytest.warns(RoutineWarning, match=r"cannot be used \(OSError: disk full\)"):
        answers = dispatch.routine("project_answers", "least_squares")(POINTS, np.eye(3))
    assert answers.tolist() == [[0.375, 0.625, 0.0]]
    assert not dispatch.prefers_compiled()
    dispatch.routine("project_answers", "least_squares")(POINTS, np.eye(3))


def test_a_routine_that_must_be_compiled_fails_instead(monkeypatch):
    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(dispatch, "_compiled_side", dispatch._CompiledSide())
    monkeypatch.setattr(compiled, "project_answers", fail_to_compile)
    with pytest.warns(RoutineWarning, match="OSError: disk full"), pytest.raises(RoutineFailure):
        dispatch.routine("project_answers", "least_squares", needs_compiled=True)(POINTS)
    with pytest.raises(RoutineFailure, match="the compiled routines cannot be used"):
        dispatch.routine("project_answers", "least_squares", needs_compiled=True)
    found = dispatch.routine("project_answers", "least_squares")(POINTS, np.eye(3))
    assert found.tolist() == [[0.375, 0.625, 0.0]]


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
    # Numba tries the folders for machine code with a temporary file: none can be written to.
    refuse = "tempfile.TemporaryFile = mock.Mock(side_effect=OSError)"
    before = f"import tempfile; from unittest import mock; {refuse}"
    lines = run(SOLVE_TWICE.format(before=before))
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
    import multiprocessing, os, warnings
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC
    import polytomy as pt
    from polytomy.errors import PolytomyWarning
    warnings.simplefilter("ignore")  # joblib's, about n_jobs in a child
    warnings.simplefilter("error", PolytomyWarning)
    X, y = (each[:900] for each in load_digits(return_X_y=True))

    def answer():
        parts = []
        for scheme in ("one-vs-one", "one-vs-rest"):
            classifier = pt.PolytomyClassifier(SVC(C=10), scheme=scheme, random_state=0, n_jobs=2)
            parts.append(classifier.fit(X[::6], y[::6]).predict_proba(X))
            decisions = classifier.decisions(X)
            parts.append(pt.solve(classifier.scheme_, decisions, method="divergence"))
        return b"".join(part.tobytes() for part in parts)

    expected = answer()
    child = os.fork()
    if child == 0:
        print(answer() == expected, flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(*[pool.apply(answer) == expected for _ in range(2)])
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_forked_process_and_a_pool_answer_as_their_parent_does():
    assert run(FORK, POLYTOMY_ROUTINES="compiled") == ["True", "0", "True True"]


@needs_fork
def test_a_forked_process_does_not_mind_the_threads_of_numba():
    # GNU OpenMP, which Numba uses by default, does not work in the child.
    lines = run(
        """
        import os
        import numba
        import numpy as np
        from polytomy.routines.dispatch import prefers_compiled, routine

        @numba.njit(parallel=True)
        def fill(values):
            for k in numba.prange(len(values)):
                values[k] = k

        fill(np.empty(100))
        project = routine("project_answers", "least_squares")
        child = os.fork()
        if child == 0:
            print(project(np.array([[0.5, 0.75, -3.0]]), np.eye(3)).tolist(), prefers_compiled())
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        PYTHONUNBUFFERED="1",
        PYTHONWARNINGS="ignore",
        OMP_NUM_THREADS="2",
    )
    assert lines == ["[[0.375, 0.625, 0.0]] True", "0"]


def test_the_exception_of_a_signal_handler_is_not_a_failure_of_numba(monkeypatch):
    class Late(Exception):
        pass

    def wait(*arguments):
        raise Late  # as a handler of SIGALRM does while the caller waits

    monkeypatch.delenv(dispatch.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(compiled, "project_answers", wait)
    with pytest.raises(Late):
        dispatch.routine("project_answers", "least_squares")(POINTS)
    assert dispatch.prefers_compiled()


INTERRUPT = """
    import os, signal, sys, threading
    import numpy as np
    from polytomy.routines.dispatch import prefers_compiled, routine

    heard = threading.Event()

    def hear(*signal_and_frame):
        heard.set()
        raise KeyboardInterrupt

    def interrupt():
        # The thread that calls this goes on when the main thread has heard of it.
        if not heard.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            heard.wait()

    signal.signal(signal.SIGINT, hear)
    {before}
    project = routine("project_answers", "least_squares")
    points = np.array([[0.5, 0.75, -3.0]])
    try:
        project(points, np.eye(3))
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted")
    print(project(points, np.eye(3)).tolist(), prefers_compiled())
"""

WHILE_NUMBA_IS_IMPORTED = """
    class Finder:
        @staticmethod
        def find_spec(name, *others):
            if name == "numba":
                interrupt()

    sys.meta_path.insert(0, Finder)
"""

WHILE_A_ROUTINE_IS_COMPILED = """
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event):
            interrupt()

        def on_end(self, event):
            pass

    event.register("numba:compile", Listener())
"""


@needs_posix
@pytest.mark.parametrize("before", [WHILE_NUMBA_IS_IMPORTED, WHILE_A_ROUTINE_IS_COMPILED])
def test_an_interrupt_is_heard_while_a_routine_is_made_ready(before, tmp_path):
    lines = run(
        INTERRUPT.format(before=before.strip()),
        NUMBA_CACHE_DIR=str(tmp_path),
        POLYTOMY_ROUTINES="compiled",
    )
    assert lines == ["interrupted", "[[0.375, 0.625, 0.0]] True"]


def test_threads_may_solve_at_the_same_time():
    lines = run(
        """
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        from polytomy.routines.dispatch import routine
        points = np.random.default_rng(0).normal(size=(500, 9))
        project = routine("project_answers", "least_squares")
        expected = project(points, np.eye(9))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: project(points, np.eye(9)), range(100)))
        print(all(np.array_equal(each, expected) for each in found))
        """,
        POLYTOMY_ROUTINES="compiled",
    )
    assert lines == ["True"]
