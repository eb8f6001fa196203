"""Multi-class classifiers composed of binary ones.

A short text, the control language, says which dichotomies are trained and how they are put
together; a solver turns their answers into class probabilities.
"""

from importlib.metadata import version as _version

from polytomy import designs
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

__version__ = _version("polytomy")

__all__ = [
    "ArgumentError",
    "CodeError",
    "CodingMatrix",
    "ControlError",
    "ControlWarning",
    "DataError",
    "ModelFileError",
    "PolytomyError",
    "PolytomyWarning",
    "Scheme",
    "SchemeError",
    "designs",
    "parse",
    "read",
]
