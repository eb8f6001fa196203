from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from kernel_cases import LINEAR, POLY, RBF, SIGMOID
from polytomy.learners.svm import matrix as kernel_matrix
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.matrix import (
    MatrixOnDemand,
    WholeMatrix,
    diagonal_of,
    entry_form,
)
from polytomy.routines.reference.kernels import KERNEL_VALUES
from shared_kernel_cases import clouds, rest, share


class TestSinglePrecision:
    """Kernel values are in single precision, as LIBSVM's own are."""

    @pytest.mark.parametrize("gamma", [0.01, 0.3])
    def test_kernel_values_are_rounded_once(self, gamma):
        X, _ = clouds(700, n_features=20)
        kernel = KernelFunction("rbf", gamma=gamma)
        exact = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
        found = WholeMatrix(X, "rbf", kernel, n_threads=2).rows().kernel_values
        np.testing.assert_allclose(found, exact, rtol=2.0**-24 * (1 + 1e-4), atol=2e-38)
        np.testing.assert_array_equal(found, found.T)

    def test_entries_that_are_not_kernel_values_are_in_double_precision(self):
        X, _ = clouds(400, n_features=20)
        distances = WholeMatrix(X, "rbf", n_threads=2).rows().entries
        np.testing.assert_allclose(distances, cdist(X, X, "sqeuclidean"), rtol=1e-12, atol=1e-11)
        products = WholeMatrix(X, "poly").rows().entries
        np.testing.assert_allclose(products, X @ X.T, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_decisions_are_hardly_affected(self, kernel):
        X, codes = clouds(300, 2, spread=2.0)
        problem = rest(codes, 1)
        (binary,) = share(SVC(kernel=kernel, tol=1e-6), X, [problem], calibration=None)
        svc = SVC(kernel=kernel, tol=1e-6).fit(X, problem.targets)
        np.testing.assert_allclose(binary.scores(X), svc.decision_function(X), rtol=0, atol=2e-5)


class TestWholeMatrix:
    @pytest.mark.parametrize("kind", ["rbf", "linear"])
    def test_sparse_samples_give_the_same_entries(self, kind):
        X, _ = clouds(500)
        X[np.abs(X) < 0.5] = 0.0
        dense, sparse = (WholeMatrix(data, kind).rows().entries for data in (X, csr_array(X)))
        np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-11)

    def test_a_shift_of_the_samples_changes_no_distance(self):
        X, _ = clouds(50)
        near, far = (WholeMatrix(data, "rbf").rows().entries for data in (X, X + 1e6))
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-8)

    def test_only_one_of_its_two_arrays_has_rows(self):
        X, _ = clouds(20)
        values = WholeMatrix(X, "rbf", KernelFunction("rbf", 0.1)).rows()
        assert (values.kernel_values.shape, values.entries.shape) == ((20, 20), (0, 0))
        entries = WholeMatrix(X, "rbf").rows()
        assert (entries.kernel_values.shape, entries.entries.shape) == ((0, 0), (20, 20))


class TestMatrixOnDemand:
    @pytest.mark.parametrize("kernel", [None, KernelFunction("rbf", 0.1)])
    def test_it_starts_without_rows_and_has_room_for_some(self, kernel):
        X, _ = clouds(30)
        rows = MatrixOnDemand(X, "rbf", kernel, n_kept=4).rows()
        assert max(rows.kernel_values.shape, rows.entries.shape) == (4, 30)
        np.testing.assert_array_equal(rows.maker.slot_of, -1)
        np.testing.assert_array_equal(rows.maker.row_in, -1)

    def test_each_thread_keeps_its_own_rows(self):
        X, _ = clouds(30)
        matrix = MatrixOnDemand(X, "rbf", None, n_kept=4)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(matrix.rows).result()
        assert matrix.rows() is matrix.rows()
        assert matrix.rows() is not other


@pytest.mark.parametrize(
    ("kind", "form"), [("linear", LINEAR), ("rbf", RBF), ("poly", POLY), ("sigmoid", SIGMOID)]
)
def test_the_form_of_entries_is_the_kind_unless_they_are_kernel_values(kind, form):
    X, kernel = np.eye(3), KernelFunction(kind, gamma=0.5)
    assert entry_form(WholeMatrix(X, kind), kernel) == form
    assert entry_form(WholeMatrix(X, kind, kernel), kernel) == KERNEL_VALUES


@pytest.mark.parametrize("kind", ["linear", "rbf", "poly", "sigmoid"])
def test_the_diagonal_has_the_kernel_values_of_rows_with_themselves(kind):
    X, _ = clouds(10)
    kernel = KernelFunction(kind, gamma=0.3, degree=2, coef0=0.5)
    rows = np.array([7, 2])
    found = diagonal_of(WholeMatrix(X, kind), kernel, rows)
    expected = [kernel.matrix(X[[row]], X[[row]])[0, 0] for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_sums_are_kernel_values_times_weights():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    kernel = KernelFunction("rbf", gamma=0.3)
    rows = np.array([3, 3, 49])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_matrix, "_SUM_BYTES", 1)  # blocks of one row
        sums = WholeMatrix(X, "rbf", kernel).sums(rows, weights)
    np.testing.assert_allclose(sums, kernel.matrix(X[rows], X) @ weights, rtol=1e-5, atol=1e-5)


def test_there_are_no_sums_without_kernel_values():
    X, weights = np.eye(4), np.ones((4, 1))
    assert WholeMatrix(X, "rbf").sums(np.arange(2), weights) is None
    on_demand = MatrixOnDemand(X, "rbf", KernelFunction("rbf", gamma=1.0), n_kept=2)
    assert on_demand.sums(np.arange(2), weights) is None
