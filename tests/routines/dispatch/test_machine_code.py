"""Numba is imported only if there is machine code to load, or something to compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from polytomy.routines import dispatch
from polytomy.routines import dispatch as machine_code
from polytomy.routines.dispatch import may_have_machine_code

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


@pytest.fixture(autouse=True)
def look_again(tmp_path, monkeypatch):
    """Forget what was found earlier, and again what the test finds; Numba is not imported."""
    for name in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine_code, "sys", SimpleNamespace(modules={}))
    monkeypatch.chdir(tmp_path)
    machine_code.may_have_machine_code.cache_clear()
    yield
    machine_code.may_have_machine_code.cache_clear()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Return a folder with the sources of the compiled routines."""
    monkeypatch.setattr(machine_code, "_SOURCES", tmp_path / "compiled")
    (tmp_path / "compiled" / "__pycache__").mkdir(parents=True)
    return tmp_path / "compiled"


def test_machine_code_is_found_next_to_the_sources(sources):
    (sources / "__pycache__" / "shapes.draw-12.py311.nbi").touch()
    assert may_have_machine_code("shapes")


def test_machine_code_of_another_subject_does_not_count(sources):
    (sources / "__pycache__" / "solids.draw-12.py311.nbi").touch()
    assert not may_have_machine_code("shapes")


def test_other_files_are_not_machine_code(sources):
    (sources / "__pycache__" / "shapes.cpython-311.pyc").touch()
    assert not may_have_machine_code("shapes")


def test_a_chosen_folder_is_the_only_one(sources, tmp_path, monkeypatch):
    (sources / "__pycache__" / "shapes.draw-12.py311.nbi").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert not may_have_machine_code("shapes")


def test_machine_code_is_found_in_a_chosen_folder(sources, tmp_path, monkeypatch):
    (tmp_path / "chosen" / "compiled_8f3a").mkdir(parents=True)
    (tmp_path / "chosen" / "compiled_8f3a" / "shapes.draw-12.py311.nbi").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert may_have_machine_code("shapes")


def test_the_files_are_looked_for_once(sources):
    assert not may_have_machine_code("shapes")
    (sources / "__pycache__" / "shapes.draw-12.py311.nbi").touch()
    assert not may_have_machine_code("shapes")


class TestNumbaDecides:
    """The files may be elsewhere, or Numba is imported already."""

    def test_sources_in_a_zip_file(self, sources):
        shutil.rmtree(sources)
        assert may_have_machine_code("shapes")

    @pytest.mark.parametrize("locked", ["__pycache__", "chosen"])
    def test_folders_that_cannot_be_written(self, sources, tmp_path, monkeypatch, locked):
        (tmp_path / "chosen").mkdir()
        if locked == "chosen":
            monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
        monkeypatch.setattr(machine_code.os, "access", lambda path, mode: path.name != locked)
        assert may_have_machine_code("shapes")

    def test_other_places(self, sources, monkeypatch):
        monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "InTreeCacheLocatorFsAgnostic")
        assert may_have_machine_code("shapes")

    def test_a_file_with_settings(self, sources, tmp_path):
        (tmp_path / ".numba_config.yaml").touch()
        assert may_have_machine_code("shapes")

    def test_numba_in_use(self, sources):
        machine_code.sys.modules["numba"] = None
        assert may_have_machine_code("shapes")


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
