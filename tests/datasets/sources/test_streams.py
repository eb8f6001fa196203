"""Data that can be read only once, from pipes and standard input."""

import gc
import gzip
import io
import os
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needs import needs_posix
from polytomy.datasets import Data, Stream, open_blocks, open_source, read_data, write_data
from polytomy.errors import DataError


class _Once(io.RawIOBase):
    """A pipe: it gives a few bytes at a time and cannot go back."""

    def __init__(self, content, step=7):
        self._content, self._step, self._at = content, step, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        part = self._content[self._at : self._at + min(self._step, len(buffer))]
        self._at += len(part)
        buffer[: len(part)] = part
        return len(part)


def _stream(content, **options):
    return Stream(_Once(content, **options), "<pipe>")


@given(st.lists(st.integers(0, 40), max_size=5), st.binary(max_size=100), st.integers(1, 9))
def test_every_reader_starts_at_the_start_of_the_stream(lengths, content, step):
    stream = _stream(content, step=step)
    for length in lengths:
        assert stream.reader().read(length) == content[:length]
    assert stream.reader(is_last=True).read() == content


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.svm"])
def test_a_pipe_is_read_like_a_file(tmp_path, name, is_packed):
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3))
    write_data(tmp_path / name, Data(X, random.integers(0, 3, 50), None, np.arange(50)))
    content = (tmp_path / name).read_bytes()
    sent = gzip.compress(content) if is_packed else content
    whole = read_data(tmp_path / name)
    kind = None if name == "d.svm" else name.removeprefix("d.")
    data = read_data(_stream(sent), format=kind)
    np.testing.assert_array_equal(_dense(data.X), _dense(whole.X))
    np.testing.assert_array_equal(data.y, whole.y)
    blocks = list(open_blocks(_stream(sent), format=kind, n_rows=7, features=3))
    np.testing.assert_array_equal(np.vstack([_dense(b.X) for b in blocks]), _dense(whole.X))


def _dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@needs_posix
def test_a_named_pipe_is_opened_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    text = b"height,kind\n" + b"1.5,oak\n2.5,elm\n" * 3000
    # Opening a pipe waits for the other end, for ever if reading fails.
    writer = threading.Thread(target=(tmp_path / "pipe.csv").write_bytes, args=(text,), daemon=True)
    writer.start()
    data = read_data(tmp_path / "pipe.csv")
    writer.join(timeout=30)
    assert data.X.shape == (6000, 1)
    assert data.feature_names == ("height",)


def test_a_pipe_takes_memory_for_its_blocks_only(monkeypatch):
    monkeypatch.setattr("polytomy.datasets.sources._CHUNK", 2**16)
    content = b"0.123456789,0.987654321,a\n" * 200_000
    stream = Stream(io.BytesIO(content), "<pipe>")
    tracemalloc.start()
    n_rows = sum(block.n_samples for block in open_blocks(stream, format="csv", n_rows=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 200_000
    assert peak < len(content) / 4


def test_mistakes_name_the_stream():
    with pytest.raises(DataError, match=r"<pipe>: the file is empty"):
        read_data(_stream(b""))
    with pytest.raises(DataError, match=r'<pipe>, line 2, column 1: "two" is not a number'):
        read_data(_stream(b"1,oak\ntwo,elm\n"))
    for kind in ("npz", "agf", "parquet"):
        words = rf"<pipe>: the {kind} format cannot be read from a pipe"
        with pytest.raises(DataError, match=words):
            read_data(_stream(b"PK"), format=kind)


@needs_posix
def test_a_pipe_is_open_until_its_last_reader_is_gone(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=[b"1,2\n"], daemon=True).start()
    with warnings.catch_warnings(record=True, action="always") as caught:
        reader = open_source(pipe).reader(is_last=True)
        assert reader.read() == b"1,2\n"
        del reader
        gc.collect()
    assert not [each for each in caught if each.category is ResourceWarning]
