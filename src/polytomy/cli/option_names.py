"""Command-line options in place of the arguments in library messages.

A library message writes an argument as in Python, ``target=-1``. The user of a command knows it as
an option, ``--target -1``. See `polytomy.errors.Message`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import typer

from polytomy.errors import Argument

__all__ = ["OPTIONS", "find_command", "show_option"]

#: Parameters of the library and the options that set them; a command has at most one of these.
OPTIONS: dict[str, tuple[str, ...]] = {
    "accept_other_values": ("--accept-other-values",),
    "base": ("--name",),
    "budget": ("--budget",),
    "calibration": ("--calibration",),
    "candidates": ("--candidate",),
    "categories": ("--one-hot",),
    "class_order": ("--class-order",),
    "class_weight": ("--class-weight",),
    "classes": ("--classes",),
    "confidence_level": ("--set",),
    "cv": ("--folds",),
    "data": ("--data",),
    "datasets": ("--datasets",),
    "distance": ("--distance", "--measure"),
    "dtype": ("--dtype",),
    "estimator": ("--estimator",),
    "features": ("--features",),
    "final_calibration": ("--final-calibration",),
    "folder": ("--output",),
    "format": ("--format",),
    "header": ("--header",),
    "interval": ("--interval",),
    "k": ("--top",),
    "levels": ("--quantiles",),
    "matrix": ("--cost",),
    "method": ("--solver", "--solvers"),
    "n_bins": ("--bins",),
    "n_features": ("--features",),
    "n_jobs": ("--jobs",),
    "n_partitions": ("--partitions", "--rows"),
    "name": ("--name",),
    "paper": ("--paper",),
    "param_grid": ("--grid",),
    "prior": ("--prior",),
    "random_state": ("--seed",),
    "range_file": ("--range",),
    "reject_cost": ("--reject-cost",),
    "reject_label": ("--reject-label",),
    "repeats": ("--repeats",),
    "reservoir_size": ("--reservoir",),
    "rows": ("--partitions", "--rows"),
    "scheme": ("--scheme", "--candidate", "--schemes"),
    "schemes": ("--schemes",),
    "scoring": ("--score",),
    "seed": ("--seed",),
    "separator": ("--separator",),
    "sides": ("--sides",),
    "solver": ("--solver", "--solvers"),
    "solvers": ("--solvers",),
    "target": ("--target",),
    "test": ("--test",),
    "training_prior": ("--training-prior",),
    "trusted": ("--trust",),
    "zero_based": ("--zero-based",),
}


_OF_LATER_COMMANDS = ("trusted",)
"""Parameters of later commands that a message may mention."""


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


def show_option(argument: Argument, command: Any) -> str:
    """Return an argument as the user of a command writes it.

    Parameters that no option sets are parameters of an estimator, and are written as in Python.

    Examples
    --------
    >>> from polytomy.cli.app import app
    >>> train, predict = (find_command(app, [name]) for name in ("train", "predict"))
    >>> show_option(Argument("target", -1), train), show_option(Argument("header", False), train)
    ('--target -1', '--no-header')
    >>> show_option(Argument("solver", "price"), train)
    '--solver price'
    >>> show_option(Argument("solver", "price"), predict)  # has no such option
    'solver price'
    >>> show_option(Argument("zero_based", True), train)
    '--zero-based yes'
    >>> show_option(Argument("n_neighbors", 5), train)
    'n_neighbors=5'
    """
    if argument.name not in OPTIONS:
        return str(argument)
    for name in OPTIONS[argument.name]:
        for option in command.params:
            if name in option.opts:
                if getattr(option, "is_flag", False):
                    is_off = argument.value is False and option.secondary_opts
                    return str(option.secondary_opts[0]) if is_off else name
                return _with_value(name, argument)
    if argument.name in _OF_LATER_COMMANDS:
        return _with_value(OPTIONS[argument.name][0], argument)
    return _with_value(argument.name.replace("_", " "), argument)


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
