"""Errors and warnings of polytomy.

::

    PolytomyError
    ├── ControlError       an invalid control text: every problem, with its position
    ├── CodeError          an invalid coding matrix
    ├── SchemeError        an invalid scheme, or an operation that it does not support
    ├── ArgumentError      an argument of the wrong type or value
    ├── DataError          data that cannot be used, with its position in the file
    ├── ModelFileError     a model file that is damaged, unsupported or not trusted
    └── ClusterError       a Dask cluster that is lost, or cannot do the work

    PolytomyWarning
    ├── ControlWarning     a valid control text that leaves something undetermined
    ├── CalibrationWarning a binary problem that is too small to calibrate
    ├── ClassOrderWarning  a design or metric uses the order of classes that have none
    └── RoutineWarning     compiled routines are unavailable; slower ones are used instead

Every error is also the built-in error that a caller would expect (usually `ValueError`), so code
that does not know polytomy can catch it.

A message that mentions an argument is made of parts, text and `Argument`::

    raise ArgumentError(Argument("cv", 1), " is too few. Use ", Argument("cv", 2), " or more.")

In Python it reads ``cv=1 is too few. Use cv=2 or more.``. The command line passes its own way of
showing arguments to `Message.worded`, and the same message reads ``--folds 1 is too few. Use
--folds 2 or more.``
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parent) + os.sep


class _NoValue:
    """Stands for the value of an argument that is mentioned by name only."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that a message mentions, with or without a value.

    Parameters
    ----------
    name : name of the parameter
    value : its value; leave it out to mention the parameter by name only

    Examples
    --------
    >>> print(Argument("solver", "price"), Argument("cv", 5), Argument("target"))
    solver="price" cv=5 target
    """

    name: str
    value: Any = _NoValue

    @property
    def has_value(self) -> bool:
        """Whether the argument has a value."""
        return self.value is not _NoValue

    def __str__(self) -> str:
        if not self.has_value:
            return self.name
        shown = repr(self.value)
        if isinstance(self.value, str) and '"' not in shown:
            shown = f'"{shown[1:-1]}"'
        return f"{self.name}={shown}"


class PythonOnly(str):
    """Part of a message that applies to Python only; the command line leaves it out."""

    __slots__ = ()


class Message:
    """Message of an error or warning, made of text, `Argument` and `PythonOnly` parts."""

    args: tuple[Any, ...]

    @property
    def parameter(self) -> str | None:
        """Name of the first argument that the message mentions; None if it mentions none."""
        return next((part.name for part in self.args if isinstance(part, Argument)), None)

    def worded(self, show: Callable[[Argument], str]) -> str:
        """Return the message with its arguments shown by `show`, without `PythonOnly` parts.

        Examples
        --------
        >>> error = ArgumentError(Argument("cv", 1), " is too few", PythonOnly(" for cross_val"))
        >>> error.worded(lambda argument: f"--{argument.name} {argument.value}")
        '--cv 1 is too few'
        """
        return "".join(
            show(part) if isinstance(part, Argument) else str(part)
            for part in self.args
            if not isinstance(part, PythonOnly)
        )

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class PolytomyError(Message, Exception):
    """Base class of all errors of polytomy."""


class PolytomyWarning(Message, UserWarning):
    """Base class of all warnings of polytomy."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem at one position of a control text.

    Attributes
    ----------
    file : name of the file
    line, column : position, both counted from one
    message : what is wrong and how to fix it
    excerpt : the source line, or the part of a very long line around the position
    caret : index of the position in `excerpt`
    """

    file: str
    line: int
    column: int
    message: str
    excerpt: str = ""
    caret: int = 0

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}:{self.column}: {self.message}"
        if not self.excerpt.strip():
            return head
        # Tabs stay tabs, so that the caret is below its character.
        margin = "".join("\t" if c == "\t" else " " for c in self.excerpt[: self.caret])
        return f"{head}\n  {self.excerpt}\n  {margin}^"


class ControlError(PolytomyError, ValueError):
    """An invalid control text.

    Attributes
    ----------
    problems : tuple of Problem, in the order of the text
    file, line, column, message : the attributes of the first problem
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    @property
    def file(self) -> str:
        """File of the first problem."""
        return self.problems[0].file

    @property
    def line(self) -> int:
        """Line of the first problem, counted from one."""
        return self.problems[0].line

    @property
    def column(self) -> int:
        """Column of the first problem, counted from one."""
        return self.problems[0].column

    @property
    def message(self) -> str:
        """Message of the first problem."""
        return self.problems[0].message

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def worded(self, show: Callable[[Argument], str]) -> str:
        """Return the message, which never mentions arguments."""
        return str(self)


class ControlWarning(PolytomyWarning):
    """A valid control text that leaves something undetermined."""


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """One reason why a coding matrix is invalid, with the rows and columns concerned."""

    message: str
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.message


class CodeError(PolytomyError, ValueError):
    """An invalid coding matrix.

    Attributes
    ----------
    problems : tuple of CodeProblem
    """

    def __init__(self, problems: tuple[CodeProblem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    _MOST_SHOWN = 10

    def __str__(self) -> str:
        shown = "; ".join(str(problem) for problem in self.problems[: self._MOST_SHOWN])
        left = len(self.problems) - self._MOST_SHOWN
        return f"{shown}; and {left} more" if left > 0 else shown

    def worded(self, show: Callable[[Argument], str]) -> str:
        """Return the message, which never mentions arguments."""
        return str(self)


class SchemeError(PolytomyError, ValueError):
    """An invalid scheme, or an operation that a scheme does not support."""


class ArgumentError(PolytomyError, ValueError):
    """An argument of the wrong type or value."""


class DataError(PolytomyError, ValueError):
    """Data that cannot be used."""


class ModelFileError(PolytomyError, ValueError):
    """A model file that is damaged, unsupported or not trusted."""


class ClusterError(PolytomyError, RuntimeError):
    """A Dask cluster that is lost, or cannot do the work."""


class CalibrationWarning(PolytomyWarning):
    """A binary problem that is too small to calibrate."""


class ClassOrderWarning(PolytomyWarning):
    """A design or metric uses the order of classes that have only an alphabetical one."""


class RoutineWarning(PolytomyWarning):
    """Compiled routines are unavailable; the slower reference routines are used instead."""


def warn_caller(message: str | Warning, category: type[Warning]) -> None:
    """Warn at the line that called this package, skipping frames of scikit-learn in between."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(filename: str) -> bool:
    # Decorators of scikit-learn and contextlib lie between the user's line and this package.
    is_between = "sklearn" in Path(filename).parts or filename.endswith("contextlib.py")
    return is_between or filename.startswith(_PACKAGE)
