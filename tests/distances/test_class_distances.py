import pickle
import sys

import numpy as np
import pytest

from polytomy.distances import ClassDistances
from polytomy.errors import ArgumentError

D = ClassDistances(("corn", "oak", 7), [[0, 3, 1], [3, 0, 2], [1, 2, 0]], "made up")


def test_a_distance_is_found_by_labels_in_either_order():
    assert D["corn", "oak"] == D["oak", "corn"] == 3.0
    assert D["oak", 7] == 2.0
    assert len(D) == 3


@pytest.mark.parametrize("pair", [("corn", "pine"), "corn", 7])
def test_an_unknown_pair_of_classes_is_a_key_error(pair):
    with pytest.raises(
        KeyError, match=r"is not a pair of classes; the classes are 'corn', 'oak', 7"
    ):
        D[pair]


def test_numpy_accepts_distances_as_an_array():
    assert np.asarray(D).tolist() == D.matrix.tolist()
    assert np.array(D, dtype=int).tolist() == [[0, 3, 1], [3, 0, 2], [1, 2, 0]]
    copy = np.array(D)
    copy[0, 1] = 9
    assert D["corn", "oak"] == 3.0
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.array(D, dtype=np.float32, copy=False)


def test_distances_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        D.matrix[0, 1] = 9
    with pytest.raises(AttributeError):
        D.name = "other"


def test_pickling_keeps_everything():
    again = pickle.loads(pickle.dumps(D))
    assert (again.classes, again.name) == (D.classes, D.name)
    assert (again.matrix == D.matrix).all()


def test_reordering_moves_the_entries():
    other = D.reordered([7, "corn"])
    assert other.classes == (7, "corn")
    assert other.matrix.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ArgumentError, match="class 'pine' is not in these distances"):
        D.reordered(["pine"])


def test_a_frame_has_the_labels():
    frame = D.to_frame()
    assert frame.loc["corn", "oak"] == 3.0
    assert list(frame.columns) == ["corn", "oak", 7]


def test_only_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError):
        D.to_frame()
    assert D["corn", "oak"] == 3.0


def test_a_large_matrix_is_printed_in_part():
    large = ClassDistances(range(30), np.ones((30, 30)) - np.eye(30))
    lines = str(large).splitlines()
    assert lines[-1] == "… and 18 more classes"
    assert len(lines) == 14
    assert repr(large) == "<ClassDistances: distance, 30 classes>"


@pytest.mark.parametrize(
    ("classes", "matrix", "words"),
    [
        (
            "ab",
            [[0, 1], [2, 0]],
            "the distance between 'a' and 'b' is 1.0; it must be the same in both",
        ),
        ("ab", [[0, -1], [-1, 0]], "'b' is -1.0; it must not be negative"),
        ("ab", [[0, np.nan], [1, 0]], "'b' is nan; it must be a finite number"),
        ("ab", [[0, np.inf], [np.inf, 0]], "'b' is inf; it must be a finite number"),
        ("ab", [[0, 1], [1, 2]], "the distance between 'b' and 'b' is 2.0; it must be 0 on the"),
        ("abc", [[0, 1], [1, 0]], r"has shape \(2, 2\); 3 classes need \(3, 3\)"),
        ("aa", [[0, 1], [1, 0]], "classes has a label twice"),
        (
            "ab",
            [["x", "y"], ["z", "w"]],
            "the distance matrix cannot be read as an array of numbers",
        ),
    ],
)
def test_invalid_matrices_are_refused(classes, matrix, words):
    with pytest.raises(ArgumentError, match=words):
        ClassDistances(classes, matrix)
