"""Data files, written and read with the error they cause."""

import pytest

from polytomy.datasets import read_data
from polytomy.errors import DataError


@pytest.fixture
def write_file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(content, name="plants.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def read_error(tmp_path):
    """Return a function that reads a file and returns the message of its error."""

    def read(path, **options):
        with pytest.raises(DataError) as info:
            read_data(path, **options)
        return str(info.value).removeprefix(f"{tmp_path}/")

    return read
