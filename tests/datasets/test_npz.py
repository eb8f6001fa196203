"""NumPy's npz files."""

import numpy as np
import pytest

from polytomy.datasets import open_blocks, read_data


def test_arrays_in_fortran_order_are_read_in_blocks(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.asfortranarray(np.arange(6.0).reshape(3, 2)), y=np.array(["a", "b", "a"]))
    blocks = list(open_blocks(path, n_rows=2))
    np.testing.assert_array_equal(np.vstack([b.X for b in blocks]), np.arange(6).reshape(3, 2))
    assert read_data(path).y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Z": np.eye(2)}, "the file has no array X; it has Z"),
        ({"X": np.eye(2)}, "the file has no array y with the labels. Use target=None"),
        ({"X": np.eye(2), "y": [1, np.nan]}, "d.npz, row 2: the label is missing (nan)"),
        ({"X": np.eye(2), "y": np.arange(3)}, "X has 2 rows, but y has shape (3,)"),
        ({"X": np.arange(3.0), "y": np.arange(3)}, "X has shape (3,); it must have two dimensions"),
        ({"X": np.zeros((0, 2)), "y": np.arange(0)}, "X has no rows"),
        ({"X": np.array([["a"]]), "y": np.arange(1)}, "X has type <U1; it must be numeric"),
        ({"X": np.array([[1, np.nan]]), "y": [1]}, "row 1, column 2: nan is not a finite number"),
        ({"X": np.array([[None]], dtype=object), "y": [1]}, "holds objects"),
        (
            {"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 2], "y": [1]},
            "X is not a valid CSR matrix",
        ),
    ],
)
def test_a_broken_array_is_an_error(tmp_path, read_error, arrays, words):
    np.savez(tmp_path / "d.npz", **arrays)
    assert words in read_error(tmp_path / "d.npz")


def test_features_must_have_the_expected_names(tmp_path, read_error):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.eye(2), y=np.arange(2), feature_names=np.array(["a", "b"]))
    assert read_data(path, features=["a", "b"]).feature_names == ("a", "b")
    assert "the feature names, or their order, are not the expected ones" in read_error(
        path, features=["b", "a"]
    )
    assert "expected 3 features; found 2" in read_error(path, features=3)


def test_a_damaged_file_is_an_error(tmp_path, read_error):
    path = tmp_path / "d.npz"
    path.write_bytes(b"PK")
    assert "this is not an npz file" in read_error(path)
    np.savez(path, X=np.eye(50), y=np.arange(50))
    content = bytearray(path.read_bytes())
    content[2000] ^= 255
    path.write_bytes(content)
    assert "the npz file is damaged" in read_error(path)
