"""One binary problem: its rows, its estimator, its training, its answers."""

from polytomy.binary.answers import (
    Output,
    TrainedBinary,
    adopt_fitted,
    is_fitted,
)
from polytomy.binary.options import FitArguments, TrainingListener, TrainingOptions
from polytomy.binary.problems import BinaryProblem, binary_problem
from polytomy.binary.specification import estimator_from, specification_of
from polytomy.binary.training import train_binary
from polytomy.binary.updating import update_binary

__all__ = [
    "BinaryProblem",
    "FitArguments",
    "Output",
    "TrainedBinary",
    "TrainingListener",
    "TrainingOptions",
    "adopt_fitted",
    "binary_problem",
    "estimator_from",
    "is_fitted",
    "specification_of",
    "train_binary",
    "update_binary",
]
