"""Everything that polytomy raises or warns of.

::

    PolytomyError
    ├── ControlError       a control text that cannot be read, with every problem and its place
    ├── CodeError          a coding matrix that means nothing
    ├── SchemeError        a scheme asked for what it cannot be or do
    ├── ArgumentError      an argument of the wrong kind or value
    ├── DataError          data that cannot be used, with its place
    └── ModelFileError     a saved model that cannot be trusted or read

    PolytomyWarning
    ├── ControlWarning     a control text that is legal but leaves something open
    ├── CalibrationWarning a binary problem too small to calibrate
    └── RoutineWarning     compiled routines cannot be used; the slower ones are used instead

Every error is also the built-in error a caller would expect (`ValueError`, mostly), so code that
knows nothing of polytomy can catch it.

A message that mentions an argument is made of parts, text and `Argument`s::

    raise ArgumentError(Argument("cv", 1), " is too few. Use ", Argument("cv", 2), " or more.")

In Python it reads ``cv=1 is too few. Use cv=2 or more.``; the command line shows its own options in
place of the arguments (`--folds 1`), because `Message.worded` lets it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Argument",
    "ArgumentError",
    "CalibrationWarning",
    "CodeError",
    "CodeProblem",
    "ControlError",
    "ControlWarning",
    "DataError",
    "Message",
    "ModelFileError",
    "PolytomyError",
    "PolytomyWarning",
    "Problem",
    "PythonOnly",
    "RoutineWarning",
    "SchemeError",
    "warn_caller",
]

_PACKAGE = str(Path(__file__).parent) + os.sep


class _NoValue:
    """Stands for the value of an argument that is mentioned without one."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that a message mentions: its name, and a value where there is one.

    Examples
    --------
    >>> print(Argument("solver", "price"), Argument("cv", 5), Argument("target"))
    solver="price" cv=5 target
    """

    name: str
    value: Any = _NoValue

    @property
    def has_value(self) -> bool:
        """Whether the message gives a value."""
        return self.value is not _NoValue

    def __str__(self) -> str:
        if not self.has_value:
            return self.name
        shown = repr(self.value)
        if isinstance(self.value, str) and '"' not in shown:
            shown = f'"{shown[1:-1]}"'
        return f"{self.name}={shown}"


class PythonOnly(str):
    """A part of a message that is of no use on the command line, which leaves it out."""

    __slots__ = ()


class Message:
    """What an error or warning says, made of text and of the arguments it is about."""

    args: tuple[Any, ...]

    @property
    def parameter(self) -> str | None:
        """Name of the argument that the message is about: the first it mentions, or None."""
        return next((part.name for part in self.args if isinstance(part, Argument)), None)

    def worded(self, show: Callable[[Argument], str]) -> str:
        """Return the message with arguments shown in another way, and nothing for Python only."""
        return "".join(
            show(part) if isinstance(part, Argument) else str(part)
            for part in self.args
            if not isinstance(part, PythonOnly)
        )

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class PolytomyError(Message, Exception):
    """Root of all errors of polytomy."""


class PolytomyWarning(Message, UserWarning):
    """Root of all warnings of polytomy."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong at one place of a control text.

    `line` and `column` count from one; `excerpt` is the source line, or the part of a very long one
    around the place, and `caret` the position in it; `message` says what is wrong and the way out.
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
        # A tab is kept as a tab under the source line, so that the caret stays below its character.
        margin = "".join("\t" if c == "\t" else " " for c in self.excerpt[: self.caret])
        return f"{head}\n  {self.excerpt}\n  {margin}^"


class ControlError(PolytomyError, ValueError):
    """A control text that cannot be read.

    Attributes
    ----------
    problems : tuple of Problem, in the order of the text
    file, line, column, message : those of the first problem
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
        """Line of the first problem, from one."""
        return self.problems[0].line

    @property
    def column(self) -> int:
        """Column of the first problem, from one."""
        return self.problems[0].column

    @property
    def message(self) -> str:
        """What the first problem is."""
        return self.problems[0].message

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def worded(self, show: Callable[[Argument], str]) -> str:
        """Return the message, which mentions no arguments."""
        return str(self)


class ControlWarning(PolytomyWarning):
    """A control text that is legal but leaves something open."""


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """One reason why a coding matrix means nothing, with the rows and columns it concerns."""

    message: str
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.message


class CodeError(PolytomyError, ValueError):
    """A coding matrix that means nothing.

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
        """Return the message, which mentions no arguments."""
        return str(self)


class SchemeError(PolytomyError, ValueError):
    """A scheme asked for what it cannot be or do."""


class ArgumentError(PolytomyError, ValueError):
    """An argument of the wrong kind or value."""


class DataError(PolytomyError, ValueError):
    """Data that cannot be used."""


class ModelFileError(PolytomyError, ValueError):
    """A saved model that cannot be trusted or read."""


class CalibrationWarning(PolytomyWarning):
    """A binary problem too small to calibrate."""


class RoutineWarning(PolytomyWarning):
    """Compiled routines cannot be used; the slower reference routines are used instead."""


def warn_caller(message: str | Warning, category: type[Warning]) -> None:
    """Warn, pointing to the line outside this package, and outside scikit-learn, that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(filename: str) -> bool:
    # scikit-learn's decorators, and contextlib's, stand between a user's line and ours.
    is_between = "sklearn" in Path(filename).parts or filename.endswith("contextlib.py")
    return is_between or filename.startswith(_PACKAGE)
