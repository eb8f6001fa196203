"""Estimators of scikit-learn, other than support vector machines, that are saved as arrays."""

from __future__ import annotations

from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

__all__ = ["DEEPEST_PIPELINE", "LINEAR", "SCALERS", "SCALER_NAMES"]

LINEAR = (
    LogisticRegression,
    LinearSVC,
    SGDClassifier,
    RidgeClassifier,
    Perceptron,
    PassiveAggressiveClassifier,
)
#: Scalers and the arrays that they learn.
SCALERS: dict[type, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_"),
    MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    MaxAbsScaler: ("max_abs_", "scale_"),
}
SCALER_NAMES = {kind.__name__: kind for kind in SCALERS}
#: How deeply pipelines may be nested.
DEEPEST_PIPELINE = 10
