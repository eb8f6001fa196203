"""Metrics of predicted classes, class probabilities, prediction sets and distributions of a number.

Each function takes the true labels or values, the predictions and optional sample weights. A weight
counts as that many copies of its sample. The columns of ``proba`` are in the order of ``classes``,
by default the sorted labels of ``y``.
"""

from polytomy.metrics.continuous import (
    crps,
    crps_of_samples,
    interval_coverage,
    quantile_loss,
)
from polytomy.metrics.hierarchical import (
    HierarchicalScore,
    NodeScores,
    hierarchical_score,
    node_scores,
)
from polytomy.metrics.metric import (
    METRICS,
    Additive,
    JudgedSamples,
    Metric,
    mean_over_samples,
    register,
    root_mean_over_samples,
)
from polytomy.metrics.scores import (
    brier_score,
    classwise_calibration_error,
    confidence_calibration_error,
    log_loss,
    mean_absolute_rank_error,
    ranked_probability_score,
    reliability_table,
    root_brier_score,
    uncertainty_coefficient,
    winner_brier_score,
)
from polytomy.metrics.sets import class_coverage, mean_cost, mean_set_size, set_coverage

__all__ = [
    "METRICS",
    "Additive",
    "HierarchicalScore",
    "JudgedSamples",
    "Metric",
    "NodeScores",
    "brier_score",
    "class_coverage",
    "classwise_calibration_error",
    "confidence_calibration_error",
    "crps",
    "crps_of_samples",
    "hierarchical_score",
    "interval_coverage",
    "log_loss",
    "mean_absolute_rank_error",
    "mean_cost",
    "mean_over_samples",
    "mean_set_size",
    "node_scores",
    "quantile_loss",
    "ranked_probability_score",
    "register",
    "reliability_table",
    "root_brier_score",
    "root_mean_over_samples",
    "set_coverage",
    "uncertainty_coefficient",
    "winner_brier_score",
]
