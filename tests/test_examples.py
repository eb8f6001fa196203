"""The examples run, on small generated data."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_example(name, *arguments):
    """Run an example without a screen, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:polytomy", EXAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_newsgroups_are_classified_down_their_hierarchy():
    pytest.importorskip("matplotlib")
    printed = run_example("newsgroups_hierarchy.py", "generated")
    assert "comp.sys {comp.sys.ibm.pc.hardware comp.sys.mac.hardware}" in printed
    scores = [line.split() for line in printed.splitlines() if "models" in line]
    assert [int(words[0]) for words in scores] == [1, 8, 42]
    # Far better than chance, which is one in twenty.
    assert all(float(words[words.index("accuracy") + 1]) > 0.5 for words in scores)
