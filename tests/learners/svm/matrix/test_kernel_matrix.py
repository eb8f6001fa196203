from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from polytomy.learners.svm import matrix as kernel_matrix
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.matrix import (
    MatrixOnDemand,
    WholeMatrix,
)
from shared_kernel_cases import clouds, rest, share


class TestSinglePrecision:
    """Kernel values are in single precision, as LIBSVM's own are."""

    @pytest.mark.parametrize("gamma", [0.01, 0.3])
    def test_kernel_values_are_rounded_once(self, gamma):
        X, _ = clouds(700, n_features=20)
        kernel = KernelFunction("rbf", gamma=gamma)
        exact = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
        found = WholeMatrix(X, kernel, n_threads=2).rows().kernel_values
        np.testing.assert_allclose(found, exact, rtol=2.0**-24 * (1 + 1e-4), atol=2e-38)
        np.testing.assert_array_equal(found, found.T)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_decisions_are_hardly_affected(self, kernel):
        X, codes = clouds(300, 2, spread=2.0)
        problem = rest(codes, 1)
        (binary,) = share(SVC(kernel=kernel, tol=1e-6), X, [problem], calibration=None)
        svc = SVC(kernel=kernel, tol=1e-6).fit(X, problem.targets)
        np.testing.assert_allclose(binary.scores(X), svc.decision_function(X), rtol=0, atol=2e-5)


class TestWholeMatrix:
    @pytest.mark.parametrize("kind", ["rbf", "linear"])
    def test_sparse_samples_give_the_same_values(self, kind):
        X, _ = clouds(500)
        X[np.abs(X) < 0.5] = 0.0
        kernel = KernelFunction(kind, gamma=0.1)
        dense, sparse = (
            WholeMatrix(data, kernel).rows().kernel_values for data in (X, csr_array(X))
        )
        np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=1e-6)

    def test_a_shift_of_the_samples_changes_no_distance(self):
        X, _ = clouds(50)
        kernel = KernelFunction("rbf", gamma=0.1)
        near, far = (WholeMatrix(data, kernel).rows().kernel_values for data in (X, X + 1e6))
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-7)


class TestMatrixOnDemand:
    def test_it_starts_without_rows_and_has_room_for_some(self):
        X, _ = clouds(30)
        rows = MatrixOnDemand(X, KernelFunction("rbf", 0.1), n_kept=4).rows()
        assert rows.kernel_values.shape == (4, 30)
        np.testing.assert_array_equal(rows.slot_of, -1)
        np.testing.assert_array_equal(rows.row_in, -1)

    def test_each_thread_keeps_its_own_rows(self):
        X, _ = clouds(30)
        matrix = MatrixOnDemand(X, KernelFunction("rbf", 0.1), n_kept=4)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(matrix.rows).result()
        assert matrix.rows() is matrix.rows()
        assert matrix.rows() is not other


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("ends", [[50], [20, 21, 50]])
def test_sums_are_kernel_values_times_weights(n_threads, ends):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    weights[:20, 2] = weights[20:, :2] = 0.0
    kernel = KernelFunction("rbf", gamma=0.3)
    rows = np.array([3, 3, 49])
    parts = [slice(*both) for both in pairwise([0, *ends])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_matrix, "_SUM_BYTES", 1)  # blocks of one row
        sums = WholeMatrix(X, kernel, n_threads).sums(rows, weights, parts)
    np.testing.assert_allclose(sums, kernel.matrix(X[rows], X) @ weights, rtol=1e-5, atol=1e-5)
