"""Compiled routines never run machine code of older sources."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polytomy


def test_a_change_in_a_file_that_a_routine_calls_is_noticed(tmp_path):
    copy = tmp_path / "polytomy"
    shutil.copytree(
        Path(polytomy.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    program = (
        "import numpy as np; from polytomy.routines.compiled.least_squares import couple_pairs; "
        "print(couple_pairs(np.zeros((1, 1)), np.array([0]), np.array([1]), 2).tolist())"
    )
    # To compile without optimising takes less time.
    variables = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_OPT": "0"}
    variables.pop("NUMBA_CACHE_DIR", None)

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run() == "[[0.5, 0.5]]"
    called = copy / "routines" / "compiled" / "least_squares_lanes.py"
    source = called.read_text(encoding="utf-8")
    last_line = "x[a, lane] *= inverse[a, lane]\n"
    assert source.count(last_line) == 1
    called.write_text(source.replace(last_line, "x[a, lane] = 1.0 + 2 * a\n"), encoding="utf-8")
    assert run() == "[[0.25, 0.75]]"


def test_no_compiled_function_is_made_inside_another_function():
    """Numba's cache takes functions of one place in the source for the same function.

    If machine code of two processes that made them in another order is loaded, they are mixed up:
    training after the prediction of sparse samples was wrong once.
    """
    folder = Path(polytomy.__file__).parent / "routines" / "compiled"
    for path in sorted(folder.glob("*.py")):
        for outer in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(outer, ast.FunctionDef):
                inner = [each for each in ast.walk(outer) if isinstance(each, ast.FunctionDef)]
                assert inner == [outer], f"{path.name}: {outer.name} makes a function"
