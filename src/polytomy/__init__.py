"""Multi-class classifiers composed of binary ones.

A short text, the control language, says which dichotomies are trained and how they are put
together; a solver turns their answers into class probabilities.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from polytomy import designs, metrics
from polytomy.codes import CodingMatrix
from polytomy.errors import (
    ArgumentError,
    CodeError,
    ControlError,
    ControlWarning,
    DataError,
    ModelFileError,
    PolytomyError,
    PolytomyWarning,
    SchemeError,
)
from polytomy.scheme import Scheme, parse, read
from polytomy.solvers import decode, solve

if TYPE_CHECKING:
    from polytomy.classifier import PolytomyClassifier

__version__ = _version("polytomy")

__all__ = [
    "ArgumentError",
    "CodeError",
    "CodingMatrix",
    "ControlError",
    "ControlWarning",
    "DataError",
    "ModelFileError",
    "PolytomyClassifier",
    "PolytomyError",
    "PolytomyWarning",
    "Scheme",
    "SchemeError",
    "decode",
    "designs",
    "metrics",
    "parse",
    "read",
    "solve",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than all the rest; who only reads schemes does not wait.
    if name == "PolytomyClassifier":
        from polytomy.classifier import PolytomyClassifier

        return PolytomyClassifier
    raise AttributeError(f"module 'polytomy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
