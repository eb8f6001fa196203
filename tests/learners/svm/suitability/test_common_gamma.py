"""One gamma for a scheme: the one that scikit-learn's SVC has on all rows."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_wine, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy import PolytomyClassifier
from polytomy.learners.svm.suitability import (
    fix_gamma,
    fix_gamma_by_variance,
    has_gamma_of_data,
)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, 3, centers=4, cluster_std=4.0, random_state=1)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("kind", [SVC, NuSVC])
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array, np.ndarray.tolist])
def test_it_is_the_gamma_of_scikit_learn_on_all_rows(gamma, kernel, kind, convert, blobs):
    X, y = blobs
    estimator = kind(kernel=kernel, gamma=gamma)
    (fixed,) = fix_gamma([estimator], convert(X))
    assert fixed.gamma == pytest.approx(estimator.fit(X, y)._gamma, rel=1e-12)
    assert estimator.gamma == gamma
    assert fixed.get_params() | {"gamma": gamma} == estimator.get_params()


def test_machines_of_one_vs_one_are_those_of_svc():
    X, y = load_wine(return_X_y=True)
    classifier = PolytomyClassifier(SVC(tol=1e-9), final_calibration=None, calibration=None)
    own = SVC(tol=1e-9, decision_function_shape="ovo").fit(X, y).decision_function(X)
    margins = [each.decision_function(X) for each in classifier.fit(X, y).estimators_]
    # SVC's positive side is the first class of a pair; the classifier's is the second.
    np.testing.assert_allclose(-np.transpose(margins), own, rtol=0, atol=1e-6)


def test_an_estimator_that_occurs_twice_stays_one_object(blobs):
    shared, other = SVC(C=2), SVC(C=3)
    first, second, third = fix_gamma([shared, other, shared], blobs[0])
    assert first is third
    assert (first.C, second.C) == (2, 3)
    assert first.gamma == second.gamma


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(gamma=0.3),
        SVC(kernel="linear"),
        SVC(kernel="precomputed"),
        SVC(kernel=lambda A, B: A @ B.T),
        make_pipeline(StandardScaler(), SVC()),
        LinearSVC(),
        LogisticRegression(),
        "a name",
    ],
)
def test_other_estimators_are_left_as_they_are(estimator, blobs):
    (fixed,) = fix_gamma([estimator], blobs[0])
    assert fixed is estimator


@pytest.mark.parametrize("X", [[["a", "b"], ["c", "d"]], np.full((4, 2), np.nan)])
def test_training_and_not_this_refuses_bad_samples(X):
    estimator = SVC()
    assert fix_gamma([estimator], X) == [estimator]
    with pytest.raises(ValueError, match=r"could not convert|contains NaN"):
        PolytomyClassifier(estimator).fit(X, [0, 1] * (len(X) // 2))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear", "precomputed"])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_the_variance_is_enough_to_know_gamma(kernel, gamma, blobs):
    X = blobs[0]
    estimators = [SVC(kernel=kernel, gamma=gamma), NuSVC(kernel=kernel, gamma=gamma)]
    found = fix_gamma_by_variance(estimators, X.shape[1], X.var())
    for one, other in zip(found, fix_gamma(estimators, X), strict=True):
        assert one.gamma == pytest.approx(other.gamma)
    uses_gamma = kernel not in ("linear", "precomputed")
    assert has_gamma_of_data(estimators) == (uses_gamma and gamma != 0.3)


def test_samples_that_are_all_equal_have_a_gamma_of_one():
    X = np.ones((4, 2))
    for fixed in (fix_gamma([SVC()], X), fix_gamma_by_variance([SVC()], 2, X.var())):
        assert [each.gamma for each in fixed] == [1.0]
