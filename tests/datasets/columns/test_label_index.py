"""Labels: their numbers, types and classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.datasets import Data, open_blocks, read_data, write_data
from polytomy.datasets.columns import LabelIndex, number_labels, show_label
from polytomy.errors import DataError

PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


_WORDS = st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text)


@given(st.lists(_WORDS, min_size=1))
def test_numbers_stand_for_the_labels_as_they_were_written(texts):
    index = LabelIndex()
    numbers = [index.number(text) for text in texts]
    assert index.labels(numbers, are_all=False).tolist() == np.array(texts).tolist()
    assert sorted(set(numbers)) == list(range(len(set(texts))))


def test_labels_have_the_type_that_fits_all(write_file):
    assert read_data(write_file("1,3\n1,-4")).y.dtype == np.int64
    assert read_data(write_file("1,3\n1,4.5")).y.tolist() == [3.0, 4.5]
    assert read_data(write_file("1,3\n1,b")).y.tolist() == ["3", "b"]
    assert read_data(write_file("1,007\n1,8")).y.tolist() == ["007", "8"]


def test_an_unknown_label_is_an_error_with_its_line(write_file, read_error):
    words = 'plants.csv, line 3, column 3 ("kind"): label "corn" is not one of the classes elm, oak'
    assert read_error(write_file(PLANTS), classes=["elm", "oak"]) == words


@pytest.mark.parametrize("name", ["d.svm", "d.npz", "d.vec", "d.parquet"])
def test_an_unknown_label_is_an_error_in_every_format(tmp_path, read_error, name):
    write_data(tmp_path / name, Data(np.eye(3), np.array([0, 1, 2]), None, np.arange(3)))
    words = read_error(tmp_path / name, classes=[0, 1])
    assert 'row 3: label "2" is not one of the classes 0, 1' in words


def test_labels_match_classes_by_spelling_or_by_value(write_file):
    path = write_file("1,1.0\n1,2")
    assert read_data(path, classes=np.array([1, 2])).y.tolist() == [1, 2]
    assert next(open_blocks(path, classes=[1, 2])).y.dtype == np.int64
    assert next(open_blocks(path)).y.tolist() == ["1.0", "2"]


def test_a_label_is_found_among_many_classes_without_a_look_at_each():
    index = LabelIndex(np.arange(20_000))
    # A look at each would take minutes.
    assert [index.number(f"{k}.0") for k in range(20_000)] == list(range(20_000))


def test_a_label_that_matches_two_classes_by_value_is_unknown():
    with pytest.raises(ValueError, match=r"is not one of the classes 1, 1\.0"):
        LabelIndex(["1", "1.0"]).number("1.00")


def test_a_missing_label_is_an_error_with_its_row():
    labels, rows = np.array([1.0, np.nan]), np.array([4, 9])
    with pytest.raises(DataError, match=r"^a\.npz, row 9: the label is missing \(nan\)$"):
        number_labels(LabelIndex(), labels, rows, "a.npz")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (" ", "is blank"),
        ("a\0", "has a NUL character"),
        ("\ud800", "is not valid Unicode text"),
        ("a" * 1001, "is longer than the limit of 1000 characters"),
    ],
)
def test_text_that_cannot_be_a_label_is_refused(label, words):
    with pytest.raises(ValueError, match=words):
        LabelIndex().number(label)


def test_labels_in_messages_are_short_and_printable():
    assert show_label("oak") == '"oak"'
    assert show_label(3.0) == '"3"'
    assert show_label("a\0") == r"'a\x00'"
    assert show_label("a" * 50) == f'"{"a" * 40}…"'


def test_small_and_large_integers_stay_integers():
    labels = [1, 2**64 - 1, 2**64 - 2]
    index = LabelIndex()
    numbers = [index.number(label) for label in labels]
    assert index.labels(numbers).tolist() == labels
