"""Calibration: from decision values to probabilities, and the folds that calibrators learn from."""

from polytomy.calibration.calibrators import (
    Calibrator,
    IsotonicCalibrator,
    ProvidedCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
    calibrate,
    make_calibrator,
)
from polytomy.calibration.folds import check_folds

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
