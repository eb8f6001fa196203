"""How commands speak: their help, and options in place of the arguments in library messages.

A library message writes an argument as in Python, ``target=-1``. The user of a command knows it as
an option, ``--target -1``. See `polytomy.errors.Message`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import typer
from typer.core import TyperCommand

from polytomy.cli.options import fill_in_names, find_default
from polytomy.errors import Argument


class HelpfulCommand(TyperCommand):
    """A command whose help has the names and defaults of the library."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        shown = copy(self)
        shown.params = [describe_parameter(each) for each in self.params]
        TyperCommand.format_help(shown, ctx, formatter)


def describe_parameter(parameter: Any) -> Any:
    """Return a parameter of a command for its help, with the names and the default to show."""
    shown = copy(parameter)
    shown.help = fill_in_names(parameter.help or "")
    shown.default = find_default(parameter)
    shown.show_default = not isinstance(shown.default, bool) and "efault" not in shown.help
    return shown


# -- arguments in messages -------------------------------------------------------------------------

#: Parameters of the library, and other names of the fields whose options set them.
OTHER_NAMES = {
    "base": ["name"],
    "categories": ["one_hot"],
    "features": ["n_features"],
    "method": ["solver", "solvers"],
    "n_features": ["features"],
    "random_state": ["seed"],
    "rows": ["n_partitions"],
    "scheme": ["candidates", "schemes"],
    "solver": ["solvers"],
}
# Parameters of later commands that a message may mention.
_OF_LATER_COMMANDS = ("trusted",)


def find_command(app: typer.Typer, words: Sequence[str]) -> Any:
    """Return the command that a command line runs; the app itself if it names none.

    Parameters
    ----------
    app : the whole command line
    words : the command line, without the name of the program
    """
    command: Any = typer.main.get_command(app)  # from click, or from typer's own copy of it
    for word in words:
        found = getattr(command, "commands", {}).get(word)
        if found is None:
            break
        command = found
    return command


def show_option(argument: Argument, command: Any, app: typer.Typer) -> str:
    """Return an argument as the user of a command writes it.

    Parameters that no option sets are parameters of an estimator, and are written as in Python.

    Examples
    --------
    >>> from polytomy.cli.app import app
    >>> train, predict = (find_command(app, [name]) for name in ("train", "predict"))
    >>> show_option(Argument("target", -1), train, app)
    '--target -1'
    >>> show_option(Argument("header", False), train, app)
    '--no-header'
    >>> show_option(Argument("solver", "price"), predict, app)  # has no such option
    'solver price'
    >>> show_option(Argument("zero_based", True), train, app)
    '--zero-based yes'
    >>> show_option(Argument("n_neighbors", 5), train, app)
    'n_neighbors=5'
    """
    names = [argument.name, *OTHER_NAMES.get(argument.name, ())]
    own = {option.name: option for option in command.params if option.param_type_name == "option"}
    every = {option.name: option for option in _walk_options(find_command(app, []))}
    if not any(name in every for name in names):
        return str(argument)
    found = next((own[name] for name in names if name in own), None)
    if found is None and argument.name in _OF_LATER_COMMANDS:
        found = every[argument.name]
    if found is None:
        return _with_value(argument.name.replace("_", " "), argument)
    if getattr(found, "is_flag", False):
        is_off = argument.value is False and found.secondary_opts
        return str((found.secondary_opts if is_off else found.opts)[0])
    return _with_value(max(found.opts, key=len), argument)


def _walk_options(command: Any) -> Iterator[Any]:
    """Yield the options of a command and of the commands below it."""
    yield from (each for each in command.params if each.param_type_name == "option")
    for below in getattr(command, "commands", {}).values():
        yield from _walk_options(below)


def _with_value(name: str, argument: Argument) -> str:
    if not argument.has_value:
        return name
    values = argument.value if isinstance(argument.value, list | tuple) else [argument.value]
    texts = [_to_text(value) for value in values]
    return " ".join(f"{name} {shlex.quote(text)}" for text in texts)


def _to_text(value: Any) -> str:
    if value is None:
        return "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
