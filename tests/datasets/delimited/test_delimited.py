"""CSV and TSV files."""

import numpy as np
import pytest

from polytomy.datasets import open_blocks, read_data
from polytomy.errors import DataError

WAY_OUT = (
    '. Fill it in, or use missing="nan" with an estimator that accepts missing values, such as '
    "hist-gradient-boosting."
)
PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


def test_features_labels_names_and_line_numbers_are_read(write_file):
    data = read_data(write_file(PLANTS))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
    assert data.y.tolist() == ["oak", "corn", "oak"]
    assert data.feature_names == data.columns == ("height", "width")
    assert data.label_name == "kind"
    assert data.row_numbers.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", PLANTS.replace("\n", "\r\n")),
        ("p.csv", PLANTS.replace("\n", "\r")),
        ("p.csv", "\ufeff" + PLANTS),
        ("p.csv", PLANTS.replace(",", ";")),
        ("p.csv", PLANTS.replace(",", " , ")),
        ("p.csv", PLANTS.replace("oak", '"oak"').replace("1.5", '"1.5"')),
        ("p.csv", PLANTS.rstrip("\n")),
        ("p.tsv", PLANTS.replace(",", "\t")),
    ],
)
def test_every_way_to_write_a_table_gives_the_same_data(write_file, name, text):
    data = read_data(write_file(text, name))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
    assert data.y.tolist() == ["oak", "corn", "oak"]
    assert data.feature_names == ("height", "width")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ": the file is empty"),
        ("\n\n", ": the file is empty"),
        ("a,b,c\n", ": the file has a header but no data"),
        (PLANTS + "1,,oak", ', line 5, column 2 ("width"): the value is missing' + WAY_OUT),
        (PLANTS + "1,NA,oak", ', line 5, column 2 ("width"): the value is missing (NA)' + WAY_OUT),
        (
            PLANTS + "1,nan,oak",
            ', line 5, column 2 ("width"): the value is missing (nan)' + WAY_OUT,
        ),
        (PLANTS + "1,inf,oak", ', line 5, column 2 ("width"): inf is not a finite number'),
        (
            PLANTS + "1,1e999,oak",
            ', line 5, column 2 ("width"): 1e999 is too large for a 64-bit number',
        ),
        (
            PLANTS + "1,big,oak",
            ', line 5, column 2 ("width"): "big" is not a number. Use categories="one-hot" for '
            "text columns, or set target to the label column.",
        ),
        (PLANTS + "1,2,", ', line 5, column 3 ("kind"): the label is missing'),
        (PLANTS + "1,2", ", line 5: expected 3 fields; found 2"),
        (PLANTS + "1,2,3,oak", ", line 5: expected 3 fields; found 4"),
        (
            PLANTS + '1,2,"oak\nelm"\n',
            ", line 5: a quoted field does not end on this line. Put each sample on one line.",
        ),
        ("a\nb\n", ": there are no features besides the label"),
        (PLANTS + "1,\r2,oak", ", line 5: expected 3 fields; found 2"),
        (
            PLANTS + "1,2," + "x" * 131_073,
            ", line 5: a field is longer than 131,072 characters. Is a closing quote missing?",
        ),
        (
            PLANTS.encode() + b"1,2,\xff",
            ", line 5: byte 0xff is not UTF-8 text; save the file as UTF-8",
        ),
    ],
)
def test_a_mistake_is_an_error_with_its_place(write_file, read_error, text, words):
    assert read_error(write_file(text)) == f"plants.csv{words}"


def test_no_advice_on_text_columns_if_the_features_are_given(write_file, read_error):
    words = read_error(write_file(PLANTS + "1,big,oak"), features=["height", "width"])
    assert words == 'plants.csv, line 5, column 2 ("width"): "big" is not a number'


def test_the_number_of_columns_is_limited(write_file, read_error, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.delimited.MOST_COLUMNS", 10)
    path = write_file(",".join("1" * 10) + "\n")
    assert read_data(path, header=False).n_features == 9
    path = write_file(",".join("1" * 11) + "\n")
    assert read_error(path, header=False).endswith(
        "line 1: the line has more than 10 fields, the limit"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1,2,a\0\n1,2,a\n", "line 1, column 3: label 'a\\x00' has a NUL character"),
        (b"1,2,a\n1,2\0,b\n", 'line 2, column 2: "2'),
        (b"1,2,\xed\xa0\x80\n", "line 1: byte 0xed is not UTF-8 text; save the file as UTF-8"),
        ("1,2,a\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8 text; save the file as UTF-8"),
        (b'1,2,"a\n1,2,b\n', "line 1: a quoted field does not end on this line"),
        (b"1,2,a\n1,2," + b"b" * 5000, "is longer than the limit of 1000 characters"),
    ],
)
def test_text_that_is_not_text_is_an_error(write_file, read_error, content, words):
    assert words in read_error(write_file(content), header=False)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_quote_that_does_not_end_is_an_error_in_blocks_of_any_size(write_file, n_rows):
    path = write_file('a,y\n1,"p\n2,q\n')
    with pytest.raises(DataError, match="line 2: a quoted field does not end on this line"):
        list(open_blocks(path, n_rows=n_rows))
