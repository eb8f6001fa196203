"""The columns of a table that are read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.datasets import read_data
from polytomy.datasets.columns import choose_columns
from polytomy.errors import DataError

PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


@pytest.mark.parametrize("target", ["kind", 2, -1])
def test_the_label_is_found_by_name_or_position(write_file, target):
    assert read_data(write_file(PLANTS), target=target).y.tolist() == ["oak", "corn", "oak"]


def test_the_label_may_be_in_any_column_or_none(write_file):
    data = read_data(write_file("kind,height\noak,1\nelm,2"), target="kind")
    assert data.X.tolist() == [[1], [2]]
    assert read_data(write_file("1,2\n3,4"), target=None).X.tolist() == [[1, 2], [3, 4]]


def test_features_are_picked_by_name_in_the_requested_order(write_file):
    data = read_data(write_file(PLANTS), target=None, features=["width", "height"])
    np.testing.assert_array_equal(data.X[0], [2, 1.5])
    assert data.feature_names == ("width", "height")
    assert data.y is None


@given(st.integers(2, 9), st.data())
def test_without_features_every_column_but_the_label_is_one(n_columns, draw):
    target = draw.draw(st.integers(-n_columns, n_columns - 1))
    columns = choose_columns("a.csv", n_columns, None, target, None)
    assert columns.target == target % n_columns
    assert sorted([*columns.features, columns.target]) == list(range(n_columns))
    assert [columns.name_of(i) for i in range(2)] == ["x1", "x2"]


@pytest.mark.parametrize(
    ("names", "target", "features", "message"),
    [
        (
            "height,width,kind",
            "kin",
            None,
            'a.csv: there is no column "kin"; the columns are height, width, kind. '
            'Did you mean "kind"?',
        ),
        (
            "height,width,kind",
            3,
            None,
            "a.csv: there is no column 3 for the label; the positions of the columns are 0 to 2",
        ),
        (
            None,
            "kind",
            None,
            'a.csv: without a header, no column is named "kind". Use header=True if the first '
            "line names the columns, or set target to a position: 0 is the first column, -1 the "
            "last.",
        ),
        (
            "height,width,kind",
            "kind",
            ["width", "a", "b", "c"],
            'a.csv: there is no column "a"; the columns are height, width, kind. 2 more columns '
            "are missing.",
        ),
        (
            "height,width,kind",
            "kind",
            ["aaa", "bbb"],
            'a.csv: there is no column "aaa"; the columns are height, width, kind. 1 more column '
            "is missing.",
        ),
        (
            None,
            None,
            2,
            "a.csv: expected 2 features; found 3 columns. If one of them is the label, say which: "
            "target=-1 is the last column.",
        ),
        (None, None, 7, "a.csv: expected 7 features; found 3 columns."),
        (
            None,
            -1,
            ["a", "b", "c"],
            "a.csv: expected 3 features; found 2 columns besides the label. If no column is the "
            "label, use target=None.",
        ),
        (None, -1, 1, "a.csv: expected 1 feature; found 2 columns besides the label."),
        (
            "a,a,b",
            -1,
            None,
            'a.csv: the header has the name "a" twice. Rename one of the columns, or use '
            "header=False if the first line is not a header.",
        ),
    ],
)
def test_columns_that_do_not_exist_are_an_error(names, target, features, message):
    with pytest.raises(DataError) as info:
        choose_columns("a.csv", 3, names and names.split(","), target, features)
    assert str(info.value) == message


def test_a_label_without_features_is_an_error():
    with pytest.raises(DataError, match=r"^a\.csv: there are no features besides the label$"):
        choose_columns("a.csv", 1, None, 0, None)


def test_a_hundred_thousand_columns_are_chosen_at_once():
    names = [f"column {k}" for k in range(100_000)]
    assert choose_columns("a.csv", 100_000, names, None, names[::-1]).features[0] == 99_999
    with pytest.raises(DataError, match=r'the header has the name "column 7" twice'):
        choose_columns("a.csv", 100_000, [*names[:-1], "column 7"], None, None)
    with pytest.raises(DataError, match=r"99999 more columns are missing"):
        choose_columns("a.csv", 100_000, names, None, [f"no {k}" for k in range(100_000)])


def test_long_names_are_cut_in_messages():
    with pytest.raises(DataError) as error:
        choose_columns("a.csv", 2, ["a" * 5000, "a" * 5000], None, None)
    assert len(str(error.value)) < 300
