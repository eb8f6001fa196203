"""NumPy's npz files."""

import re

import numpy as np
import pytest
from scipy import sparse

from polytomy.datasets import open_blocks, read_data
from polytomy.errors import DataError


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
        (
            {"X": np.arange(3.0), "y": np.arange(3)},
            "X has shape (3,); it must have rows and columns",
        ),
        ({"X": np.zeros((0, 2)), "y": np.arange(0)}, "X has shape (0, 2); it must have rows and"),
        ({"X": np.array([["a"]]), "y": np.arange(1)}, "X has type <U1; it must be numeric"),
        ({"X": np.array([[1, np.nan]]), "y": [1]}, "row 1, column 2: the value is missing (nan)"),
        ({"X": np.array([[None]], dtype=object), "y": [1]}, "holds objects"),
        (
            {"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 2], "y": [1]},
            "X is not a valid CSR matrix: indices must be < 2",
        ),
        ({"X": np.zeros((2, 0)), "y": np.arange(2)}, "X has shape (2, 0); it must have rows"),
        ({"X": np.eye(2), "y": ["a", ""]}, 'row 2: label "" is blank'),
        ({"X": np.eye(2), "y": ["a", "\ud800"]}, "label '\\ud800' is not valid Unicode text"),
        (
            {"X": np.eye(2), "y": [1, 2], "feature_names": [1, 2]},
            "array feature_names: an array of int64 of shape (2,) does not name the 2 columns of X",
        ),
        (
            {"X": np.eye(2), "y": [1, 2], "feature_names": ["a"]},
            "an array of <U1 of shape (1,) does not name the 2 columns of X",
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


SPARSE = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 2], "shape": [1, 3], "y": [1]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"indices": [0.9, 1.0]}, "indices is an array of float64 of shape (2,), not a vector of"),
        ({"indices": [0, -1]}, "indices must be >= 0"),
        ({"indptr": [0.0, 2.0]}, "indptr is an array of float64"),
        ({"indptr": [0, 3]}, "Last value of index pointer should be less than"),
        ({"data": ["a", "b"]}, "its values have type <U1, which is not a number"),
        ({"shape": [1.5, 3.0]}, "X is not a valid CSR matrix: 'float' object cannot be"),
        ({"shape": [[1, 3]]}, "X is not a valid CSR matrix"),
        ({"shape": [-1, 3]}, "X is not a valid CSR matrix"),
        ({"shape": 3}, "X is not a valid CSR matrix"),
    ],
)
def test_a_sparse_matrix_that_makes_no_sense_is_an_error(tmp_path, read_error, changes, words):
    np.savez(tmp_path / "d.npz", **{**SPARSE, **changes})
    assert words in read_error(tmp_path / "d.npz")


@pytest.mark.parametrize("name", ["csc", "bsr"])
def test_only_rows_are_read_from_files_of_scipy(tmp_path, name):
    X = sparse.random_array((5, 5), density=0.5, rng=np.random.default_rng(0))
    sparse.save_npz(tmp_path / "rows.npz", X.tocsr())
    found = read_data(tmp_path / "rows.npz", target=None).X
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    sparse.save_npz(tmp_path / "other.npz", X.asformat(name))
    words = f"other.npz: X is stored in the sparse format '{name}'; only 'csr' is read."
    with pytest.raises(DataError, match=re.escape(words)):
        read_data(tmp_path / "other.npz", target=None)


def test_entries_that_are_stored_twice_are_summed(tmp_path):
    np.savez(tmp_path / "d.npz", **{**SPARSE, "indices": [1, 1]})
    assert read_data(tmp_path / "d.npz").X.toarray().tolist() == [[0, 3, 0]]


def test_sparse_rows_are_read_in_blocks_by_their_size(tmp_path, monkeypatch):
    monkeypatch.setattr("polytomy.datasets.reading._BLOCK_BYTES", 2**12)
    ends = np.arange(201)
    np.savez(
        tmp_path / "d.npz",
        data=np.ones(200), indices=np.zeros(200, int), indptr=ends, shape=[200, 10**6],
        y=np.arange(200) % 2,
    )  # fmt: skip
    assert len(list(open_blocks(tmp_path / "d.npz"))) == 1


def test_a_directory_that_points_before_the_file_is_damage(tmp_path, read_error):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.eye(3), y=np.arange(3))
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    content[end + 16 : end + 20] = (len(content) + 500).to_bytes(4, "little")
    path.write_bytes(content)
    words = read_error(path)
    assert "the npz file is damaged" in words or "this is not an npz file" in words
