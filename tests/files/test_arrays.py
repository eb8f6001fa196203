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
def test_what_is_written_is_read(array):
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
        (_header(shape="(99999999999999999999,)"), "shape"),
        (_header(shape="(1000000, 1000000)"), "takes 8000000000"),
        (_header(shape="(-1,)"), "shape"),
        (_header(shape="(True,)"), "shape"),
        (_header(shape="(1, 1, 2)"), "shape"),
        (_header(shape="(3,)"), "but there are"),
        (_header(shape="__import__('os').system('false')"), "no valid header"),
        ("(" * 3000, "header"),
        (" " * 60000, "no valid header"),
    ],
)
def test_a_file_that_is_not_what_it_declares_is_refused(header, words):
    stream = _file(header, bytes(16))
    with pytest.raises(ValueError, match=words):
        read_array(stream, len(stream.getvalue()))


def test_a_file_that_is_cut_short_is_refused():
    stream = _file(_header(), bytes(8))
    with pytest.raises(ValueError, match="is cut short"):
        read_array(stream, len(stream.getvalue()) + 8)


def test_another_version_of_the_format_is_refused():
    with pytest.raises(ValueError, match=r"format 3\.0 cannot be read"):
        read_array_header(io.BytesIO(b"\x93NUMPY\x03\x00" + bytes(100)))
