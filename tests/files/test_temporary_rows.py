import os

import numpy as np
import pytest

from polytomy.files import write_temporary_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_become_one_array(dtype):
    rows = np.arange(21, dtype=dtype).reshape(7, 3)
    found = write_temporary_rows([rows[:4], np.asfortranarray(rows[4:])])
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, rows)


def test_it_cannot_be_changed():
    found = write_temporary_rows([np.ones((2, 2))])
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 2.0


def test_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = write_temporary_rows([np.ones((2, 2))])
    assert os.listdir(tmp_path) == []
    assert found.sum() == 4.0


def test_a_folder_that_is_missing_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "missing"
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with pytest.raises(OSError, match=f"temporary file in {folder}: No such file"):
        write_temporary_rows([np.ones((2, 2))])
