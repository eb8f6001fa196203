"""The help of every command: what to type, what it means, and nothing of Python's types."""

import re

import pytest
import typer

from polytomy.cli.app import app
from polytomy.cli.help_pages import describe_panels, describe_usage, find_command

ROOT = typer.main.get_command(app)
LINES = [[], *([name] for name in ROOT.commands), ["datasets", "list"], ["datasets", "get"]]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_help_fits_and_shows_no_types(polytomy, monkeypatch, line, columns):
    monkeypatch.setenv("COLUMNS", columns)
    outcome = polytomy(*line, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert not re.search(r"<[a-z]|\[\[|list\[|\{[A-Z]|`", outcome.out)
    assert max(map(len, outcome.out.splitlines())) <= int(columns)
    assert f"Usage: polytomy {' '.join(line)}".strip() in outcome.out


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_every_value_of_an_option_has_a_name(line):
    for each in find_command(app, line).params:
        if each.param_type_name == "option" and not each.is_flag and not each.hidden:
            assert each.metavar


def test_every_command_has_an_example():
    for line in LINES:
        command = find_command(app, line)
        if not hasattr(command, "commands"):
            assert "Example: `polytomy " in command.help


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        (["check"], "[OPTIONS] FILE..."),
        (["design"], "[OPTIONS] NAME [DATA]"),
        (["report"], "[OPTIONS] [FOLDER]"),
        (["train"], "[OPTIONS] DATA"),
    ],
)
def test_the_usage_marks_optional_and_repeated_arguments(line, usage):
    assert " ".join(describe_usage(find_command(app, line))) == usage


def test_long_helps_have_panels_by_topic():
    command = find_command(app, ["predict"])
    panels = {
        panel.title: [name for name, _ in panel.rows]
        for panel in describe_panels(command, typer.Context(command))
    }
    assert list(panels) == ["Arguments", "Options", "Regression", "Decisions", "Data", "Running"]
    assert "--set LEVEL" in panels["Decisions"]
    assert "-j, --jobs N" in panels["Running"]
    assert "--header / --no-header" in panels["Data"]


def test_defaults_are_shown_even_if_they_are_0_or_1():
    command = find_command(app, ["train"])
    meanings = {
        name: meaning
        for panel in describe_panels(command, typer.Context(command))
        for name, meaning in panel.rows
    }
    assert meanings["--seed N"].endswith("[default: 0]")
    assert meanings["--passes N"].endswith("[default: 1]")
    assert "default" not in meanings["--json"]


def test_datasets_list_runs_its_example(polytomy):
    outcome = polytomy("datasets", "list")
    assert outcome.code == 0
    assert "letter" in outcome.out
