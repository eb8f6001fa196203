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
    └── KernelWarning      compiled kernels cannot be used; the slower ones answer

Every error is also the built-in error a caller would expect (`ValueError`, mostly), so code that
knows nothing of polytomy can catch it.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "ArgumentError",
    "CalibrationWarning",
    "CodeError",
    "CodeProblem",
    "ControlError",
    "ControlWarning",
    "DataError",
    "KernelWarning",
    "ModelFileError",
    "PolytomyError",
    "PolytomyWarning",
    "Problem",
    "SchemeError",
    "warn_caller",
]

_PACKAGE = str(Path(__file__).parent) + os.sep


class PolytomyError(Exception):
    """Root of all errors of polytomy."""


class PolytomyWarning(UserWarning):
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


class KernelWarning(PolytomyWarning):
    """Compiled kernels cannot be used; the slower reference kernels answer."""


def warn_caller(message: str, category: type[PolytomyWarning]) -> None:
    """Warn of something at the line outside of this package, and of scikit-learn, that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(filename: str) -> bool:
    # scikit-learn's decorators, and contextlib's, stand between a user's line and ours.
    is_between = "sklearn" in Path(filename).parts or filename.endswith("contextlib.py")
    return is_between or filename.startswith(_PACKAGE)
