"""Calibration: from decision values to probabilities, and the folds that calibrators learn from."""

from polytomy.calibration.calibrators import (
    Calibrator,
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.calibration.folds import check_folds
from polytomy.calibration.option import ProvidedCalibrator, calibrate, make_calibrator

__all__ = [
    "Calibrator",
    "IsotonicCalibrator",
    "ProvidedCalibrator",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "UncalibratedMap",
    "calibrate",
    "check_folds",
    "make_calibrator",
]
