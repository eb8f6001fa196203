"""Calibration: from decision values to probabilities, and the folds that calibrators learn from."""

from polytomy.calibration.calibrators import (
    CALIBRATORS,
    Calibrator,
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    register_calibrator,
)
from polytomy.calibration.final import FINAL_CALIBRATIONS, register_final_calibration

__all__ = [
    "CALIBRATORS",
    "FINAL_CALIBRATIONS",
    "Calibrator",
    "IsotonicCalibrator",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "register_calibrator",
    "register_final_calibration",
]
