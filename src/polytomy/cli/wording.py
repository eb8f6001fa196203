"""What the library says, in the words of the command line.

Messages of the library name arguments as Python writes them, ``target=-1``. Whoever types a command
knows them as options, ``--target -1``. This is the one place that translates.
"""

from __future__ import annotations

import re
import shlex

__all__ = ["in_options"]

#: Arguments of the library, and the options that set them.
_OPTIONS = {
    "calibration": "--calibration",
    "categories": "--one-hot",
    "class_weight": "--class-weight",
    "cv": "--folds",
    "distance": "--distance",
    "dtype": "--dtype",
    "estimator": "--estimator",
    "features": "--features",
    "format": "--format",
    "header": "--header",
    "method": "--solver",
    "n_features": "--features",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "range_file": "--range",
    "n_partitions": "--partitions",
    "scheme": "scheme",  # called --candidate by the search
    "scoring": "--score",
    "seed": "--seed",
    "solver": "--solver",
    "target": "--target",
    "test": "--test",
    "trusted": "--trust",
}
_VALUE = r""""[^"]*"|'[^']*'|\[[^\]]*\]|[-\w./+]*\w"""
# What stands in quotes was written by the user and stays as it is.
_ARGUMENT = re.compile(rf"""(?<![\w.-])({"|".join(_OPTIONS)})=({_VALUE})?|"[^"]*"|'[^']*'""")
# Sentences about what only Python can do: labels are left out by leaving out the option, and no
# object can be given.
_FOR_PYTHON = re.compile(r"(?<=[.;?]) [^.;?]*\b(?:target=None|models=\{)[^.;?]*\.?")


def in_options(message: str) -> str:
    """Return a message with the options of the command line in place of arguments of Python.

    Examples
    --------
    >>> in_options('a.csv: "red" is not a number. Use categories="one-hot", or target=.')
    'a.csv: "red" is not a number. Use --one-hot, or --target.'
    >>> in_options("say header=False, or target=-1")
    'say --no-header, or --target -1'
    """
    return _ARGUMENT.sub(_option, _FOR_PYTHON.sub("", message))


def _option(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name is None:
        return found[0]
    option = _OPTIONS[name]
    if name == "header":
        return "--no-header" if value == "False" else option
    if name == "categories" or not value:
        return option
    values = re.findall(r"""[^\s,"'\[\]]+""", value) if value[0] == "[" else [value.strip("\"'")]
    return " ".join(f"{option} {shlex.quote(each)}" for each in values)
