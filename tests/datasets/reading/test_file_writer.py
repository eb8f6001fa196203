"""Written data files read back as the same data."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import csr_array, issparse

from polytomy.datasets import Data, open_blocks, read_data, write_data
from polytomy.errors import ArgumentError

_NAMES = [
    "d.csv",
    "d.tsv",
    "d.csv.gz",
    "d.svm",
    "d.svm.gz",
    "d.parquet",
    "d.npz",
    "d.vec",
]


def _dense(X):
    return X.toarray() if issparse(X) else X


@given(
    npst.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(-1e9, 1e9, width=32),
    ),
    st.sampled_from(_NAMES),
    st.booleans(),
)
def test_written_data_reads_back_the_same(tmp_path_factory, X, name, is_sparse):
    X[0, -1] = 1.0  # a sparse file does not show features that are zero everywhere
    y = np.arange(len(X)) % 3
    path = tmp_path_factory.mktemp("d") / name
    given_X = csr_array(X) if is_sparse else X
    write_data(path, Data(given_X, y, None, np.arange(len(X)) + 1))
    data = read_data(path, header=False)
    np.testing.assert_array_equal(_dense(data.X), X)
    np.testing.assert_array_equal(data.y, y)
    assert data.y.dtype.kind == "i"
    if name.startswith(("d.svm", "d.npz", "d.vec")):  # formats without a label column
        assert read_data(path, target=None, features=X.shape[1]).y is None
    blocks = list(open_blocks(path, n_rows=2, header=False))
    np.testing.assert_array_equal(np.vstack([_dense(b.X) for b in blocks]), X)
    assert all(b.n_samples <= 2 for b in blocks)
    assert np.concatenate([b.y for b in blocks]).astype(int).tolist() == y.tolist()


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.parquet"])
def test_one_hot_features_are_written_as_text(tmp_path, name):
    source = tmp_path / "s.csv"
    source.write_text("colour,size,kind\nred,1.5,a\nblue,2,b\n")
    data = read_data(source, categories="one-hot")
    write_data(tmp_path / name, data, target="kind")
    again = read_data(tmp_path / name, categories="one-hot", target="kind")
    np.testing.assert_array_equal(again.X, data.X)
    assert again.feature_names == data.feature_names
    assert again.categories == data.categories
    assert again.y.tolist() == ["a", "b"]


def test_names_and_text_labels_survive(tmp_path):
    data = Data(np.eye(2), np.array(["a b", 'c"d']), ("x", "y, z"), np.arange(2))
    for name in ("d.csv", "d.parquet", "d.npz"):
        write_data(tmp_path / name, data)
        again = read_data(tmp_path / name)
        assert again.y.tolist() == ["a b", 'c"d']
        assert again.feature_names == ("x", "y, z")


def test_the_same_data_gives_the_same_gzipwrite_file(tmp_path):
    data = Data(np.eye(2), np.array([0, 1]), None, np.arange(2))
    write_data(tmp_path / "a.csv.gz", data)
    write_data(tmp_path / "b.csv.gz", data)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"1,0,0\n0,1,1\n"


@given(
    name=st.sampled_from(["d.csv", "d.tsv"]),
    label=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
def test_text_labels_are_read_back_unless_writing_refuses_them(tmp_path_factory, name, label):
    path = tmp_path_factory.mktemp("texts") / name
    labels = [label, "other"]
    data = Data(np.eye(2), np.array(labels), ("height", "width"), np.arange(2))
    try:
        write_data(path, data)
    except ArgumentError:
        assert not path.exists()
        return
    assert read_data(path).y.tolist() == labels


def test_names_with_line_breaks_are_refused(tmp_path):
    data = Data(np.eye(2), np.array([0, 1]), ("height\n(m)", "width"), np.arange(2))
    with pytest.raises(ArgumentError, match=r"contain line breaks; got 'height\\n\(m\)'"):
        write_data(tmp_path / "d.csv", data)


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("d.svm", ["a", "b"], "labels in the svmlight format must be numbers; got 'a'"),
        ("d.vec", ["a", "b"], "labels in the agf format must be integers; got 'a'"),
        (
            "d.csv",
            ["a", "b\r"],
            r"spaces around it or contain line breaks; got 'b\\r'. Use another",
        ),
        (
            "d.tsv",
            ["a", "b\nc"],
            r"spaces around it or contain line breaks; got 'b\\nc'. Use another",
        ),
        ("d.csv", ["a", " b"], "cannot be blank, have spaces around it or .* got ' b'"),
    ],
)
def test_labels_that_a_format_cannot_hold_are_refused(tmp_path, name, y, words):
    with pytest.raises(ArgumentError, match=words):
        write_data(tmp_path / name, Data(np.eye(2), np.array(y), None, np.arange(2)))
    assert list(tmp_path.iterdir()) == []


def test_the_label_needs_a_name_of_its_own(tmp_path):
    data = Data(np.eye(2), np.array([0, 1]), ("a", "b"), np.arange(2))
    with pytest.raises(ArgumentError, match='target="a" is also the name of a feature'):
        write_data(tmp_path / "d.csv", data, target="a")
