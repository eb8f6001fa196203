import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from polytomy.learners.svm.machines import pool_by_bytes, pool_by_index


def repeated_rows(seed: int, n_matrices: int) -> list[np.ndarray]:
    """Matrices whose rows come from a few different ones, with repeats inside a matrix too."""
    rng = np.random.default_rng(seed)
    known = np.where(rng.uniform(size=(6, 3)) < 0.6, rng.normal(size=(6, 3)), 0.0)
    return [known[rng.integers(6, size=rng.integers(1, 8))] for _ in range(n_matrices)]


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
@settings(deadline=None)
def test_each_machine_finds_its_own_rows_and_no_row_is_there_twice(seed, n_matrices, sparse):
    matrices = repeated_rows(seed, n_matrices)
    pool = pool_by_bytes([csr_array(each) for each in matrices] if sparse else matrices)
    vectors = pool.vectors.toarray() if sparse else pool.vectors
    for matrix, places in zip(matrices, pool.places, strict=True):
        np.testing.assert_array_equal(vectors[pool.rows[places]], matrix)
    n_different = len(np.unique(np.concatenate(matrices), axis=0))
    assert len(pool.rows) == len(vectors) == n_different


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, unique=True), min_size=1, max_size=5))
def test_rows_of_one_matrix_are_found_by_their_index(supports):
    vectors = np.arange(10.0)[:, np.newaxis]
    pool = pool_by_index(vectors, [np.array(each) for each in supports])
    assert pool.vectors is vectors
    for support, places in zip(supports, pool.places, strict=True):
        np.testing.assert_array_equal(pool.rows[places], support)
    assert set(pool.rows.tolist()) == {row for support in supports for row in support}


def test_sparse_rows_in_parts_are_put_together_without_a_change_of_the_given():
    split = coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2)).tocsr()
    split.has_canonical_format = False
    split.data, split.indices = np.array([1.0, 2.0]), np.array([1, 1], dtype=split.indices.dtype)
    split.indptr = np.array([0, 2], dtype=split.indptr.dtype)
    pool = pool_by_index(split, [np.array([0])])
    assert pool.vectors.data.tolist() == [3.0]
    assert split.data.tolist() == [1.0, 2.0]


def test_rows_without_features_are_all_the_same():
    pool = pool_by_bytes([np.empty((2, 0)), np.empty((1, 0))])
    assert [places.tolist() for places in pool.places] == [[0, 0], [0]]
