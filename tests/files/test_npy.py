"""NumPy's npy format, read without trusting the file."""

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from polytomy.files import read_array, read_array_header, write_array

_TYPES = st.sampled_from(["<f8", "<i4", "|b1", "<U3", ">f4", "|u1"])


@given(_TYPES.flatmap(lambda t: npst.arrays(t, npst.array_shapes(max_dims=2, min_side=0))))
def test_written_arrays_read_back_the_same(array):
    for form in (array, np.asfortranarray(array)):
        stream = io.BytesIO()
        write_array(stream, form)
        size = stream.tell()
        stream.seek(0)
        again = read_array(stream, size)
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)


def _file(header: str, content: bytes = b"") -> io.BytesIO:
    text = header.encode("latin1") + b"\n"
    return io.BytesIO(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content)


def _header(descr="'<f8'", shape="(2,)", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (_header("'|O'"), "holds objects"),
        (_header("[('a', '<f8')]"), "neither numbers nor text"),
        (_header("'<M8[s]'"), "neither numbers nor text"),
        (_header("'<c16'"), "neither numbers nor text"),
        (_header(shape="(99999999999999999999,)"), "takes 8000000000000000000"),
        (_header(shape="(1000000, 1000000)"), "takes 8000000000"),
        (_header(shape="(-1,)"), r"shape \(-1,\) is not supported"),
        (_header(shape="(True,)"), r"shape \(True,\) is not supported"),
        (_header(shape="(1, 1, 2)"), r"shape \(1, 1, 2\) is not supported"),
        (_header(shape="(3,)"), "the file has"),
        (_header(shape="__import__('os').system('false')"), "header of the array is invalid"),
        ("(" * 3000, "header"),
        (" " * 60000, "header of the array is invalid"),
    ],
)
def test_a_file_that_does_not_match_its_header_is_an_error(header, words):
    stream = _file(header, bytes(16))
    with pytest.raises(ValueError, match=words):
        read_array(stream, len(stream.getvalue()))


def test_a_truncated_file_is_an_error():
    stream = _file(_header(), bytes(8))
    with pytest.raises(ValueError, match="expected 16 bytes got 8"):
        read_array(stream, len(stream.getvalue()) + 8)


def test_an_unsupported_version_of_the_format_is_an_error():
    with pytest.raises(ValueError, match=r"version 3\.0 of the npy format is not supported"):
        read_array_header(io.BytesIO(b"\x93NUMPY\x03\x00" + bytes(100)))


@pytest.mark.parametrize("order", "<>")
def test_text_that_is_not_characters_is_an_error(order):
    letters = np.array([97, 0x7FFFFFFF], dtype=f"{order}u4")
    stream = io.BytesIO()
    write_array(stream, letters.view(f"{order}U1"))
    stream.seek(0)
    with pytest.raises(ValueError, match="an array of text has values that are not characters"):
        read_array(stream, len(stream.getvalue()))
