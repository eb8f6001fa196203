import numpy as np
import pandas as pd
import pytest

from polytomy.dask.estimator import list_data_files, read_first
from polytomy.errors import DataError


def test_hidden_files_are_not_data(tmp_path):
    for name in "part.0.parquet", "part.1.parquet", "_SUCCESS", ".part.0.parquet.crc":
        (tmp_path / name).touch()
    assert [file.name for file in list_data_files(tmp_path)] == ["part.0.parquet", "part.1.parquet"]


def test_a_file_is_a_folder_of_one_part(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,0\n")
    assert list_data_files(tmp_path / "a.csv") == [tmp_path / "a.csv"]


def test_the_first_file_with_rows_gives_the_columns(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": ["a", "b"]})
    frame[:0].to_parquet(tmp_path / "0.parquet")
    frame.to_parquet(tmp_path / "1.parquet")
    first = read_first(list_data_files(tmp_path))
    assert first.columns == ("x",)
    assert first.label_name == "label"
    np.testing.assert_array_equal(first.X, [[1.0]])


def test_folders_without_data_are_refused(tmp_path):
    with pytest.raises(DataError, match="the folder has no files"):
        list_data_files(tmp_path)
    with pytest.raises(DataError, match="there is no such folder"):
        list_data_files(tmp_path / "none")
    (tmp_path / "a.csv").write_text("x,label\n")
    (tmp_path / "b.csv").touch()
    with pytest.raises(DataError, match="the files have no rows"):
        read_first(list_data_files(tmp_path))
