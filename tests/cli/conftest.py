"""The command line, called in this process or started in another."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import typer.main
from sklearn.datasets import load_iris

from command_line import Outcome, call_main, make_commands, search_path
from polytomy.datasets import read_data

LIBSVM_FILES = Path(__file__).parent.parent / "persistence" / "libsvm"
LAND = "FieldVsForest {\n  CornVsWheat {corn wheat}\n  PineVsOak {pine oak}\n}\n"


@pytest.fixture(scope="session", autouse=True)
def _commands():
    """Make the commands once, for `find_command` too."""
    with mock.patch.object(typer.main, "get_command", make_commands):
        yield


@pytest.fixture
def polytomy():
    """Return a function that runs a command in this process."""

    def run(*arguments, typed=b""):
        return call_main(list(map(str, arguments)), typed)

    return run


@pytest.fixture
def start():
    """Return a function that starts `polytomy` with arguments, or a shell command."""

    def run(*arguments, shell=None, variables=None, **options):
        command = ["polytomy", *map(str, arguments)] if shell is None else ["sh", "-c", shell]
        environment = {**os.environ, "PATH": search_path(), **(variables or {})}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
        return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, **options)

    return run


@pytest.fixture
def finish(start):
    """Return a function that runs a process and returns its outcome."""

    def run(*arguments, **options):
        with start(*arguments, **options) as process:
            out, err = process.communicate(timeout=120)
        return Outcome(process.returncode, out.decode(), err.decode())

    return run


@pytest.fixture
def here(iris_csv, tmp_path, monkeypatch):
    """Change to a new directory with two control files and a data file; return its path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "land.control").write_text(LAND)
    (tmp_path / "bad.control").write_text("m {a}\n")
    (tmp_path / "iris.csv").write_text(iris_csv)
    return tmp_path


@pytest.fixture(scope="session")
def iris_csv():
    """Return the text of a data file."""
    iris = load_iris()
    names = np.array(["setosa", "versicolor", "virginica"])[iris.target]
    lines = [",".join(map(str, [*row, name])) for row, name in zip(iris.data, names, strict=True)]
    header = "sepal_length,sepal_width,petal_length,petal_width,species"
    return "\n".join([header, *lines, ""])


@pytest.fixture
def model(trained, here):
    """Return the name of a file in the new directory: a model trained on iris.csv."""
    shutil.copy(trained, here / "iris.polytomy")
    return "iris.polytomy"


@pytest.fixture(scope="session")
def trained(iris_csv, tmp_path_factory):
    """Train a model on iris.csv; return the path of its file."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "iris.csv").write_text(iris_csv)
    with contextlib.chdir(folder):
        line = ["train", "iris.csv", "--estimator", "svc C=10", "-o", "iris.polytomy"]
        assert call_main(line).code == 0
    return folder / "iris.polytomy"


@pytest.fixture
def flowers(here):
    """Return the lines of flowers.svm, in a directory with models of LIBSVM and wider data."""
    for file in filter(Path.is_file, LIBSVM_FILES.iterdir()):
        shutil.copy(file, here)
    lines = Path("flowers.svm").read_text().splitlines()
    # Features that some support vectors do not have.
    wide = [f"{line} {6 + i % 3}:{0.5 * (i % 4)}" for i, line in enumerate(lines)]
    Path("wide.svm").write_text("\n".join(wide) + "\n")
    X = read_data("flowers.svm").X.toarray()
    rows = [
        f"{line.split()[0]} 0:{i} " + " ".join(f"{k}:{value!r}" for k, value in enumerate(row, 1))
        for i, (line, row) in enumerate(zip(lines, (X @ X.T).tolist(), strict=True), 1)
    ]
    Path("kernel.svm").write_text("\n".join(rows) + "\n")
    return lines
