"""Multi-class classifiers composed of two-class ones.

A short text in the control language describes which dichotomies to train and how to combine them;
a solver turns their answers into class probabilities.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polytomy import designs, metrics, solvers
from polytomy.errors import (
    ArgumentError,
    CalibrationWarning,
    ClassOrderWarning,
    ClusterError,
    CodeError,
    ControlError,
    ControlWarning,
    DataError,
    ModelFileError,
    PolytomyError,
    PolytomyWarning,
    RoutineWarning,
    SchemeError,
)
from polytomy.scheme import CodingMatrix, Scheme, SchemeEnsemble, parse, read
from polytomy.solvers import decode, solve

if TYPE_CHECKING:
    from polytomy import calibration, datasets, distances, persistence, plots, report, trials
    from polytomy.classifier import PolytomyClassifier, plan
    from polytomy.export import to_onnx
    from polytomy.model.composition import Composition
    from polytomy.persistence import load, read_libsvm, save
    from polytomy.regression import PolytomyRegressor
    from polytomy.report import ModelReport
    from polytomy.routines.warming import warm_up
    from polytomy.search import SchemeSearchCV

__version__: str

__all__ = [
    "ArgumentError",
    "CalibrationWarning",
    "ClassOrderWarning",
    "ClusterError",
    "CodeError",
    "CodingMatrix",
    "Composition",
    "ControlError",
    "ControlWarning",
    "DataError",
    "ModelFileError",
    "ModelReport",
    "PolytomyClassifier",
    "PolytomyError",
    "PolytomyRegressor",
    "PolytomyWarning",
    "RoutineWarning",
    "Scheme",
    "SchemeEnsemble",
    "SchemeError",
    "SchemeSearchCV",
    "calibration",
    "datasets",
    "decode",
    "designs",
    "distances",
    "load",
    "metrics",
    "parse",
    "persistence",
    "plan",
    "plots",
    "read",
    "read_libsvm",
    "report",
    "save",
    "solve",
    "solvers",
    "to_onnx",
    "trials",
    "warm_up",
]


# scikit-learn takes longer to import than all the rest, and reading a scheme does not need it.
_AT_FIRST_USE = {
    "Composition": "polytomy.model.composition",
    "ModelReport": "polytomy.report",
    "PolytomyClassifier": "polytomy.classifier",
    "PolytomyRegressor": "polytomy.regression",
    "SchemeSearchCV": "polytomy.search",
    "calibration": "polytomy.calibration",
    "datasets": "polytomy.datasets",
    "distances": "polytomy.distances",
    "load": "polytomy.persistence",
    "persistence": "polytomy.persistence",
    "plan": "polytomy.classifier",
    "plots": "polytomy.plots",
    "read_libsvm": "polytomy.persistence",
    "report": "polytomy.report",
    "save": "polytomy.persistence",
    "to_onnx": "polytomy.export",
    "trials": "polytomy.trials",
    "warm_up": "polytomy.routines.warming",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # not at the top, because it is slow

        return globals().setdefault(name, version("polytomy"))
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module 'polytomy' has no attribute {name!r}")
    module = import_module(_AT_FIRST_USE[name])
    return module if module.__name__ == f"polytomy.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
