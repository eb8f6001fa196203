"""scikit-learn's own checks, over schemes, solvers and kinds of binaries."""

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from polytomy import PolytomyClassifier

CONFIGURATIONS = [
    PolytomyClassifier(),
    PolytomyClassifier(SVC(), "one-vs-rest", n_jobs=2),
    PolytomyClassifier(LogisticRegression(), "adjacent"),
    PolytomyClassifier(LogisticRegression(), "orthogonal", "divergence"),
    PolytomyClassifier(DecisionTreeClassifier(), "tree"),
    PolytomyClassifier(DecisionTreeClassifier(), "random-tree", "greedy"),
    PolytomyClassifier(LinearSVC(), "random", "voting"),
    PolytomyClassifier(LinearSVC(), "random-ternary", calibration="isotonic"),
    PolytomyClassifier(SVC(), "one-vs-one", "wu-lin-weng-1", calibration="temperature"),
    PolytomyClassifier(Perceptron(), "exhaustive", "hamming", calibration=None),
    PolytomyClassifier(make_pipeline(StandardScaler(), SVC()), "one-vs-one", "hastie-tibshirani"),
    PolytomyClassifier(SGDClassifier(), "one-vs-one", "price", class_weight="balanced"),
    PolytomyClassifier(GaussianNB(), "one-vs-rest", class_weight="balanced-per-partition"),
    PolytomyClassifier(NearestCentroid(), "one-vs-one", "loss-weighted"),
]

_WEIGHTS_AND_FOLDS = (
    "Repeating a sample and weighting it put different samples in the folds of calibration, as in "
    "scikit-learn's CalibratedClassifierCV."
)


def _expected_failures(classifier):
    failures = {}
    if classifier.calibration is not None and not hasattr(
        classifier._binary_estimator(), "predict_proba"
    ):
        failures["check_sample_weight_equivalence_on_dense_data"] = _WEIGHTS_AND_FOLDS
        failures["check_sample_weight_equivalence_on_sparse_data"] = _WEIGHTS_AND_FOLDS
    return failures


@pytest.mark.filterwarnings("ignore::polytomy.errors.CalibrationWarning")
@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=_expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
