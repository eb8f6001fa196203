import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from polytomy.errors import DataError
from polytomy.inputs.rows import bytes_of_data, merge_rows, stack_rows


def test_categories_of_parts_are_put_together():
    parts = [
        pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": [1, 2]}),
        pd.DataFrame({"a": pd.Categorical(["z"]), "b": [3]}),
    ]
    stacked = stack_rows(parts)
    assert stacked["a"].tolist() == ["x", "y", "z"]
    assert set(stacked["a"].cat.categories) == {"x", "y", "z"}
    assert stacked["b"].tolist() == [1, 2, 3]


def test_parts_without_rows_do_not_change_the_type_of_numbers():
    stacked = stack_rows([np.empty((0, 2)), np.ones((1, 2), np.float32)])
    assert stacked.dtype == np.float32
    merged = merge_rows(
        [np.empty((0, 2)), np.ones((1, 2), np.float32)], [np.empty(0, int), np.array([4])]
    )
    assert merged.dtype == np.float32


@pytest.mark.parametrize("convert", [np.array, csr_array, pd.DataFrame])
def test_rows_are_merged_by_their_numbers(convert):
    X = np.arange(8.0).reshape(4, 2)
    merged = merge_rows(
        [convert(X[[1, 3]]), convert(X[[0, 2, 3]])], [np.array([1, 3]), np.array([0, 2, 3])]
    )
    dense = merged.toarray() if hasattr(merged, "toarray") else np.asarray(merged)
    np.testing.assert_array_equal(dense, X)


def test_parts_of_different_types_are_refused():
    with pytest.raises(DataError, match=r"different types: DataFrame, ndarray\. Use one type"):
        stack_rows([np.ones((1, 1)), pd.DataFrame({"a": [1]})])


def test_sizes_in_memory():
    assert bytes_of_data(np.ones((3, 2))) == 48
    assert bytes_of_data(pd.DataFrame({"a": [1.0, 2.0]})) == 16
    X = csr_array(np.eye(3))
    assert bytes_of_data(X) == X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
