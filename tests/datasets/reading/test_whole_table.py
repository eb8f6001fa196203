"""Blocks put together, within the memory of the machine."""

import gzip
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from polytomy.datasets import Data, read_data, write_data
from polytomy.datasets.reading import join_blocks
from polytomy.datasets.tables import RawBlock, check_size
from polytomy.errors import DataError

X = np.arange(12.0).reshape(6, 2)


def _blocks(X, *ends):
    for first, last in pairwise((0, *ends)):
        rows = np.arange(first + 1, last + 1)
        yield RawBlock(X[first:last], rows % 2, rows)


@pytest.mark.parametrize("n_rows", [6, None])
@pytest.mark.parametrize("ends", [(6,), (1, 2, 6), (4, 6)])
def test_blocks_are_joined_in_order(n_rows, ends):
    for data in (X, csr_array(X)):
        whole = join_blocks("d.csv", _blocks(data, *ends), n_rows)
        joined = whole.X if isinstance(data, np.ndarray) else whole.X.toarray()
        np.testing.assert_array_equal(joined, X)
        np.testing.assert_array_equal(whole.row_numbers, [1, 2, 3, 4, 5, 6])
        np.testing.assert_array_equal(whole.labels, [1, 0, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("n_rows", "ends", "words"),
    [
        (5, (4, 6), "d.npz: the file has more rows than it declares, 5"),
        (9, (4, 6), "d.npz: the file declares 9 rows but has 6"),
        (9, (), "d.npz: the file has no rows"),
    ],
)
def test_a_wrong_number_of_rows_is_an_error(n_rows, ends, words):
    with pytest.raises(DataError) as error:
        join_blocks("d.npz", _blocks(X, *ends), n_rows)
    assert str(error.value) == words


@pytest.fixture
def small_machine(monkeypatch):
    """A machine with a megabyte of memory."""
    monkeypatch.setattr("polytomy.datasets.tables.machine_memory", lambda: 2**20)


def test_samples_may_take_half_of_the_memory(small_machine):
    check_size("d.csv", 2**19)
    with pytest.raises(DataError) as error:
        check_size("d.csv", 2**19 + 1)
    assert str(error.value) == (
        "d.csv: the samples take more than 0.0 GB, half of the machine's memory. Use fewer rows or "
        "columns, or read it block by block with open_blocks. On the command line, train --stream "
        "reads it block by block."
    )


@pytest.mark.parametrize("name", ["d.csv.gz", "d.svm.gz", "d.npz", "d.parquet", "d.vec"])
def test_a_small_file_with_a_large_table_is_refused(small_machine, tmp_path, name):
    if name == "d.parquet":
        pytest.importorskip("pyarrow")
    write_data(tmp_path / name, Data(np.ones((50_000, 2)), np.arange(50_000) % 3, None, None))
    with pytest.raises(DataError, match="half of the machine's memory"):
        read_data(tmp_path / name)


def test_reading_stops_when_the_memory_is_full(small_machine, tmp_path, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.reading._BLOCK_BYTES", 2**14)
    line = b",".join([b"0"] * 50) + b",a\n"
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(line * 100_000))  # 40 MB as numbers
    tracemalloc.start()
    with pytest.raises(DataError, match="half of the machine's memory"):
        read_data(tmp_path / "d.csv.gz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**25


def test_one_hot_columns_count_too(small_machine, tmp_path):
    text = "".join(f"word{k},{k % 2}\n" for k in range(1000))
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(DataError, match="half of the machine's memory"):
        read_data(tmp_path / "d.csv", header=False, categories="one-hot")


@pytest.mark.parametrize("order", ["C", "F"])
def test_reading_takes_the_memory_of_its_result_and_of_the_file(tmp_path, monkeypatch, order):
    monkeypatch.setattr("polytomy.datasets.reading._BLOCK_BYTES", 2**18)
    X = np.random.default_rng(0).random((4000, 500)) < 0.5
    np.savez(tmp_path / "d.npz", X=np.asarray(X, order=order), y=np.arange(4000) % 3)
    tracemalloc.start()
    data = read_data(tmp_path / "d.npz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(data.X, X)
    assert peak < data.X.nbytes + 2 * X.nbytes + 2**21
