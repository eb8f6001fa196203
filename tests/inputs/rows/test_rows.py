"""Rows and columns of arrays, sparse data, frames and lists."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polytomy.errors import DataError
from polytomy.inputs.rows import (
    count_rows,
    take_block,
    take_columns,
    take_rows,
    take_values,
    unchangeable,
)

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


def test_frames_and_lists_keep_their_kind():
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    # Rows are positions, whatever the labels of a frame's index.
    frame = pd.DataFrame(columns, index=[3, 2, 1, 0])
    for data in frame, pl.DataFrame(columns):
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


@given(arrays(np.int64, st.tuples(st.integers(1, 6), st.just(2))), st.data())
def test_rows_of_every_kind_of_data_are_those_of_the_array(values, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), max_size=8)), dtype=np.intp)
    for make, back in [
        (np.asarray, np.asarray),
        (scipy.sparse.coo_array, lambda taken: taken.toarray()),
        (lambda X: pd.DataFrame(X, columns=["a", "b"]), np.asarray),
        (lambda X: pl.DataFrame(X, schema=["a", "b"], orient="row"), np.asarray),
        (lambda X: X.tolist(), lambda taken: np.array(taken).reshape(-1, 2)),
    ]:
        np.testing.assert_array_equal(back(take_rows(make(values), rows)), values[rows])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(4), [1, 3]),
        (["a", "b", "c", "d"], ["b", "d"]),
        ((1, 2, 3, 4), [2, 4]),
        (pd.Series([1, 2, 3, 4]), [2, 4]),
    ],
)
def test_an_argument_with_a_value_for_each_row_is_cut(value, expected):
    assert list(take_values(value, np.array([1, 3]), 4)) == expected


@pytest.mark.parametrize("value", [np.arange(3), ["a", "b"], 4, None, "abcd", np.float64(4)])
def test_any_other_argument_is_not_changed(value):
    assert take_values(value, np.array([1, 3]), 4) is value


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, scipy.sparse.csr_array])
def test_data_cannot_be_changed_through_the_result(make):
    data = make(X)
    protected = unchangeable(data)
    if make is np.array:
        with pytest.raises(ValueError, match="read-only"):
            protected[0, 0] = 7
    elif make is pd.DataFrame:
        protected.iloc[0, 0] = 7
    else:
        protected.data[:] = 7
    np.testing.assert_array_equal(data.toarray() if hasattr(data, "toarray") else data, X)


@pytest.mark.parametrize(("value", "kind"), [(None, "NoneType"), (np.float64(3), "float64")])
def test_values_without_rows_are_an_error(value, kind):
    with pytest.raises(DataError) as error:
        count_rows(value)
    assert str(error.value) == (
        f"X is a {kind}, which has no rows; it needs one row for each sample."
    )
