"""Lines of text files."""

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.datasets import open_blocks, read_data
from polytomy.datasets.text_lines import line_blocks, peek_line, text_blocks
from polytomy.errors import DataError

PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


@given(
    st.lists(st.sampled_from(["a", "b c", "", " ", "# d"]), max_size=9),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 4),
)
def test_blocks_hold_all_lines_but_blanks_and_comments(tmp_path_factory, lines, end, n_lines):
    path = tmp_path_factory.mktemp("d") / "t.txt"
    path.write_bytes(end.join(lines).encode())
    expected = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line != "# d"]
    blocks = list(line_blocks(path, n_lines, comment=b"#"))
    assert all(len(block.lines) <= n_lines for block in blocks)
    read = [pair for block in blocks for pair in zip(block.numbers, block.lines, strict=True)]
    assert read == [(number, line.encode()) for number, line in expected]


@given(
    st.lists(st.sampled_from(["a", "b c", "", " ", " d"]), max_size=9),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 4),
    st.integers(1, 12),
    st.booleans(),
)
def test_text_in_blocks_is_all_of_the_text(
    tmp_path_factory, lines, end, n_lines, n_chunk, are_full
):
    path = tmp_path_factory.mktemp("d") / "t.txt"
    path.write_bytes(end.join(lines).encode())
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("polytomy.datasets.text_lines._CHUNK", n_chunk)
        monkeypatch.setattr("polytomy.datasets.text_lines._LARGE", 3)
        blocks = list(text_blocks(path, n_lines, are_full=are_full))
    expected = [(n, line.encode()) for n, line in enumerate(lines, 1) if line.strip()]
    read = []
    for block in blocks:
        own = block.text.split(b"\n")
        read += zip(block.numbers.tolist(), own, strict=True)
        ends = np.cumsum([len(line) + 1 for line in own])[:-1] - 1
        np.testing.assert_array_equal(block.line_ends, ends)
    assert read == expected
    sizes = [len(block.numbers) for block in blocks]
    assert all(0 < size <= n_lines for size in sizes)
    if are_full:
        assert all(size == n_lines for size in sizes[:-1])


def test_the_first_line_that_is_not_blank_is_peeked(write_file):
    assert peek_line(write_file("\n \nfirst\nsecond\n")) == b"first"
    assert peek_line(write_file("")) == b""


def test_gzipped_files_are_recognised_by_their_content(write_file):
    for name in ("p.csv.gz", "p.csv"):
        assert read_data(write_file(gzip.compress(PLANTS.encode()), name)).X.shape == (3, 2)


def test_a_damaged_gzip_file_is_an_error(write_file, read_error):
    damaged = gzip.compress(PLANTS.encode() * 100)[:-20]
    assert "the gzip file is damaged or truncated" in read_error(write_file(damaged))


def test_blank_lines_count_but_are_not_samples(write_file):
    data = read_data(write_file("\n1,2,a\n \n3,4,b\n\n"))
    assert data.row_numbers.tolist() == [2, 4]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", range(1, 12))
def test_lines_across_the_end_of_a_chunk_stay_whole(write_file, monkeypatch, size, end):
    monkeypatch.setattr("polytomy.datasets.text_lines._CHUNK", size)
    data = read_data(write_file(PLANTS.replace("\n", end)))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
    assert data.row_numbers.tolist() == [2, 3, 4]


def test_a_line_that_is_too_long_is_an_error(write_file, read_error, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.text_lines._CHUNK", 8)
    monkeypatch.setattr("polytomy.datasets.text_lines.LONGEST_LINE", 20)
    words = read_error(write_file(PLANTS + "1," * 30))
    assert words == "plants.csv, line 5: the line is longer than the limit of 20 bytes"


def test_short_lines_that_end_with_their_chunk_are_not_one_long_line(write_file, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.text_lines._CHUNK", 8)
    monkeypatch.setattr("polytomy.datasets.text_lines.LONGEST_LINE", 20)
    (block,) = text_blocks(write_file(b"aaaaaaa\r" * 5), 9)
    assert block.text.split(b"\n") == [b"aaaaaaa"] * 5
    with pytest.raises(DataError, match="line 2: the line is longer"):
        list(text_blocks(write_file(b"aaaaaaa\r" + b"b" * 40 + b"\r"), 9))


def test_blocks_take_memory_for_themselves_only(tmp_path, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.text_lines._CHUNK", 2**16)
    path = tmp_path / "long.csv"
    path.write_text("0.123456789,0.987654321,a\n" * 200_000)
    tracemalloc.start()
    n_rows = sum(block.n_samples for block in open_blocks(path, n_rows=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 200_000
    assert peak < path.stat().st_size / 4
