import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_array

from polytomy.inputs.sparse import is_sparse


@pytest.mark.parametrize("make", [coo_matrix, csr_array])
def test_matrices_and_arrays_of_scipy_are_sparse(make):
    assert is_sparse(make(np.eye(2)))


@pytest.mark.parametrize("X", [np.eye(2), [[0.0]], None])
def test_other_data_is_not_sparse(X):
    assert not is_sparse(X)
