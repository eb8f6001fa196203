"""libAGF's files of border samples."""

import numpy as np
import pytest

from persistence.border_samples import write_borders, write_rows
from polytomy.errors import ModelFileError
from polytomy.persistence.libagf_files import read_borders


def test_border_samples_and_gradients_are_read(tmp_path):
    borders, gradients = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("<f4")
    write_borders(tmp_path, "a.b", borders, gradients)
    machine = read_borders(tmp_path / "a.b")
    np.testing.assert_array_equal(machine.borders, borders)
    np.testing.assert_array_equal(machine.gradients, gradients)
    assert machine.borders.dtype == np.float64


@pytest.mark.parametrize(
    ("borders", "gradients", "words"),
    [
        ([[1.0]], None, r"m\.bgd: the file is missing"),
        ([[1.0]], [[1.0], [2.0]], r"m: .* must have the same shape; got \(1, 1\) and \(2, 1\)"),
        ([[np.nan]], [[1.0]], r"m\.brd: not all values are finite"),
        ([[1.0, 2.0]], b"", r"m\.bgd: the file does not start with the number of features"),
        ([[1.0, 2.0]], b"\x00\x00\x00\x80abcd", r"m\.bgd: the file does not start with the"),
        ([[1.0, 2.0]], b"\x02\x00\x00\x00abcd", r"m\.bgd: 4 bytes .* whole number of rows of 2"),
    ],
)
def test_files_that_are_not_border_samples_are_refused(borders, gradients, words, tmp_path):
    write_rows(tmp_path / "m.brd", borders)
    if isinstance(gradients, bytes):
        (tmp_path / "m.bgd").write_bytes(gradients)
    elif gradients is not None:
        write_rows(tmp_path / "m.bgd", gradients)
    with pytest.raises(ModelFileError, match=words):
        read_borders(tmp_path / "m")


def test_calibrated_border_samples_are_refused(tmp_path):
    write_borders(tmp_path, "m", [[1.0]], [[1.0]])
    (tmp_path / "m.clb").write_text("1 2\n0 1 \n")
    with pytest.raises(ModelFileError, match=r"m\.clb: calibrated border samples are not"):
        read_borders(tmp_path / "m")


def test_a_count_of_features_beyond_the_file_allocates_nothing(tmp_path):
    (tmp_path / "m.brd").write_bytes(np.int32(2**31 - 1).tobytes() + bytes(16))
    with pytest.raises(ModelFileError, match="are not a whole number of rows of 2147483647"):
        read_borders(tmp_path / "m")
