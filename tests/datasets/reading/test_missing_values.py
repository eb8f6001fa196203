"""Missing values: an error that names the way out, or NaN."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from polytomy.datasets import open_blocks, read_data
from polytomy.errors import ArgumentError

WAY_OUT = (
    '. Fill it in, or use missing="nan" with an estimator that accepts missing values, such as '
    "hist-gradient-boosting."
)
NAN = float("nan")


def _write(path, kind):
    X = np.array([[1.0, 2.0], [NAN, 3.0], [5.0, NAN]])
    if kind == "csv":
        path.write_text("a,b,label\n1,2,oak\nNA,3,corn\n5,?,oak\n")
    elif kind == "odd.csv":  # spelt as pyarrow does not expect it
        path.write_text("a,b,label\n+1,2,oak\nnUlL,3,corn\n5, ,oak\n")
    elif kind == "npz":
        np.savez(path, X=X, y=np.array(["oak", "corn", "oak"]), feature_names=["a", "b"])
    else:
        columns = {"a": [1, None, 5], "b": [2.0, 3.0, NAN], "label": ["oak", "corn", "oak"]}
        parquet.write_table(pa.table(columns), path)
    return X


@pytest.mark.parametrize("kind", ["csv", "odd.csv", "npz", "parquet"])
def test_missing_values_become_nan_if_they_may(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    X = _write(path, kind)
    data = read_data(path, missing="nan")
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == ["oak", "corn", "oak"]
    blocks = list(open_blocks(path, n_rows=1, missing="nan"))
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X)


@pytest.mark.parametrize(
    ("kind", "place", "what"),
    [
        ("csv", 'line 3, column 1 ("a")', "the value is missing (NA)"),
        ("odd.csv", 'line 3, column 1 ("a")', "the value is missing (nUlL)"),
        ("npz", 'row 2, column 1 ("a")', "the value is missing (nan)"),
        ("parquet", 'row 2, column 1 ("a")', "the value is missing"),
    ],
)
def test_missing_values_are_an_error_with_the_way_out(tmp_path, read_error, kind, place, what):
    path = tmp_path / f"d.{kind}"
    _write(path, kind)
    assert read_error(path) == f"{path.name}, {place}: {what}{WAY_OUT}"


@pytest.mark.parametrize("missing", ["refuse", "nan"])
def test_a_missing_label_and_infinity_are_always_errors(tmp_path, read_error, missing):
    path = tmp_path / "d.csv"
    path.write_text("a,label\n1,oak\n2,\n")
    assert 'line 3, column 2 ("label"): the label is missing' in read_error(path, missing=missing)
    path.write_text("a,label\n1,oak\ninf,oak\n")
    assert "inf is not a finite number" in read_error(path, missing=missing)


def test_other_ways_to_treat_missing_values_are_refused(tmp_path):
    (tmp_path / "d.csv").write_text("1,oak\n")
    with pytest.raises(ArgumentError, match='missing must be "refuse" or "nan"; got \'mean\''):
        read_data(tmp_path / "d.csv", missing="mean")
