"""Regression: a continuous target in ordered bins, and its predicted distribution."""

from polytomy.regression.calibration import CumulativeScaling, IntervalCorrection
from polytomy.regression.distribution import BinnedDistribution, TargetBins
from polytomy.regression.regressor import PolytomyRegressor

__all__ = [
    "BinnedDistribution",
    "CumulativeScaling",
    "IntervalCorrection",
    "PolytomyRegressor",
    "TargetBins",
]
