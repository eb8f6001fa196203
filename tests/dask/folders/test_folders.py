import numpy as np
import pandas as pd
import pytest

from polytomy.dask import folders
from polytomy.dask.folders import (
    FilePart,
    FolderSurvey,
    list_data_files,
    merge_surveys,
    read_part,
    survey_file,
)
from polytomy.datasets.tables import ReadOptions
from polytomy.errors import ArgumentError, DataError


def survey(folder, *, target=-1, one_hot=False):
    files = list_data_files(folder)
    options = ReadOptions(target, categories="one-hot" if one_hot else "refuse")
    return files, merge_surveys(files, [survey_file(file, None, options) for file in files])


def read(file, found, target=-1):
    return read_part(FilePart(file), None, found.reading_options(ReadOptions(target)))


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)


def test_labels_have_the_type_that_all_files_allow(tmp_path):
    write(tmp_path, a="x,label\n1,3\n2,10\n", b="x,label\n4,7\n")
    files, found = survey(tmp_path)
    assert found.classes.tolist() == [3, 7, 10]
    assert found.n_rows == 3
    assert found.columns == ("x",)
    assert [read(file, found)[1].tolist() for file in files] == [[3, 10], [7]]
    write(tmp_path, c="x,label\n4,oak\n")
    files, found = survey(tmp_path)
    assert found.classes.tolist() == ["10", "3", "7", "oak"]
    assert read(files[0], found)[1].tolist() == ["3", "10"]


def test_text_columns_have_the_values_of_all_files(tmp_path):
    write(tmp_path, a="c,x,y\nred,1,0\n", b="c,x,y\nblue,2,1\nred,3,0\n")
    files, found = survey(tmp_path, one_hot=True)
    assert found.categories == {"c": ("blue", "red")}
    assert found.n_columns == 2
    X, y = read(files[1], found)
    assert X.tolist() == [[1, 0, 2], [0, 1, 3]]
    assert y.tolist() == [1, 0]


def test_parquet_files_without_rows_are_empty_parts(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": ["a", "b"]})
    frame.to_parquet(tmp_path / "part.0.parquet")
    frame[:0].to_parquet(tmp_path / "part.1.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.0.parquet.crc").touch()
    files, found = survey(tmp_path)
    assert [file.name for file in files] == ["part.0.parquet", "part.1.parquet"]
    assert found.n_rows == 2
    np.testing.assert_array_equal(read(files[0], found, "label")[0], [[1], [2]])


def test_a_file_is_a_folder_of_one_part(tmp_path):
    write(tmp_path, a="x,y\n1,0\n")
    assert list_data_files(tmp_path / "a.csv") == [tmp_path / "a.csv"]


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write(tmp_path, a="x,y\n1,0\n", b="x,z,y\n1,2,0\n")
    with pytest.raises(DataError, match=r"b\.csv: the columns are not those of .*a\.csv"):
        survey(tmp_path)
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match="files of the formats csv and parquet"):
        list_data_files(tmp_path)


def test_labels_of_parquet_files_must_be_of_one_kind(tmp_path):
    pd.DataFrame({"x": [1], "y": [0]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"x": [1], "y": ["b"]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: the labels are text, but not in the files"):
        survey(tmp_path)


def test_folders_without_data_are_refused(tmp_path):
    with pytest.raises(DataError, match="the folder has no Parquet, CSV or TSV files"):
        list_data_files(tmp_path)
    with pytest.raises(DataError, match="there is no such folder"):
        list_data_files(tmp_path / "none")
    (tmp_path / "a.npz").touch()
    with pytest.raises(ArgumentError, match='format="npz" cannot be read from a folder'):
        list_data_files(tmp_path, "npz")
    pd.DataFrame({"x": [1.0], "y": [0]})[:0].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match="the files have no rows"):
        survey(tmp_path)


def test_large_parquet_files_are_read_in_pieces(tmp_path, monkeypatch):
    frame = pd.DataFrame({"x": np.arange(10.0), "label": list("ababababab")})
    frame.to_parquet(tmp_path / "large.parquet", row_group_size=2)
    frame[:2].to_parquet(tmp_path / "small.parquet", row_group_size=1)
    monkeypatch.setattr(folders, "_PART_BYTES", 5 * 8)  # room for five rows
    (large, small), found = survey(tmp_path)
    assert found.parts == ((large, (0, 1)), (large, (2, 3)), (large, (4,)), (small, None))
    options = found.reading_options(ReadOptions())
    pieces = [read_part(part, None, options) for part in found.parts]
    np.testing.assert_array_equal(np.concatenate([X for X, _ in pieces[:3]]), frame[["x"]])
    np.testing.assert_array_equal(np.concatenate([y for _, y in pieces[:3]]), frame["label"])


def test_mistakes_in_a_piece_have_the_row_of_the_file(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, np.nan], "label": [0, 1, 0, 1]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    found = FolderSurvey(4, np.array([0, 1]), ("x",), 1, "label", {})
    with pytest.raises(DataError, match=r"a\.parquet, row 4, column 1"):
        read_part(
            FilePart(tmp_path / "a.parquet", (1,)), None, found.reading_options(ReadOptions())
        )


def test_text_files_without_rows_are_empty(tmp_path):
    write(tmp_path, a="x,label\n1,3\n", b="x,label\n", c="")
    files, found = survey(tmp_path)
    assert found.n_rows == 1
    assert found.parts == ((files[0], None),)
