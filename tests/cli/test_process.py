"""The command as it is installed: its names, its help, its colours."""

import os
import pty
import re
from importlib.metadata import version

import pytest

from polytomy.cli.app import app

COMMANDS = {info.callback.__name__: info.callback for info in app.registered_commands}
ESCAPE = "\x1b["


@pytest.mark.parametrize("line", ["polytomy --version", "python -m polytomy --version"])
def test_the_version_is_that_of_the_package(finish, line):
    assert finish(shell=line) == (0, f"polytomy {version('polytomy')}\n", "")


def test_a_module_is_run_like_the_command(finish, here):
    outcomes = [
        finish(shell=f"{name} flatten land.control") for name in ("polytomy", "python -m polytomy")
    ]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_in_the_help_works(finish, polytomy, here, name):
    examples = re.findall(r"Example: `(.*)`", COMMANDS[name].__doc__)
    assert examples
    shown = " ".join(polytomy(name, "--help").out.split())
    for example in examples:
        assert f"Example: {example}" in shown
        outcome = finish(shell=example)
        lines = outcome.err.splitlines()
        if "polytomy trials" in example:  # which tells of its progress
            lines = [line for line in lines if not re.match(r"\d+/\d+ ", line)]
        assert (outcome.code, lines) == (0, [])
        assert outcome.out


def typed_on_terminal(start, *arguments, **variables):
    """Return what a command prints on a terminal."""
    terminal, end = pty.openpty()
    with start(*arguments, stdout=end, variables=variables):
        os.close(end)
        printed = b""
        try:
            while piece := os.read(terminal, 4096):
                printed += piece
        except OSError:  # so Linux says that the other end is closed
            pass
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("matrix", [(), ("--matrix",)])
def test_colours_are_for_terminals(start, finish, here, matrix):
    plain = finish("show", "land.control", *matrix).out
    assert ESCAPE not in plain
    coloured = typed_on_terminal(start, "show", "land.control", *matrix, NO_COLOR="")
    assert ESCAPE in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert typed_on_terminal(start, "show", "land.control", *matrix, NO_COLOR="1") == plain


def test_a_matrix_has_red_minus_and_green_plus(start, here):
    lines = typed_on_terminal(start, "show", "land.control", "--matrix", NO_COLOR="").splitlines()
    assert lines[-1] == (
        "PineVsOak     \x1b[2m.\x1b[0m \x1b[2m.\x1b[0m \x1b[31m-\x1b[0m \x1b[32m+\x1b[0m"
    )


def test_control_text_has_no_colours_even_on_a_terminal(start, here):
    assert ESCAPE not in typed_on_terminal(start, "flatten", "land.control", NO_COLOR="")
