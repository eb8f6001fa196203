"""libAGF's .vec and .cls files."""

import numpy as np
import pytest

from polytomy.datasets import read_data


def test_vectors_and_classes_are_read_byte_by_byte(tmp_path):
    (tmp_path / "d.vec").write_bytes(bytes([2, 0, 0, 0]) + np.array([1, 2, 3, 4], "<f4").tobytes())
    (tmp_path / "d.cls").write_bytes(bytes([7, 0, 0, 0, 255, 255, 255, 255]))
    for name in ("d.vec", "d.cls", "d"):
        data = read_data(tmp_path / name)
        assert data.X.tolist() == [[1, 2], [3, 4]]
        assert data.y.tolist() == [7, -1]


@pytest.mark.parametrize(
    ("vectors", "classes", "words"),
    [
        (b"", b"", "does not start with the number of features"),
        (b"\1\0", b"", "does not start with the number of features"),
        (b"\xfe\xff\xff\xff" + bytes(8), b"", "does not start with the number of features"),
        (b"\0\xca\x9a\x3b" + bytes(8), b"", "not a whole number of rows of 1000000000 float32"),
        (b"\0\0\0\0", b"", "does not start with the number of features"),
        (b"\1\0\0\0", b"", "0 bytes of data are not a whole number of rows"),
        (b"\2\0\0\0" + bytes(12), bytes(4), "12 bytes of data are not a whole number of rows of 2"),
        (b"\2\0\0\0" + bytes(8), bytes(8), "8 bytes; the int32 classes of 1 rows take 4"),
        (b"\1\0\0\0\0\0\x80\x7f", bytes(4), "row 1, column 1: inf is not a finite number"),
    ],
)
def test_a_broken_file_is_an_error(tmp_path, read_error, vectors, classes, words):
    (tmp_path / "d.vec").write_bytes(vectors)
    (tmp_path / "d.cls").write_bytes(classes)
    assert words in read_error(tmp_path / "d.vec")
