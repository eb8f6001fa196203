"""Numba is imported only if there is machine code to load, or something to compile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import polytomy as pt
from polytomy.routines import dispatch
from polytomy.routines.dispatch import has_machine_code
from polytomy.routines.warming import examples

FIT_IRIS = """
    import sys
    import numpy as np
    import polytomy as pt
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC
    X, y = load_iris(return_X_y=True)
    classifier = pt.PolytomyClassifier(SVC(), "one-vs-one", random_state=0).fit(X, y)
    np.save(sys.argv[1], classifier.predict_proba(X))
    print("numba" in sys.modules)
"""


FILE = f"shapes._draw_circles-12.py{sys.version_info.major}{sys.version_info.minor}.nbi"
"""Machine code of the routine `draw` or `draw_circles`."""


@pytest.fixture(autouse=True)
def look_again():
    """Forget what was found earlier, and again what the test finds."""
    has_machine_code.cache_clear()
    yield
    has_machine_code.cache_clear()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Return a folder with the sources of the compiled routines."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(dispatch, "_COMPILED", tmp_path / "compiled")
    (tmp_path / "compiled" / "__pycache__").mkdir(parents=True)
    return tmp_path / "compiled"


def test_machine_code_is_found_next_to_the_sources(sources):
    (sources / "__pycache__" / FILE).touch()
    assert has_machine_code("draw", "shapes")
    assert has_machine_code("draw_circles", "shapes")


@pytest.mark.parametrize(
    "name",
    [
        FILE.replace(".nbi", ".1.nbc"),
        FILE.replace("shapes", "solids"),
        FILE.replace("draw", "redraw"),
        re.sub(r"py\d+", "py27", FILE),
        "shapes.cpython-311.pyc",
    ],
)
def test_other_files_are_not_machine_code_of_the_routine(sources, name):
    (sources / "__pycache__" / name).touch()
    assert not has_machine_code("draw", "shapes")


@pytest.mark.parametrize("name", ["compiled/shapes.py", "reference/shapes.py", "compiling.py"])
def test_machine_code_that_is_older_than_a_source_does_not_count(sources, name):
    (sources / "__pycache__" / FILE).touch()
    source = sources.parent / name
    source.parent.mkdir(exist_ok=True)
    source.touch()
    os.utime(source, (2**32, 2**32))
    assert not has_machine_code("draw", "shapes")


def test_a_chosen_folder_is_the_only_one(sources, tmp_path, monkeypatch):
    (sources / "__pycache__" / FILE).touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert not has_machine_code("draw", "shapes")


def test_machine_code_is_found_in_a_chosen_folder(sources, tmp_path, monkeypatch):
    (tmp_path / "chosen" / "compiled_8f3a").mkdir(parents=True)
    (tmp_path / "chosen" / "compiled_8f3a" / FILE).touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert has_machine_code("draw", "shapes")


def test_the_files_are_looked_for_once(sources):
    assert not has_machine_code("draw", "shapes")
    (sources / "__pycache__" / FILE).touch()
    assert not has_machine_code("draw", "shapes")


def test_sources_in_a_zip_file_have_no_machine_code(sources):
    shutil.rmtree(sources)
    assert not has_machine_code("draw", "shapes")


def test_the_machine_code_of_every_routine_is_found():
    """The functions that Python calls are named after their routines."""
    pt.warm_up()
    for subject, name, _ in examples():
        assert has_machine_code(name, subject), f"{subject}.{name}"


def test_a_first_small_fit_needs_no_numba(tmp_path):
    """Its probabilities are those of the compiled routines."""

    def fit(name, **variables):
        environment = {**os.environ, **variables}
        if dispatch.ENVIRONMENT_VARIABLE not in variables:
            environment.pop(dispatch.ENVIRONMENT_VARIABLE, None)
        answers = tmp_path / name
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(FIT_IRIS), str(answers)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), np.load(answers)

    has_numba, found = fit("found.npy", NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    assert has_numba == "False"
    has_numba, expected = fit("expected.npy", **{dispatch.ENVIRONMENT_VARIABLE: "compiled"})
    assert has_numba == "True"
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
