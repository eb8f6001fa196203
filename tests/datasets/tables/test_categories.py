"""One-hot encoding of text columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.datasets import open_blocks, read_data
from polytomy.datasets.columns import CategoryIndex
from polytomy.datasets.tables import encode_one_hot, expand_names
from polytomy.errors import ArgumentError, DataError

COLOURS = "colour,size,kind\nred,1,a\nblue,2,b\nred,3,a"


def test_a_text_column_becomes_a_feature_for_each_value(write_file):
    data = read_data(write_file(COLOURS), categories="one-hot")
    assert data.feature_names == ("colour=blue", "colour=red", "size")
    np.testing.assert_array_equal(data.X, [[0, 1, 1], [1, 0, 2], [0, 1, 3]])
    assert data.categories == {"colour": ("blue", "red")}
    assert data.columns == ("colour", "size")


def test_known_categories_give_the_same_features_in_blocks(write_file):
    path = write_file(COLOURS)
    whole = read_data(path, categories="one-hot")
    blocks = list(open_blocks(path, n_rows=1, categories=whole.categories))
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), whole.X)
    assert blocks[0].feature_names == whole.feature_names


def test_an_unknown_value_is_an_error_with_its_place(write_file):
    words = r'line 2, column 1 .*"red" is not one of the known values blue\. Correct it, leave out'
    with pytest.raises(DataError, match=words):
        list(open_blocks(write_file(COLOURS), categories={"colour": ["blue"]}))


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        (["weight"], 'categories has "weight", which is not a feature of .*colour, size'),
        ("some", '^categories must be "refuse", "one-hot", a list of columns or .*; got "some"'),
    ],
)
def test_invalid_categories_are_an_error(write_file, categories, words):
    with pytest.raises(ArgumentError, match=words):
        read_data(write_file(COLOURS), categories=categories)


def test_blocks_cannot_find_all_values(write_file):
    with pytest.raises(ArgumentError, match='categories="one-hot" needs the whole file'):
        open_blocks(write_file(COLOURS), categories="one-hot")


@given(st.lists(st.sampled_from(["red", "blue", "green"]), min_size=1))
def test_every_row_of_a_one_hot_column_marks_its_value(texts):
    index = CategoryIndex()
    column = np.array([[7.0, index.number(text)] for text in texts])
    X, values_of = encode_one_hot(column, {1: index.values})
    assert values_of == {1: tuple(sorted(set(texts)))}
    np.testing.assert_array_equal(X[:, 0], 7)
    np.testing.assert_array_equal(X[:, 1:].sum(axis=1), 1)
    assert [values_of[1][i] for i in X[:, 1:].argmax(axis=1)] == texts
    assert len(expand_names(["size", "colour"], values_of)) == X.shape[1]


def test_an_index_with_given_values_takes_no_others():
    index = CategoryIndex(["red", "blue"])
    assert index.number(" blue ") == 1
    with pytest.raises(ValueError, match="the value is missing"):
        index.number(" ")
    with pytest.raises(ValueError, match='"green" is not one of the known values red, blue'):
        index.number("green")
    assert index.values == ("red", "blue")
