"""Lines of text files."""

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.datasets import open_blocks, read_data
from polytomy.datasets.sources import first_lines, text_blocks

PLANTS = "height,width,kind\n1.5,2,oak\n0.5,3,corn\n7,-1e2,oak\n"


@given(
    st.lists(st.sampled_from(["a", "b c", "", " ", " d", "# d"]), max_size=9),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 4),
    st.integers(1, 12),
    st.booleans(),
)
def test_blocks_hold_all_lines_but_blanks_and_comments(
    tmp_path_factory, lines, end, n_lines, n_chunk, skip
):
    path = tmp_path_factory.mktemp("d") / "t.txt"
    path.write_bytes(end.join(lines).encode())
    expected = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line != "# d"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("polytomy.datasets.sources._CHUNK", n_chunk)
        blocks = list(text_blocks(path, n_lines, comment=b"#", skip_first=skip))
        found = first_lines(path, n_lines, comment=b"#")
    assert all(0 < len(block.numbers) <= n_lines for block in blocks)
    read = [
        pair for block in blocks for pair in zip(block.numbers.tolist(), block.lines, strict=True)
    ]
    pairs = [(number, line.encode()) for number, line in expected]
    assert read == pairs[int(skip) :]
    first = pairs[:n_lines]
    assert found.numbers.tolist() == [number for number, _ in first]
    assert found.text == b"\n".join([line for _, line in first])


def test_the_first_line_may_come_after_blank_lines(write_file):
    assert first_lines(write_file("\n \nfirst\nsecond\n"), 1).text == b"first"
    assert first_lines(write_file(""), 1).text == b""


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
    monkeypatch.setattr("polytomy.datasets.sources._CHUNK", size)
    data = read_data(write_file(PLANTS.replace("\n", end)))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0.5, 3], [7, -100]])
    assert data.row_numbers.tolist() == [2, 3, 4]


def test_a_line_that_is_too_long_is_an_error(write_file, read_error, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.sources._CHUNK", 8)
    monkeypatch.setattr("polytomy.datasets.sources.LONGEST_LINE", 20)
    words = read_error(write_file(PLANTS + "1," * 30))
    assert words == "plants.csv, line 5: the line is longer than the limit of 20 bytes"


def test_blocks_take_memory_for_themselves_only(tmp_path, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.sources._CHUNK", 2**16)
    path = tmp_path / "long.csv"
    path.write_text("0.123456789,0.987654321,a\n" * 200_000)
    tracemalloc.start()
    n_rows = sum(block.n_samples for block in open_blocks(path, n_rows=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 200_000
    assert peak < path.stat().st_size / 4
