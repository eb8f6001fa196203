"""The help of every command: what to type, and what it means."""

import re

import pytest
import typer

from polytomy.cli.app import app, find_command

ROOT = typer.main.get_command(app)
LINES = [[], *([name] for name in ROOT.commands), ["datasets", "list"], ["datasets", "get"]]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_help_is_complete_and_fits_a_terminal(polytomy, monkeypatch, line):
    monkeypatch.setenv("COLUMNS", "80")
    outcome = polytomy(*line, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert not re.search(r"\{[a-z_]+\}|`", outcome.out)
    assert max(map(len, outcome.out.splitlines())) <= 80
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


def test_the_help_lists_registered_names_and_defaults_of_the_library(polytomy, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = polytomy("train", "--help").out.splitlines()
    meanings = [line.strip("│ ") for line in lines]
    solver = next(line for line in meanings if line.startswith("--solver"))
    assert "least-squares, divergence" in solver
    (seed,) = [k for k, line in enumerate(meanings) if line.startswith("--seed")]
    assert "[default: 0]" in " ".join(meanings[seed : seed + 2])
    (json,) = [k for k, line in enumerate(meanings) if line.startswith("--json")]
    assert "default" not in meanings[json]


def test_datasets_list_runs_its_example(polytomy):
    outcome = polytomy("datasets", "list")
    assert outcome.code == 0
    assert "letter" in outcome.out
