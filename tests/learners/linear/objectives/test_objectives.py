"""Which linear classifiers are trained together."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC

from polytomy.learners.linear.objectives import find_objective


class Subclass(LinearSVC):
    pass


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(kernel="linear"),
        SGDClassifier(),
        Subclass(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1", dual=False),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(verbose=1),
        LinearSVC(C=-1),
        LinearSVC(class_weight={0: 0.0}),
        LinearSVC(class_weight={"corn": 2.0}),
        LogisticRegression(l1_ratio=1, solver="saga"),
        LogisticRegression(solver="saga"),
        LogisticRegression(C=np.inf),
        LogisticRegression(warm_start=True),
    ],
)
def test_other_estimators_are_left_to_their_own_fit(estimator: object) -> None:
    assert find_objective(estimator) is None


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
def test_logistic_regression_does_not_penalise_its_intercept(solver: str) -> None:
    objective = find_objective(LogisticRegression(solver=solver, intercept_scaling=3.0))
    assert objective is not None
    assert (objective.bias, objective.penalises_bias) == (1.0, False)


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(intercept_scaling=3.0), LogisticRegression(solver="liblinear", intercept_scaling=3)],
)
def test_liblinear_penalises_the_coefficient_of_a_constant_feature(estimator: object) -> None:
    objective = find_objective(estimator)
    assert objective is not None
    assert (objective.bias, objective.penalises_bias) == (3.0, True)


def test_a_model_without_an_intercept_has_no_constant_feature() -> None:
    objective = find_objective(LinearSVC(fit_intercept=False))
    assert objective is not None
    assert objective.bias == 0.0


def test_weights_of_sides_may_be_named_by_minus_one() -> None:
    objective = find_objective(LinearSVC(class_weight={-1: 2.0, 1: 5.0}))
    assert objective is not None
    assert objective.class_weight == (2.0, 5.0)
