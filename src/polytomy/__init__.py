"""Multi-class classifiers composed of binary ones.

A short text, the control language, says which dichotomies are trained and how they are put
together; a solver turns their answers into class probabilities.
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from polytomy import designs, metrics, solvers
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
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.solvers import decode, solve

if TYPE_CHECKING:
    from polytomy import distances, plots, report, trials
    from polytomy.classifier import PolytomyClassifier
    from polytomy.export import to_onnx
    from polytomy.persistence import load, save
    from polytomy.search import SchemeSearchCV

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
    "SchemeEnsemble",
    "SchemeError",
    "SchemeSearchCV",
    "decode",
    "designs",
    "distances",
    "load",
    "metrics",
    "parse",
    "plots",
    "read",
    "report",
    "save",
    "solve",
    "solvers",
    "to_onnx",
    "trials",
]


# scikit-learn takes longer to import than all the rest; who only reads schemes does not wait.
_AT_FIRST_USE = {
    "PolytomyClassifier": "polytomy.classifier",
    "SchemeSearchCV": "polytomy.search",
    "distances": "polytomy.distances",
    "load": "polytomy.persistence",
    "plots": "polytomy.plots",
    "report": "polytomy.report",
    "save": "polytomy.persistence",
    "to_onnx": "polytomy.export",
    "trials": "polytomy.trials",
}


def __getattr__(name: str) -> Any:
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module 'polytomy' has no attribute {name!r}")
    module = import_module(_AT_FIRST_USE[name])
    return module if module.__name__ == f"polytomy.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
