"""Compiled routines see read-only arguments and never run machine code of older sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import polytomy
from polytomy.routines.compiling import read_only, with_read_only_arguments


def test_arrays_are_seen_as_read_only_and_not_copied():
    values = np.arange(3.0)
    view = read_only(values)
    assert not view.flags.writeable
    assert np.shares_memory(view, values)
    assert values.flags.writeable
    assert read_only(7) == 7


def test_a_kernel_gets_read_only_arguments_only():
    @with_read_only_arguments
    def writeable(*arguments):
        return [argument.flags.writeable for argument in arguments]

    frozen = np.zeros(2)
    frozen.flags.writeable = False
    assert writeable(np.zeros(2), frozen) == [False, False]


def test_a_change_in_a_file_that_a_kernel_calls_is_noticed(tmp_path):
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
    called = copy / "routines" / "compiled" / "least_squares_single.py"
    source = called.read_text(encoding="utf-8")
    assert source.count("p[j] /= total\n") == 1
    called.write_text(source.replace("p[j] /= total\n", "p[j] = 7.0\n"), encoding="utf-8")
    assert run() == "[[7.0, 7.0]]"
