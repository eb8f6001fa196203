"""The two-class side: problems, estimators written as text, training, calibration, answers."""

from polytomy.binary.answers import (
    Output,
    TrainedBinary,
    adopt_fitted,
    decisions_from_scores,
    is_fitted,
)
from polytomy.binary.calibration import ProvidedCalibrator, calibrate, make_calibrator
from polytomy.binary.calibrators import (
    Calibrator,
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.binary.folds import check_folds
from polytomy.binary.preparation import partition_seeds
from polytomy.binary.problems import BinaryProblem, balance_sides, binary_problem, group_rows
from polytomy.binary.specification import estimator_from, specification_of
from polytomy.binary.training import train_binary
from polytomy.binary.updating import update_binary

__all__ = [
    "BinaryProblem",
    "Calibrator",
    "IsotonicCalibrator",
    "Output",
    "ProvidedCalibrator",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "TrainedBinary",
    "UncalibratedMap",
    "adopt_fitted",
    "balance_sides",
    "binary_problem",
    "calibrate",
    "check_folds",
    "decisions_from_scores",
    "estimator_from",
    "group_rows",
    "is_fitted",
    "make_calibrator",
    "partition_seeds",
    "specification_of",
    "train_binary",
    "update_binary",
]
