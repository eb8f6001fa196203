"""Checks of objects that skops made."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from persistence.round_trips import X, Y
from polytomy.persistence.skops_objects import check_skops_objects

KERNEL = X[::3] @ X[::3].T


@pytest.mark.parametrize(
    ("estimator", "samples", "labels"),
    [
        (SVC(), X, Y),
        (SVC(kernel="poly"), X, Y > 0),
        (NuSVC(nu=0.2), X, Y),
        (SVC(kernel="precomputed"), KERNEL, Y[::3]),
        (SVC(kernel=linear_kernel), X, Y),
        (SVC(), csr_matrix(X), Y),
        (SVR(), X, Y),
        (OneClassSVM(), X, Y),
        (BaggingClassifier(SVC(), 2), X, Y),
        (DecisionTreeClassifier(), X, Y),
        (RandomForestClassifier(3), X, Y),
        (GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=5), X, Y),
    ],
)
def test_objects_that_were_not_changed_are_accepted(estimator, samples, labels):
    check_skops_objects([estimator])
    estimator.fit(samples, labels)
    check_skops_objects([estimator, {"a": [estimator]}])


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("support_", np.arange(2, dtype=np.int32)),
        ("support_vectors_", np.ones((2, 4))),
        ("support_vectors_", csr_matrix(np.ones((2, 4)))),
        ("_n_support", np.array([10**6, 1, 1], dtype=np.int32)),
        ("_n_support", np.array([1], dtype=np.int32)),
        ("_dual_coef_", np.ones((1, 1))),
        ("_intercept_", np.ones(1)),
        ("_probA", np.ones(1)),
        ("_sparse", True),
        ("classes_", np.arange(2)),
        ("n_features_in_", 9),
    ],
)
def test_machines_whose_arrays_do_not_fit_together_are_refused(attribute, value):
    machine = SVC().fit(X, Y)
    setattr(machine, attribute, value)
    for around in (machine, make_pipeline(StandardScaler(), machine), [{"m": (machine,)}]):
        with pytest.raises(ValueError, match="the arrays of a SVC do not fit together"):
            check_skops_objects([around])


@pytest.mark.parametrize("index", [-1, 50, 10**6])
def test_columns_of_a_precomputed_kernel_lie_within_its_rows(index):
    machine = SVC(kernel="precomputed").fit(KERNEL, Y[::3])
    machine.support_[0] = index
    with pytest.raises(ValueError, match="do not fit together"):
        check_skops_objects([machine])


def test_machines_with_wrong_parameters_or_missing_arrays_are_refused():
    with pytest.raises(ValueError, match="degree"):
        check_skops_objects([SVC(kernel="poly").fit(X, Y).set_params(degree=-1)])
    machine = SVC().fit(X, Y)
    del machine._n_support
    with pytest.raises(ValueError, match="a SVC has no _n_support"):
        check_skops_objects([machine])


@pytest.mark.parametrize(("array", "value"), [("indices", 2**30), ("indptr", 2**30)])
def test_sparse_matrices_with_wrong_indices_are_refused(array, value):
    model = LogisticRegression(max_iter=1000).fit(X, Y).sparsify()
    check_skops_objects([model])
    getattr(model.coef_, array)[1] = value
    with pytest.raises(ValueError, match="ind"):
        check_skops_objects([model])


@pytest.mark.parametrize("field", ["left_child", "right_child", "feature"])
@pytest.mark.parametrize("value", [-2, 0, 10**6])
def test_trees_whose_nodes_do_not_fit_together_are_refused(field, value):
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    tree, state = Tree(4, np.array([3]), 1), model.tree_.__getstate__()
    if field == "feature" and value == 0:
        value = 4
    state["nodes"][field][0] = value
    tree.__setstate__(state)
    with pytest.raises(ValueError, match="the nodes of a tree do not fit together"):
        check_skops_objects([{"forest": [tree]}])


def test_trees_with_more_features_than_their_model_are_refused():
    for model in (DecisionTreeClassifier(), RandomForestClassifier(2)):
        model.fit(X, Y).n_features_in_ = 3
        with pytest.raises(ValueError, match="have other numbers of features"):
            check_skops_objects([model])


def test_estimators_without_their_parameters_are_refused():
    model = SVC()
    del model.kernel
    with pytest.raises(AttributeError, match="kernel"):
        check_skops_objects([model])


def test_objects_that_contain_themselves_are_checked_once():
    itself = []
    itself.append(itself)
    check_skops_objects(itself)
