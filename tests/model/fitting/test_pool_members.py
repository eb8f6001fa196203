import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from polytomy import PolytomyClassifier, designs
from polytomy.errors import ArgumentError
from polytomy.learners.workload import TrainingOptions
from polytomy.model.fitting import PoolMember, fit_pool_members
from polytomy.scheme import SchemeEnsemble


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(160, 2, centers=4, cluster_std=3.0, random_state=0)


def options(y, **more):
    return TrainingOptions(final_calibration="bias", random_state=0, **more).of_labels(y)


def test_members_with_one_estimator_are_a_classifier_with_an_ensemble(blobs):
    X, y = blobs
    schemes = [designs.one_vs_one(4), designs.balanced_tree(4), designs.one_vs_rest(4)]
    estimator = SVC(C=3)
    pool = fit_pool_members([PoolMember(each, estimator) for each in schemes], X, options(y))
    whole = PolytomyClassifier(
        estimator, SchemeEnsemble(schemes), final_calibration="bias", random_state=0
    ).fit(X, y)
    assert pool.solvers == ("least-squares", "least-squares", "divergence")
    np.testing.assert_array_equal(pool.scores(X), whole.predict_proba(X))
    both = SchemeEnsemble(schemes[1:])
    members = [PoolMember(schemes[0], estimator), PoolMember(both, estimator)]
    again = fit_pool_members(members, X, options(y))
    np.testing.assert_array_equal(again.scores(X), pool.scores(X))


def test_members_with_the_same_partitions_keep_their_own_estimators_and_solvers(blobs):
    X, y = blobs
    tree = designs.balanced_tree(4)
    estimators = [SVC(C=0.01, gamma=0.1), SVC(C=100, gamma=0.1), LogisticRegression()]
    members = [PoolMember(tree, each) for each in estimators]
    members.append(PoolMember(designs.one_vs_one(4), estimators[0], "price"))
    pool = fit_pool_members(members, X, options(y))
    # A tree of four classes has three partitions; two of them are pairs that one-vs-one shares.
    assert len(pool.binaries) == 3 * 3 + 4
    assert pool.solvers[-1] == "price"
    answers = pool.bank.decisions(X)
    alone = PolytomyClassifier(
        calibration="auto", final_calibration="bias", random_state=0, scheme=tree
    )
    solved = list(pool.solve_members(answers))
    for estimator, (own, _) in zip(estimators, solved[:3], strict=True):
        plain = alone.set_params(estimator=estimator, final_calibration=None).fit(X, y)
        np.testing.assert_allclose(own, plain.predict_proba(X), atol=2e-3)


def test_members_that_give_no_probabilities_are_refused_among_others_that_do(blobs):
    X, y = blobs
    members = [PoolMember(designs.one_vs_one(4), SVC(), each) for each in ("auto", "voting")]
    with pytest.raises(ArgumentError, match='solver="voting" and solver="least-squares" are in'):
        fit_pool_members(members, X, options(y))
