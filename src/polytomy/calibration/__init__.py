"""Calibration: from decision values to probabilities, and the folds that calibrators learn from."""

from polytomy.calibration.calibrators import (
    CALIBRATORS,
    Calibrator,
    IsotonicCalibrator,
    ProvidedCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
    calibrate,
    make_calibrator,
    register_calibrator,
)
from polytomy.calibration.final import FINAL_CALIBRATIONS, register_final_calibration
from polytomy.calibration.folds import check_folds

__all__ = [
    "CALIBRATORS",
    "FINAL_CALIBRATIONS",
    "Calibrator",
    "IsotonicCalibrator",
    "ProvidedCalibrator",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "UncalibratedMap",
    "calibrate",
    "check_folds",
    "make_calibrator",
    "register_calibrator",
    "register_final_calibration",
]
