import numpy as np
import pytest
import scipy.sparse

from polytomy.errors import DataError
from polytomy.inputs.rows import count_rows, take_block, take_columns, take_rows

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_data_of_every_format_stays_sparse(make, format_):
    data = make(X).asformat(format_)
    assert count_rows(data) == 4
    for taken, expected in [
        (take_rows(data, np.array([1, 3])), X[[1, 3]]),
        (take_columns(data, np.array([0, 2])), X[:, [0, 2]]),
    ]:
        assert isinstance(taken, scipy.sparse.sparray) == isinstance(data, scipy.sparse.sparray)
        np.testing.assert_array_equal(taken.toarray(), expected)


def test_frames_and_lists():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    # Rows are places, whatever the labels of a frame's index.
    frame = pandas.DataFrame(columns, index=[3, 2, 1, 0])
    for data in frame, polars.DataFrame(columns):
        assert count_rows(data) == 4
        assert list(take_rows(data, np.array([1, 3])).columns) == ["a", "b", "c"]
        np.testing.assert_array_equal(take_rows(data, np.array([1, 3])), X[[1, 3]])
    assert count_rows(X.tolist()) == 4
    assert take_rows(X.tolist(), np.array([1, 3])) == X[[1, 3]].tolist()


def test_all_rows_are_the_data_itself_but_cannot_be_changed():
    rows = take_rows(X, np.arange(4))
    assert np.shares_memory(rows, X)
    assert not rows.flags.writeable
    assert X.flags.writeable


def test_a_block_is_a_view_of_an_array_and_a_part_of_other_data():
    assert np.shares_memory(take_block(X, slice(1, 3)), X)
    np.testing.assert_array_equal(take_block(X, slice(1, 3)), X[1:3])
    sparse = take_block(scipy.sparse.coo_array(X), slice(2, None))
    np.testing.assert_array_equal(sparse.toarray(), X[2:])
    assert take_block(X.tolist(), slice(0, 2)) == X[:2].tolist()


@pytest.mark.parametrize(("value", "kind"), [(None, "NoneType"), (np.float64(3), "float64")])
def test_values_without_rows_are_an_error(value, kind):
    with pytest.raises(DataError) as error:
        count_rows(value)
    assert str(error.value) == (
        f"X is a {kind}, which has no rows; it needs one row for each sample."
    )
