"""What a release rests on: one version, lower bounds that are tested, and commands that exist."""

import importlib.util
import os
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

import polytomy

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = SETTINGS["project"]["version"]


def read_yaml(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_version_is_that_of_pyproject():
    assert polytomy.__version__ == VERSION, "install polytomy again: pip install -e ."


def test_the_site_has_the_version_of_the_package():
    assert runpy.run_path(str(ROOT / "docs" / "conf.py"))["release"] == polytomy.__version__


def test_the_citation_is_of_this_version():
    citation = read_yaml("CITATION.cff")
    assert citation["version"] == VERSION
    assert citation["license"] == SETTINGS["project"]["license"]
    assert citation["authors"] == SETTINGS["project"]["authors"]


@pytest.fixture(scope="module")
def oldest_versions():
    path = ROOT / "tools" / "oldest_versions.py"
    spec = importlib.util.spec_from_file_location("oldest_versions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_has_a_lower_bound(oldest_versions):
    bounds = oldest_versions.find_lower_bounds(SETTINGS)
    only_tests = {"hiclass", "hypothesis", "pyyaml", "towncrier"}
    only_tests |= {"pytest", "pytest-cov", "pytest-xdist"}
    assert {name for name, version in bounds.items() if version is None} == only_tests
    assert bounds["scikit-learn"] in "".join(SETTINGS["project"]["dependencies"])


def test_constraints_are_the_lower_bounds_and_for_the_rest_the_newest(oldest_versions):
    found = oldest_versions.list_constraints(
        {"numpy": "1.26", "numba": "0.60", "pytest": None},
        ["llvmlite==0.50.0", "numba==0.68.1", "NumPy==2.4.6", "pytest==9.2.0", "rich==15.0.0"],
    )
    assert found == ["numba==0.60", "numpy==1.26", "pytest==9.2.0", "rich==15.0.0"]


def test_requirements_that_are_not_lower_bounds_are_refused(oldest_versions):
    settings = {
        "project": {
            "name": "polytomy",
            "dependencies": ["numpy~=1.26"],
            "optional-dependencies": {},
        },
        "dependency-groups": {"test": []},
    }
    with pytest.raises(SystemExit, match=r"'numpy~=1.26' should be NAME or NAME>=VERSION"):
        oldest_versions.find_lower_bounds(settings)


def test_constraints_cover_every_tool_and_dependency():
    names = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").open()}
    groups = SETTINGS["dependency-groups"].values()
    required = [
        *SETTINGS["project"]["dependencies"],
        *(
            each
            for extra in SETTINGS["project"]["optional-dependencies"].values()
            for each in extra
        ),
        *(each for group in groups for each in group if isinstance(each, str)),
    ]
    needed = {re.match(r"[\w.-]+", each)[0].lower() for each in required} - {"polytomy"}
    assert needed <= names


WORKFLOWS = sorted(path.relative_to(ROOT) for path in (ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))


@pytest.mark.parametrize("name", WORKFLOWS, ids=str)
def test_a_workflow_runs_commands_that_exist(name):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    jobs = read_yaml(name)["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        program, *arguments = command.split()
        if program == "make":
            assert {each for each in arguments if "=" not in each} <= {*targets}
        elif program == "python":
            assert arguments[0] == "-m"
            assert importlib.util.find_spec(arguments[1]) or arguments[1] == "pip"
        else:
            assert os.access(ROOT / program, os.X_OK), f"{program} cannot be run"


def test_the_workflow_tests_every_python_that_is_promised():
    classifiers = SETTINGS["project"]["classifiers"]
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(classifiers))
    assert promised
    jobs = read_yaml(".github/workflows/test.yml")["jobs"]
    linux, others = (jobs[name]["strategy"]["matrix"]["python"] for name in ("test", "systems"))
    # The workflow may be ahead of what is promised.
    assert linux[: len(promised)] == promised
    assert others == [linux[0], linux[-1]]
    assert SETTINGS["project"]["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_an_issue_form_has_what_github_requires(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    for field in form["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert field["attributes"].get("label") or field["attributes"].get("value")
