"""One two-class problem: its rows, its estimator, its training, its answer."""

from polytomy.binary.answers import (
    Output,
    TrainedBinary,
    adopt_fitted,
    decisions_from_scores,
    is_fitted,
)
from polytomy.binary.options import FitArguments, TrainingListener, TrainingOptions
from polytomy.binary.problems import BinaryProblem, balance_sides, binary_problem
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
    "balance_sides",
    "binary_problem",
    "decisions_from_scores",
    "estimator_from",
    "is_fitted",
    "specification_of",
    "train_binary",
    "update_binary",
]
