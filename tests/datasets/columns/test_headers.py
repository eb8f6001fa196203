"""Whether the first line of a table is a header."""

import pytest

from polytomy.datasets import read_data
from polytomy.datasets.columns import is_header
from polytomy.errors import DataError


@pytest.mark.parametrize(
    ("text", "has_header"),
    [
        ("1,2,oak\n3,4,elm", False),
        ("a,b,c\n3,4,elm", True),
        ("0,1,2,label\n3,4,5,elm", True),  # a data frame with unnamed columns
        ("0,1,3,label\n3,4,5,elm", False),
    ],
)
def test_a_header_is_detected(write_file, text, has_header):
    data = read_data(write_file(text))
    assert len(data.X) == (1 if has_header else 2)
    assert (data.feature_names is not None) == has_header


def test_a_header_of_numbers_is_recognised_by_the_requested_names(write_file):
    path = write_file("2001,2007,2009\n1,2,7\n3,4,8\n")
    for target in ("2009", 2009):
        data = read_data(path, target=target)
        assert data.X.tolist() == [[1, 2], [3, 4]]
        assert data.feature_names == ("2001", "2007")
        assert data.y.tolist() == [7, 8]
    data = read_data(path, target=None, features=["2007", "2001"])
    assert data.X.tolist() == [[2, 1], [4, 3]]
    assert len(read_data(path).X) == 3  # nothing shows that it is a header


@pytest.mark.parametrize("first", ["1,2,3,4", "400,410,420,kind", "kind,2001,2002,2003", "9,7,5,3"])
def test_an_ambiguous_first_line_is_an_error(write_file, read_error, first):
    text = f"{first}\n0.5,0.25,0.5,1\n"
    words = read_error(write_file(text))
    assert words.startswith(f"plants.csv, line 1: {', '.join(first.split(',')[:3])} … may be ")
    assert words.endswith("may be column names or a sample. Use header=True or header=False.")
    path = write_file(text.replace("kind", "8"))
    assert len(read_data(path, header=True).X) == 1
    assert len(read_data(path, header=False).X) == 2
    # If the number of features is known, the line is a sample.
    assert len(read_data(path, features=3).X) == 2


@pytest.mark.parametrize("first", ["1,1,1,1", "1,2,4,8", "1,2", "0.5,1,1.5,2", "1,2,oak"])
def test_other_numbers_are_samples(write_file, first):
    assert len(read_data(write_file(f"{first}\n{first}\n")).X) == 2


def test_a_word_in_the_first_line_may_be_a_name(write_file, read_error):
    words = read_error(write_file("height,2,oak\n1,2,elm\n"))
    assert 'line 1, column 1: "height" is not a number.' in words
    assert words.endswith(" Use header=True if this line names the columns.")
    assert "header" not in read_error(write_file("1,2,oak\nheight,2,elm\n"))


def test_header_overrides_detection(write_file):
    assert read_data(write_file("1,2,3\n4,5,6"), header=True).feature_names == ("1", "2")
    kinds = read_data(write_file("a,b\na,c"), header=False, categories="one-hot")
    assert kinds.y.tolist() == ["b", "c"]


def test_an_ambiguous_line_is_reported_with_its_number():
    with pytest.raises(DataError, match=r"^a\.csv, line 7: 1, 2, 3 … may be"):
        is_header(["1", "2", "3"], -1, None, "a.csv", 7)


def test_numbers_of_thousands_of_digits_are_only_text(write_file):
    first = ",".join(f"{k}{'9' * 5000}" for k in range(1, 5))
    assert read_data(write_file(f"{first}\n1,2,3,oak\n"), header=True).X.tolist() == [[1, 2, 3]]
    assert not is_header(["1", "5", "9" * 5000], -1, None, "d.csv", 1)
