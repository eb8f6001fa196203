import numpy as np
import pytest

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pytest.importorskip("distributed")

from polytomy.dask.grouping import is_collection, list_delayed, make_parts  # noqa: E402
from polytomy.errors import ArgumentError  # noqa: E402

X = np.arange(24.0).reshape(8, 3)
y = np.arange(8)


def test_labels_are_divided_as_the_samples_are():
    parts = make_parts(da.from_array(X, (3, 2)), da.from_array(y, 8))
    found = dask.compute(*[(part.X, part.y) for part in parts], scheduler="sync")
    np.testing.assert_array_equal(np.concatenate([each[0] for each in found]), X)
    assert [each[1].tolist() for each in found] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_a_column_of_labels_may_have_two_dimensions():
    (part,) = make_parts(da.from_array(X), da.from_array(y[:, np.newaxis]))
    assert part.y.compute(scheduler="sync").tolist() == y.tolist()


def test_collections_and_lists_of_delayed_parts_are_told_from_other_data():
    frame = dd.from_pandas(pd.DataFrame({"a": y}), npartitions=2)
    assert is_collection(frame)
    assert is_collection([dask.delayed(X)])
    assert not is_collection(X)
    assert not is_collection([])
    assert len(list_delayed(frame)) == 2


@pytest.mark.parametrize(
    ("samples", "labels", "words"),
    [
        (X, y, "X must be a dask array, a dask dataframe or a list of delayed parts; got ndarray"),
        (da.from_array(X), y, "y must be a dask array, a dask series or a list of delayed parts"),
        (da.from_array(y), da.from_array(y), r"X must have two dimensions; it has shape \(8,\)"),
        (da.from_array(X), da.from_array(y[:5]), "X has 8 rows, but y has 5"),
        (da.from_array(X), da.from_array(X), r"y must have one dimension; it has shape \(8, 3\)"),
        (
            [dask.delayed(X), dask.delayed(X)],
            [dask.delayed(y)],
            "X has 2 parts, but y has 1. Divide both in the same way",
        ),
    ],
)
def test_data_that_does_not_fit_together_is_refused(samples, labels, words):
    with pytest.raises(ArgumentError, match=words):
        make_parts(samples, labels)
