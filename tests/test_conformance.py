"""scikit-learn's own checks, over schemes, solvers and kinds of binaries."""

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from polytomy import PolytomyClassifier, PolytomyRegressor


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    """A binary classifier with neither probabilities nor decision values."""

    def fit(self, X, y, sample_weight=None):
        self.inner_ = GaussianNB().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


# With these, weighting a sample is the same as repeating it to the last digits the checks look at:
# a fixed gamma does not depend on the repetitions, and the solvers go to the end.
MACHINE = SVC(gamma=0.1, tol=1e-9)
LINEAR = LinearSVC(dual=False, tol=1e-10)
TREE = DecisionTreeClassifier(min_weight_fraction_leaf=0.01)

# Every kind of binary, calibration and final calibration, and most solvers and designs, once; with
# few folds where training takes longest.
# tests/combinations tries them together.
CONFIGURATIONS = [
    PolytomyClassifier(),
    PolytomyClassifier(
        MACHINE,
        "one-vs-one",
        solver="wu-lin-weng-1",
        calibration="temperature",
        final_calibration=None,
    ),
    PolytomyClassifier(
        LogisticRegression(tol=1e-10),
        "orthogonal",
        solver="divergence",
        final_calibration=LogisticRegression(tol=1e-10),
    ),
    PolytomyClassifier(TREE, "random-tree", solver="greedy"),
    PolytomyClassifier(LINEAR, "random-ternary", calibration="isotonic", cv=2),
    PolytomyClassifier(LINEAR, "exhaustive", solver="hamming", calibration=None),
    PolytomyClassifier(
        make_pipeline(StandardScaler(), SVC()),
        "one-vs-one",
        solver="hastie-tibshirani",
        shared_preprocessing=True,
    ),
    PolytomyClassifier(SGDClassifier(), solver="price", class_weight="balanced", cv=2),
    PolytomyClassifier(GaussianNB(), "one-vs-rest", class_weight="balanced-per-partition"),
    PolytomyClassifier(MACHINE, "adjacent", solver="voting", final_calibration="decoder"),
    PolytomyClassifier(
        OnlyPredicts(),
        "tree",
        solver="loss-weighted",
        final_calibration="bias",
        keep_out_of_fold=True,
    ),
]

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failures(classifier):
    inner = classifier.estimator
    if isinstance(inner, SGDClassifier):
        reason = "The stochastic gradient meets other samples; scikit-learn expects it to fail too."
    elif classifier.final_calibration == "decoder":
        reason = "Its weights have four digits; the law itself is tested in test_final.py."
    elif inner is None or hasattr(inner, "steps"):
        reason = "scikit-learn's gamma='scale' and StandardScaler take no account of the weights."
    else:
        return {}
    return dict.fromkeys(WEIGHT_CHECKS, reason)


@pytest.mark.filterwarnings("ignore::polytomy.errors.CalibrationWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


REGRESSORS = [
    PolytomyRegressor(),
    PolytomyRegressor(MACHINE, 5, "one-vs-one", statistic="median", final_calibration="bias"),
    PolytomyRegressor(
        make_pipeline(StandardScaler(), SVC()), 4, final_calibration=None, shared_preprocessing=True
    ),
]


@pytest.mark.filterwarnings("ignore::polytomy.errors.CalibrationWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(REGRESSORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks_of_regressors(estimator, check):
    check(estimator)
