"""The command line, called in this process or started as a user starts it."""

import os
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris

from command_line import Outcome, call_main, search_path

LAND = "FieldVsForest {\n  CornVsWheat {corn wheat}\n  PineVsOak {pine oak}\n}\n"


@pytest.fixture
def polytomy():
    """Return a function that runs a command in this process."""

    def run(*arguments, typed=b""):
        return call_main(list(map(str, arguments)), typed)

    return run


@pytest.fixture
def start():
    """Return a function that starts a process: `polytomy` with arguments, or a line of shell."""

    def run(*arguments, shell=None, variables=None, **options):
        command = ["polytomy", *map(str, arguments)] if shell is None else ["sh", "-c", shell]
        environment = {**os.environ, "PATH": search_path(), **(variables or {})}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
        return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, **options)

    return run


@pytest.fixture
def finish(start):
    """Return a function that runs a process to its end."""

    def run(*arguments, **options):
        with start(*arguments, **options) as process:
            out, err = process.communicate(timeout=120)
        return Outcome(process.returncode, out.decode(), err.decode())

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a directory of its own with two control files and some data, and work in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "land.control").write_text(LAND)
    (tmp_path / "bad.control").write_text("m {a b c}\n")
    iris = load_iris()
    names = np.array(["setosa", "versicolor", "virginica"])[iris.target]
    lines = [",".join(map(str, [*row, name])) for row, name in zip(iris.data, names, strict=True)]
    header = "sepal_length,sepal_width,petal_length,petal_width,species"
    (tmp_path / "iris.csv").write_text("\n".join([header, *lines, ""]))
    return tmp_path
