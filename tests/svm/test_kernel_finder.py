import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from polytomy.svm.kernel_finder import KernelFinder
from polytomy.svm.kernel_functions import KernelFunction


class TestKernelFinder:
    @given(st.integers(2, 30), st.floats(-1e3, 1e3), st.integers(0, 10**6))
    def test_gamma_is_that_of_scikit_learn(self, n, shift, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 3)) + shift
        rows = np.sort(rng.permutation(40)[:n])
        # For sparse data, scikit-learn itself takes the difference of two means.
        for data, digits in (X, 1e-10), (scipy.sparse.csr_array(X), 1e-15 * (10 + shift**2) * 100):
            expected = KernelFunction.from_parameters(SVC(), data[rows])
            parts = np.isin(np.arange(40), rows)[np.newaxis]
            (found,) = KernelFinder(data).kernels_of(SVC(), np.arange(40), parts)
            assert found.gamma == pytest.approx(expected.gamma, rel=digits)

    def test_data_without_variance_has_the_gamma_of_scikit_learn(self):
        X = np.vstack([np.full((5, 2), 0.1), np.ones((5, 2))])
        parts = np.array([np.arange(10) < 5, np.arange(10) >= 5])
        for part, found in zip(
            parts, KernelFinder(X).kernels_of(SVC(), np.arange(10), parts), strict=True
        ):
            assert found == KernelFunction.from_parameters(SVC(), X[part])

    def test_the_linear_kernel_has_no_gamma(self):
        kernels = KernelFinder(np.eye(3)).kernels_of(
            SVC(kernel="linear"), np.arange(3), np.ones((2, 3), dtype=bool)
        )
        assert kernels == [KernelFunction("linear")] * 2
