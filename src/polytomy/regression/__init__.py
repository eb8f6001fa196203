"""Regression: a continuous target in ordered bins, and its predicted distribution."""

from polytomy.regression.bins import TargetBins
from polytomy.regression.cumulative_scaling import CumulativeScaling
from polytomy.regression.distribution import BinnedDistribution
from polytomy.regression.intervals import IntervalCorrection
from polytomy.regression.regressor import PolytomyRegressor

__all__ = [
    "BinnedDistribution",
    "CumulativeScaling",
    "IntervalCorrection",
    "PolytomyRegressor",
    "TargetBins",
]
