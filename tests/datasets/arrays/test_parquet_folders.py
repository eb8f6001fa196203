"""Folders of Parquet files."""

import numpy as np
import pytest

from polytomy.datasets import open_blocks, read_data
from polytomy.datasets.sources import list_files
from polytomy.errors import DataError

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.table(columns), path)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "d/part-1.parquet", a=[1.0, 2.0], kind=["x", "y"])
    write(tmp_path / "d/deep/part-0.parquet", kind=["z", "x"], a=[3.0, 4.0])  # another order
    write(tmp_path / "d/part-2.pq", a=[5], kind=["y"])
    nothing = arrow.array([], arrow.float64())
    write(tmp_path / "d/empty.parquet", a=nothing, kind=arrow.array([], arrow.string()))
    (tmp_path / "d/_SUCCESS").write_text("")
    write(tmp_path / "d/_temporary/part.parquet", a=[9.0], kind=["q"])
    return tmp_path / "d"


def test_the_files_of_a_folder_are_one_table(folder):
    assert [path.name for path in list_files(folder, (".parquet", ".pq"))] == [
        "part-0.parquet",
        "empty.parquet",
        "part-1.parquet",
        "part-2.pq",
    ]
    data = read_data(folder, target="kind")
    assert data.X.tolist() == [[3], [4], [1], [2], [5]]
    assert data.y.tolist() == ["z", "x", "x", "y", "y"]
    blocks = list(open_blocks(folder, target="kind", n_rows=1))
    assert [block.n_samples for block in blocks] == [1] * 5


def test_text_columns_have_the_values_of_all_files(tmp_path):
    write(tmp_path / "d/0.parquet", colour=["red", "blue"], kind=[0, 1])
    write(tmp_path / "d/1.parquet", colour=["green", "red"], kind=[1, 0])
    data = read_data(tmp_path / "d", categories="one-hot")
    assert data.feature_names == ("colour=blue", "colour=green", "colour=red")
    assert data.X.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_a_mistake_names_the_file(folder):
    write(folder / "part-3.parquet", b=[1.0], kind=["x"])
    with pytest.raises(DataError, match=r'part-3\.parquet.*"a"'):
        read_data(folder, target="kind")
    write(folder / "part-3.parquet", a=[np.nan], kind=["x"])
    with pytest.raises(DataError, match=r'part-3\.parquet, row 1, column 1 \("a"\)'):
        read_data(folder, target="kind")
    (folder / "part-3.parquet").write_text("no")
    with pytest.raises(DataError, match=r"part-3\.parquet: this is not a Parquet file"):
        read_data(folder, target="kind")


def test_a_folder_without_rows_or_files_is_an_error(tmp_path):
    nothing = arrow.array([], arrow.float64())
    write(tmp_path / "d/empty.parquet", a=nothing, kind=nothing)
    with pytest.raises(DataError, match=r"the \*\.parquet files in the folder have no rows"):
        read_data(tmp_path / "d")
    (tmp_path / "bare").mkdir()
    with pytest.raises(IsADirectoryError, match=r"has no Parquet files\. Merge its files"):
        read_data(tmp_path / "bare")
