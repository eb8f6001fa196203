"""Checks of blocks of numbers."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from polytomy.datasets.tables import ReadOptions, check_finite
from polytomy.errors import DataError


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_the_first_value_that_is_not_finite_is_reported(convert):
    X = np.array([[1, 0, 2], [0, 0, np.inf], [np.nan, 0, 0]])
    words = r'^a\.npz, row 8, column 3 \("c"\): inf is not a finite number$'
    with pytest.raises(DataError, match=words):
        check_finite(convert(X), np.array([7, 8, 9]), "a.npz", ReadOptions(), ("a", "b", "c"))


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_finite_values_pass(convert):
    check_finite(convert(np.eye(3)), np.arange(3), "a.npz", ReadOptions())
