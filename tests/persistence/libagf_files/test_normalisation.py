"""libAGF's normalisation files."""

import numpy as np
import pytest

from persistence.border_samples import write_normalisation, write_rows
from polytomy import parse
from polytomy.errors import ModelFileError
from polytomy.persistence.libagf_files import find_normalisation

FLAT = parse("bar-00 0 / 1; bar-01 0 1 / 2; {0 1 2}")


def _find(folder, scheme=FLAT):
    return find_normalisation(folder / "control.txt", scheme)


def test_the_scaler_has_the_means_and_deviations_of_the_file(tmp_path):
    assert _find(tmp_path) is None
    write_normalisation(tmp_path / "bar.std", [1.0, 2.0], [0.5, 4.0])
    scaler = _find(tmp_path)
    np.testing.assert_array_equal(scaler.transform([[2.0, 2.0], [1.0, 10.0]]), [[2, 0], [0, 2]])
    assert scaler.n_features_in_ == 2


def test_the_normalisation_of_a_single_model_is_refused(tmp_path):
    write_normalisation(tmp_path / "bar-01.std", [1.0], [0.5])
    with pytest.raises(ModelFileError, match=r"bar-01\.std: .*save it as control\.std"):
        _find(tmp_path)
    write_normalisation(tmp_path / "control.std", [2.0], [0.5])
    assert _find(tmp_path).mean_.tolist() == [2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"dim    average  std. dev.\n  0 1 2\n", "are not a whole number of rows"),
        (b"", "does not start with the number of features"),
        ([[1.0, 0.5, 9.0], [0.0, 1.0, 9.0]], "of 2 features to 2 does more than shift and scale"),
        ([[1.0, 9.0], [0.0, 9.0]], "of 2 features to 1 does more than shift and scale"),
        ([[0.0, 0.0, 9.0], [0.0, 1.0, 9.0]], "does more than shift and scale"),
        ([[-1.0, 9.0]], "does more than shift and scale"),
        ([[np.inf, 9.0]], "not all values are finite"),
    ],
)
def test_other_normalisations_are_refused(content, words, tmp_path):
    if isinstance(content, bytes):
        (tmp_path / "bar.std").write_bytes(content)
    else:
        write_rows(tmp_path / "bar.std", content)
    with pytest.raises(ModelFileError, match=rf"bar\.std: .*{words}"):
        _find(tmp_path)
