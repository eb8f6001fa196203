"""The package as others see it: what it exports, how quietly it is imported, what it carries."""

import json
import subprocess
import sys
from importlib.metadata import metadata, version
from importlib.resources import files

import pytest

import polytomy

HEAVY = ["numba", "sklearn", "matplotlib", "pandas", "polars", "dask", "skops", "onnx", "pyarrow"]
# SciPy imports its parts on first use, unless a module imports one by name.
PARTS_OF_SCIPY = [f"scipy.{part}" for part in ("linalg", "sparse", "spatial", "special", "stats")]


def in_new_process(code):
    # Older versions of Typer import what newer ones of click deprecate.
    command = [sys.executable, "-W", "error", "-W", "ignore:'click.utils", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("module", ["polytomy", "polytomy.cli"])
def test_importing_is_light_and_quiet(module):
    heavy = HEAVY + PARTS_OF_SCIPY
    code = (
        f"import json, sys, {module}; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    )
    assert json.loads(in_new_process(code)) == []


def test_reading_and_designing_schemes_needs_nothing_heavy():
    code = f"""
import json, sys
import polytomy as pt
pt.parse(pt.designs.orthogonal(5).compact()).flatten().code.is_determined
print(json.dumps([module for module in {HEAVY} if module in sys.modules]))
"""
    assert json.loads(in_new_process(code)) == []


def test_all_public_names_are_there():
    assert len(set(polytomy.__all__)) == len(polytomy.__all__)
    assert sorted(polytomy.__all__) == polytomy.__all__
    for name in polytomy.__all__:
        assert getattr(polytomy, name) is not None
        assert name in dir(polytomy)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = polytomy.nothing


def test_all_errors_are_under_one_root():
    names = [name for name in polytomy.__all__ if name.endswith("Error")]
    assert len(names) >= 7
    for name in names:
        error = getattr(polytomy, name)
        assert issubclass(error, polytomy.PolytomyError)
        assert name == "PolytomyError" or issubclass(error, ValueError | RuntimeError)


def test_the_version_is_that_of_the_metadata():
    assert polytomy.__version__ == version("polytomy")


def test_the_metadata_names_licence_and_python():
    found = metadata("polytomy")
    assert found["License-Expression"] == "BSD-3-Clause"
    assert found["Requires-Python"] == ">=3.11"


def test_the_package_carries_its_types():
    assert (files("polytomy") / "py.typed").is_file()
