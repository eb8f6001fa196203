"""Metrics of predicted classes and class probabilities.

Each function takes the true labels, the predictions and optional sample weights. A weight counts as
that many copies of its sample. The columns of ``proba`` are in the order of ``classes``, by default
the sorted labels of ``y``.
"""

from polytomy.metrics.hierarchical import (
    HierarchicalScore,
    NodeScores,
    hierarchical_score,
    node_scores,
)
from polytomy.metrics.ordered import mean_absolute_rank_error, ranked_probability_score
from polytomy.metrics.reliability import (
    classwise_calibration_error,
    confidence_calibration_error,
    reliability_table,
)
from polytomy.metrics.scores import (
    brier_score,
    log_loss,
    uncertainty_coefficient,
    winner_brier_score,
)

__all__ = [
    "HierarchicalScore",
    "NodeScores",
    "brier_score",
    "classwise_calibration_error",
    "confidence_calibration_error",
    "hierarchical_score",
    "log_loss",
    "mean_absolute_rank_error",
    "node_scores",
    "ranked_probability_score",
    "reliability_table",
    "uncertainty_coefficient",
    "winner_brier_score",
]
