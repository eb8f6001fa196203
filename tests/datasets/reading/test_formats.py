"""The format of a file, from its name or its first line."""

import pytest

from polytomy.datasets import find_format, read_data
from polytomy.errors import ArgumentError


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("a.TSV", "tsv"),
        ("iris.csv.gz", "csv"),
        ("letter.scale", "svmlight"),
        ("a.cls", "agf"),
    ],
)
def test_the_name_shows_the_format(name, format):
    assert find_format(name) == format
    assert find_format(name, "npz") == "npz"


@pytest.mark.parametrize(
    ("content", "format"), [("+1 1:0.5 3:-1\n", "svmlight"), ("height;kind\n1;oak\n", "csv")]
)
def test_the_first_line_shows_the_format_if_the_name_does_not(write_file, content, format):
    assert find_format(write_file(content, "t")) == format
    assert read_data(write_file(content, "t")).n_samples == 1


def test_the_common_name_of_libagf_files_shows_the_format(write_file, tmp_path):
    write_file(b"", "b.vec")
    assert find_format(tmp_path / "b") == "agf"


@pytest.mark.parametrize("content", ["1 2 3\n", b"\x00,\x01\n"])
def test_a_format_that_is_not_clear_is_an_error(write_file, content):
    path = write_file(content, "c.txt")
    words = "c.txt: the format is not clear from the file name. Set format to "
    with pytest.raises(ArgumentError) as info:
        find_format(path)
    assert words + '"csv", "tsv", ' in str(info.value)
    assert str(info.value).endswith(' or "agf".')


def test_an_unknown_format_is_an_error():
    with pytest.raises(ArgumentError, match=r'^format="xls" is not one of csv, .*, agf\.'):
        find_format("a", "xls")


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_data(tmp_path / "nothing")
