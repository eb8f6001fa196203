"""Machines of many values of C on shared kernel matrices are those of SVCs fitted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from polytomy.inputs.rows import group_rows
from polytomy.learners.problems import binary_problem
from polytomy.learners.svm.grid import KernelGrid
from polytomy.learners.svm.matrix import TooLargeError
from polytomy.learners.svm.suitability import (
    UnsuitableError,
)
from polytomy.learners.workload import FitArguments, TrainingOptions

PAIRS = [(0, 1), (0, 2), (1, 2)]


def fold(n=120, seed=0):
    """Three overlapping classes, and rows to train on and to hold out."""
    X, classes = make_blobs(n, centers=3, n_features=4, cluster_std=4.0, random_state=seed)
    rows = np.random.default_rng(seed).permutation(n)
    return X, classes, np.sort(rows[n // 4 :]), np.sort(rows[: n // 4])


def problems_of(classes, sides=PAIRS):
    groups = group_rows(classes, 3)
    return [binary_problem(groups, [a], [b], name=f"{a}-{b}") for a, b in sides]


def fitted_alone(svc, X, classes, rows, held_out, weight=None, *, gamma=None):
    """The decision values of SVCs that are fitted to one pair of classes each."""
    found = []
    for a, b in PAIRS:
        part = rows[np.isin(classes[rows], (a, b))]
        own = SVC(**svc.get_params() | ({"gamma": gamma} if gamma else {}))
        own.fit(X[part], classes[part] == b, None if weight is None else weight[part])
        found.append(own.decision_function(X[held_out]))
    return np.column_stack(found)


@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 0.05},
        {"gamma": 0.05, "shrinking": False},
        {"kernel": "linear"},
        {"kernel": "poly", "gamma": 0.01, "coef0": 1.0},
        {"gamma": 0.05, "class_weight": "balanced"},
    ],
)
def test_scores_are_those_of_machines_fitted_one_by_one(options):
    X, classes, rows, held_out = fold()
    svcs = [SVC(C=C, tol=1e-6, **options) for C in (10.0, 0.01, 1.0)]
    found = KernelGrid(X, classes).score_held_out(svcs, problems_of(classes[rows]), rows, held_out)
    assert found.values.shape == (3, len(held_out), 3)
    for svc, values in zip(svcs, found.values, strict=True):
        expected = fitted_alone(svc, X, classes, rows, held_out)
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-3)


@given(
    Cs=st.lists(st.sampled_from([0.01, 0.1, 1.0, 10.0, 300.0]), min_size=1, max_size=4),
    gamma=st.sampled_from([0.003, 0.03, 0.3]),
    seed=st.integers(0, 50),
)
@settings(max_examples=20, deadline=None)
def test_machines_that_start_from_a_neighbour_are_those_that_start_cold(Cs, gamma, seed):
    X, classes, rows, held_out = fold(seed=seed)
    svcs = [SVC(C=C, gamma=gamma, tol=1e-7) for C in Cs]
    grid, problems = KernelGrid(X, classes), problems_of(classes[rows])
    together = grid.score_held_out(svcs, problems, rows, held_out).values
    for svc, values in zip(svcs, together, strict=True):
        alone = grid.score_held_out([svc], problems, rows, held_out).values[0]
        # If no coefficient is free, every offset within a range is right, so slopes are compared.
        np.testing.assert_allclose(values - values[0], alone - alone[0], rtol=0, atol=1e-4)


def test_gamma_scale_is_that_of_the_rows_that_are_trained_on():
    X, classes, rows, held_out = fold()
    svc = SVC(gamma="scale", tol=1e-6)
    found = KernelGrid(X, classes).score_held_out([svc], problems_of(classes[rows]), rows, held_out)
    gamma = 1 / (X.shape[1] * X[rows].var())
    expected = fitted_alone(svc, X, classes, rows, held_out, gamma=gamma)
    np.testing.assert_allclose(found.values[0], expected, rtol=0, atol=2e-3)


def test_rows_may_be_repeated_as_in_a_bootstrap():
    X, classes, rows, held_out = fold()
    drawn = np.sort(np.random.default_rng(3).choice(rows, len(X)))  # as many as the data has
    svcs = [SVC(C=C, gamma=0.05, tol=1e-6) for C in (1.0, 10.0)]
    found = KernelGrid(X, classes).score_held_out(
        svcs, problems_of(classes[drawn]), drawn, held_out
    )
    for svc, values in zip(svcs, found.values, strict=True):
        expected = fitted_alone(svc, X, classes, drawn, held_out)
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-3)


def test_weights_multiply_c_and_rows_without_weight_do_not_count():
    X, classes, rows, held_out = fold()
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    weight[::5] = 0.0
    svc = SVC(gamma=0.05, tol=1e-6)
    options = TrainingOptions(arguments=FitArguments(weight[rows]))
    grid = KernelGrid(X, classes)
    found = grid.score_held_out([svc], problems_of(classes[rows]), rows, held_out, options)
    expected = fitted_alone(svc, X, classes, rows, held_out, weight)
    np.testing.assert_allclose(found.values[0], expected, rtol=0, atol=2e-3)


def test_a_problem_with_one_side_has_a_constant_answer():
    X, classes, rows, held_out = fold()
    options = TrainingOptions(arguments=FitArguments((classes[rows] != 0).astype(float)))
    found = KernelGrid(X, classes).score_held_out(
        [SVC(gamma=0.1), SVC(gamma=0.1, C=5)], problems_of(classes[rows]), rows, held_out, options
    )
    np.testing.assert_array_equal(found.values[:, :, :2], 1.0)  # class 0 is on the -1 side
    assert np.ptp(found.values[0, :, 2]) > 0.1


def test_sparse_rows_threads_and_the_number_of_matrices_kept_do_not_matter():
    X, classes, rows, held_out = fold()
    X = np.round(X)
    n_bytes = 4 * len(X) ** 2
    room = 24 * X.size + 2**23 + 20_000 * len(X)  # for rows and threads
    grids = [
        KernelGrid(X, classes),
        KernelGrid(csr_matrix(X), classes),
        KernelGrid(X, classes, n_jobs=2),
        KernelGrid(X, classes, memory_budget=room + 2 * n_bytes),
    ]
    for gamma in (0.1, 0.01, 0.1):
        svcs = [SVC(C=C, gamma=gamma) for C in (0.1, 10.0)]
        found = [
            each.score_held_out(svcs, problems_of(classes[rows]), rows, held_out).values
            for each in grids
        ]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-5)


def test_data_that_does_not_fit_is_refused():
    X, classes, *_ = fold()
    with pytest.raises(TooLargeError, match="does not fit in memory_budget"):
        KernelGrid(X, classes, memory_budget=10_000)
    with pytest.raises(UnsuitableError, match="does not accept X as numbers"):
        KernelGrid(np.full(X.shape, "word"), classes)


def test_other_kernels_are_refused():
    X, classes, rows, held_out = fold()
    with pytest.raises(UnsuitableError, match="its kernel is 'precomputed'"):
        KernelGrid(X, classes).score_held_out(
            [SVC(kernel="precomputed")], problems_of(classes[rows]), rows, held_out
        )


def test_machines_that_stop_early_are_counted_in_one_warning():
    X, classes, rows, held_out = fold()
    svcs = [SVC(C=C, gamma=0.1, max_iter=3) for C in (1.0, 10.0)]
    with pytest.warns(ConvergenceWarning, match=r"\d machines stopped early, after max_iter=3"):
        KernelGrid(X, classes).score_held_out(svcs, problems_of(classes[rows]), rows, held_out)
