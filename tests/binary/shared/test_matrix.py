import numpy as np
import pytest
from sklearn.svm import SVC

from polytomy.binary.kernel_functions import KernelFunction
from polytomy.binary.shared.matrix import SharedMatrix
from shared_kernel_cases import clouds, rest, share


class TestSinglePrecision:
    """The matrix is in single precision, as LIBSVM's own kernel values are."""

    @pytest.mark.parametrize("gamma", [0.01, 0.3])
    def test_kernel_values_are_as_good_as_libsvms(self, gamma):
        X, _ = clouds(700, n_features=20)
        exact = KernelFunction("rbf", gamma=gamma).matrix(X, X)
        found = SharedMatrix(X, "rbf", KernelFunction("rbf", gamma=gamma), n_threads=2).entries
        # Half a unit in the last place of 1 is 2⁻²⁵; here it is the distance, its multiple by
        # gamma and the exponential that are rounded.
        assert np.abs(found - exact).max() < 4 * 2.0**-24
        np.testing.assert_array_equal(found, found.T)

    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_decisions_are_hardly_affected(self, kernel):
        X, codes = clouds(300, 2, spread=2.0)
        problem = rest(codes, 1)
        (binary,) = share(SVC(kernel=kernel, tol=1e-6), X, [problem], calibration=None)
        svc = SVC(kernel=kernel, tol=1e-6).fit(X, problem.targets)
        np.testing.assert_allclose(binary.scores(X), svc.decision_function(X), rtol=0, atol=2e-5)
