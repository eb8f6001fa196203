"""Opening model files."""

import os

import pytest

from polytomy.errors import ModelFileError
from polytomy.persistence.model_files import open_model_file, size_of


def test_a_file_is_opened_and_its_size_is_known(tmp_path):
    (tmp_path / "m").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("m")
    for name in ("m", "link"):
        with open_model_file(tmp_path / name) as file:
            assert size_of(file) == 5
            assert file.read() == b"12345"


def test_pipes_and_devices_are_refused_unopened(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name in ("pipe", "zeros"):
        with pytest.raises(ModelFileError, match=rf"{name}: a model cannot be read from a pipe"):
            open_model_file(tmp_path / name)


def test_files_that_cannot_be_opened_raise_what_the_system_says(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_model_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        open_model_file(tmp_path)
