"""A run says what it did not test."""

import os
import subprocess
import sys
from pathlib import Path

from needs import describe_untested


def test_each_reason_has_one_line_with_the_way_out():
    reason = "Skipped: needs Chromium"
    skipped = [("tests/a.py::test_one", reason), ("tests/b.py::test_two[3]", reason)]
    skipped += [("tests/c.py", "Skipped: could not import 'hiclass': No module named 'hiclass'")]
    skipped += [("tests/a.py::test_three", "Skipped: there is no /dev/full")]
    assert describe_untested(skipped) == [
        "2 tests: needs Chromium -> apt-get install chromium",
        "all of tests/c.py: needs the package hiclass -> pip install hiclass",
        "1 test: there is no /dev/full",
    ]


def test_a_run_ends_with_what_was_not_tested(tmp_path):
    """With two processes, as in `make test`."""
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "from needs import _needs\n"
        "@_needs('the programs of LIBSVM', False)\n"
        "def test_a(): pass\n"
        "@pytest.mark.parametrize('k', range(3))\n"
        "def test_b(k): assert k or pytest.skip('needs POLYTOMY_DATA')\n"
    )
    (tmp_path / "test_other.py").write_text("import pytest\npytest.importorskip('no_such_package')")
    plugins = ["-p", "xdist", "-p", "untested"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # others only take time
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-n", "2", "."],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.stdout.decode().splitlines()[-4:] == [
        "Not tested:",
        "  1 test: needs POLYTOMY_DATA -> set it to the folder of the benchmark datasets"
        " (polytomy datasets get)",
        "  all of test_other.py: needs the package no_such_package -> pip install no_such_package",
        "  1 test: needs the programs of LIBSVM -> apt-get install libsvm-tools",
    ]
