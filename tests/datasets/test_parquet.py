"""Parquet files."""

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
    assert 'row 2, column 1 ("a"): the value is missing (nan)' in read_error(path)
    write(a=[1.0, float("inf")], kind=["x", "y"])
    assert 'row 2, column 1 ("a"): inf is not a finite number' in read_error(path)
    write(a=arrow.array([0, 1], arrow.timestamp("ms")), kind=["x", "y"])
    assert read_error(path).endswith("the column has type timestamp[ms], not a number")
    write(a=[1.0, 2.0], kind=["x", None])
    assert 'row 2, column 2 ("kind"): the value is missing' in read_error(path)
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
