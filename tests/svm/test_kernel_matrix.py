import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.kernel_matrix import SharedMatrix
from shared_kernel_cases import clouds, rest, share


class TestSinglePrecision:
    """Kernel values are in single precision, as LIBSVM's own are."""

    @pytest.mark.parametrize("gamma", [0.01, 0.3])
    def test_kernel_values_are_rounded_once(self, gamma):
        X, _ = clouds(700, n_features=20)
        kernel = KernelFunction("rbf", gamma=gamma)
        exact = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
        found = SharedMatrix(X, "rbf", kernel, n_threads=2).rows().kernel_values
        np.testing.assert_allclose(found, exact, rtol=2.0**-24 * (1 + 1e-4), atol=2e-38)
        np.testing.assert_array_equal(found, found.T)

    def test_what_is_not_finished_is_in_double_precision(self):
        X, _ = clouds(400, n_features=20)
        distances = SharedMatrix(X, "rbf", n_threads=2).rows().entries
        np.testing.assert_allclose(distances, cdist(X, X, "sqeuclidean"), rtol=1e-12, atol=1e-11)
        products = SharedMatrix(X, "poly").rows().entries
        np.testing.assert_allclose(products, X @ X.T, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_decisions_are_hardly_affected(self, kernel):
        X, codes = clouds(300, 2, spread=2.0)
        problem = rest(codes, 1)
        (binary,) = share(SVC(kernel=kernel, tol=1e-6), X, [problem], calibration=None)
        svc = SVC(kernel=kernel, tol=1e-6).fit(X, problem.targets)
        np.testing.assert_allclose(binary.scores(X), svc.decision_function(X), rtol=0, atol=2e-5)
