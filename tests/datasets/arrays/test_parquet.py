"""Parquet files."""

import contextlib
from decimal import Decimal

import pytest

from polytomy.datasets import read_data


def test_a_mistake_is_an_error_with_its_row(tmp_path, read_error):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"

    def write(**columns):
        parquet.write_table(arrow.table(columns), path)

    write(a=[1.0, None], kind=["x", "y"])
    assert 'row 2, column 1 ("a"): the value is missing' in read_error(path)
    write(a=[1.0, float("nan")], kind=["x", "y"])
    assert 'row 2, column 1 ("a"): the value is missing. Fill it in' in read_error(path)
    write(a=[1.0, float("inf")], kind=["x", "y"])
    assert 'row 2, column 1 ("a"): inf is not a finite number' in read_error(path)
    write(a=arrow.array([0, 1], arrow.timestamp("ms")), kind=["x", "y"])
    assert read_error(path).endswith("the column has type timestamp[ms], not a number")
    write(a=[1.0, 2.0], kind=["x", None])
    assert 'row 2, column 2 ("kind"): the label is missing' in read_error(path)
    write(a=["r", "s"], kind=["x", "y"])
    assert read_error(path) == (
        'd.parquet, column 1 ("a"): the column has type string, not a number. Use '
        'categories="one-hot" for text columns.'
    )
    assert 'row 2, column 1 ("a"): "s" is not one of the known values r' in read_error(
        path, categories={"a": ["r"]}
    )
    write(a=arrow.array([], arrow.float64()), kind=arrow.array([], arrow.string()))
    assert "the file has no rows" in read_error(path)
    path.write_bytes(b"PAR1 no")
    assert "this is not a Parquet file" in read_error(path)


def test_booleans_are_numbers_and_dictionaries_are_text(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    columns = {"a": arrow.array([True, False]), "kind": arrow.array(["x", "y"]).dictionary_encode()}
    parquet.write_table(arrow.table(columns), path)
    data = read_data(path)
    assert data.X.tolist() == [[1], [0]]
    assert data.y.tolist() == ["x", "y"]


@pytest.fixture
def write_table(tmp_path):
    """Return a function that writes columns to a Parquet file and returns its path."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def write(**columns):
        parquet.write_table(arrow.table(columns), tmp_path / "d.parquet", compression="snappy")
        return tmp_path / "d.parquet"

    return write


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            [{"k": 1}, {"k": 2}],
            "the column has type struct<k: int64>; labels must be numbers, text",
        ),
        ([[1], [2]], "the column has type list<element: int64>; labels must be numbers, text or"),
        ([[1, 2], [3]], "labels must be numbers, text or booleans"),
        ([b"a", b"b"], "the column has type binary; labels must be numbers, text or booleans"),
        ([None, None], "the column has type null; labels must be numbers, text or booleans"),
        (["a", "b\0"], "label 'b\\x00' has a NUL character"),
        (["a", " "], 'label " " is blank'),
        (["a", "b" * 5000], "is longer than the limit of 1000 characters"),
    ],
)
def test_a_label_that_is_not_one_value_is_an_error(write_table, read_error, labels, words):
    message = read_error(write_table(a=[1.0, 2.0], kind=labels))
    assert words in message
    assert message.startswith("d.parquet, ")
    assert 'column 2 ("kind")' in message


def test_large_integers_stay_different_labels(write_table):
    arrow = pytest.importorskip("pyarrow")
    labels = [2**64 - 1, 2**64 - 2, 1]
    path = write_table(a=[1.0, 2.0, 3.0], kind=arrow.array(labels, arrow.uint64()))
    assert read_data(path).y.tolist() == labels


def test_a_damaged_page_is_an_error(write_table, read_error):
    path = write_table(a=[float(k % 7) for k in range(1000)], kind=["x", "y"] * 500)
    whole = path.read_bytes()
    messages = []
    for place in range(20, len(whole) // 2, 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with contextlib.suppress(pytest.fail.Exception):  # a value may still be valid
            messages.append(read_error(path))
    assert any("the Parquet file is damaged" in message for message in messages)


def test_the_index_of_a_frame_is_not_a_feature(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]}, index=[7, 5, 6])
    frame.to_parquet(tmp_path / "plain.parquet")
    data = read_data(tmp_path / "plain.parquet")
    assert data.feature_names == ("x",)
    assert data.y.tolist() == ["a", "b", "a"]
    frame.rename_axis("number").to_parquet(tmp_path / "named.parquet")
    assert read_data(tmp_path / "named.parquet", target="kind").feature_names == ("x",)
    asked = read_data(tmp_path / "named.parquet", target="kind", features=["number"])
    assert asked.X.tolist() == [[7], [5], [6]]


def test_decimals_are_numbers_and_empty_words_an_error_with_the_way_out(tmp_path, read_error):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    prices = arrow.array([Decimal("1.25"), Decimal("2.50")])
    parquet.write_table(arrow.table({"price": prices, "kind": ["x", "y"]}), path)
    assert read_data(path).X.tolist() == [[1.25], [2.5]]
    parquet.write_table(arrow.table({"colour": ["red", None], "kind": ["x", "y"]}), path)
    assert read_error(path, categories="one-hot") == (
        'd.parquet, row 2, column 1 ("colour"): the value is missing; write a word for it, such as '
        '"unknown"'
    )
