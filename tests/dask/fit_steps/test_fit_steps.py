import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

pytest.importorskip("distributed")

from polytomy.dask.fit_steps import find_moments, find_variance
from polytomy.dask.grouping import RowBlock


def block_of(X):
    return RowBlock(X, np.arange(X.shape[0]), np.zeros(X.shape[0], dtype=int))


@given(st.integers(0, 999), st.integers(1, 6), st.floats(-1e6, 1e6), st.booleans())
def test_the_variance_of_parts_is_that_of_the_whole(seed, n_parts, shift, is_sparse):
    X = np.random.default_rng(seed).normal(size=(30, 3)) + shift
    convert = csr_array if is_sparse else np.asarray
    parts = [find_moments(block_of(convert(part))) for part in np.array_split(X, n_parts)]
    assert find_variance(parts) == pytest.approx(X.var(), rel=1e-8)
    assert {part.n_features for part in parts} == {3}


def test_text_has_no_moments():
    assert find_moments(block_of(np.array([["a"]], dtype=object))) is None
