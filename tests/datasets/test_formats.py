"""All formats: what is written is read, and what is broken is told."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import csr_array, issparse
from sklearn.datasets import load_svmlight_file

from polytomy.datasets import Data, find_format, open_blocks, read_data, write_data
from polytomy.errors import ArgumentError, DataError

_NAMES = [
    "d.csv",
    "d.tsv",
    "d.csv.gz",
    "d.svm",
    "d.svm.gz",
    "d.parquet",
    "d.npz",
    "d.lvq",
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
def test_what_is_written_is_read(tmp_path_factory, X, name, is_sparse):
    X[0, -1] = 1.0  # a sparse file does not tell of features that are zero everywhere
    y = np.arange(len(X)) % 3
    path = tmp_path_factory.mktemp("d") / name
    given_X = csr_array(X) if is_sparse else X
    write_data(path, Data(given_X, y, None, np.arange(len(X)) + 1))
    data = read_data(path, header=False)
    np.testing.assert_array_equal(_dense(data.X), X)
    np.testing.assert_array_equal(data.y, y)
    assert data.y.dtype.kind == "i"
    if name.startswith(("d.svm", "d.npz", "d.lvq", "d.vec")):  # where the label is no column
        assert read_data(path, target=None, features=X.shape[1]).y is None
    blocks = list(open_blocks(path, n_rows=2, header=False))
    np.testing.assert_array_equal(np.vstack([_dense(b.X) for b in blocks]), X)
    assert all(b.n_samples <= 2 for b in blocks)
    assert np.concatenate([b.y for b in blocks]).astype(int).tolist() == y.tolist()


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.parquet"])
def test_categories_are_written_as_the_text_they_were(tmp_path, name):
    source = tmp_path / "s.csv"
    source.write_text("colour,size,kind\nred,1.5,a\nblue,2,b\n")
    data = read_data(source, categories="one-hot")
    write_data(tmp_path / name, data, target="kind")
    again = read_data(tmp_path / name, categories="one-hot", target="kind")
    np.testing.assert_array_equal(again.X, data.X)
    assert again.feature_names == data.feature_names
    assert again.categories == data.categories
    assert again.y.tolist() == ["a", "b"]


def test_names_and_labels_of_text_survive(tmp_path):
    data = Data(np.eye(2), np.array(["a b", 'c"d']), ("x", "y, z"), np.arange(2))
    for name in ("d.csv", "d.parquet", "d.npz"):
        write_data(tmp_path / name, data)
        again = read_data(tmp_path / name)
        assert again.y.tolist() == ["a b", 'c"d']
        assert again.feature_names == ("x", "y, z")


def test_the_same_data_gives_the_same_gzip_file(tmp_path):
    data = Data(np.eye(2), np.array([0, 1]), None, np.arange(2))
    write_data(tmp_path / "a.csv.gz", data)
    write_data(tmp_path / "b.csv.gz", data)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"1,0,0\n0,1,1\n"


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("d.svm", ["a", "b"], "the svmlight format has numbers for labels, not"),
        ("d.vec", ["a", "b"], "the agf format has whole numbers for labels, not"),
        ("d.lvq", ["a b", "c"], "the lvq format has no labels with white space, such as 'a b'"),
    ],
)
def test_labels_that_a_format_cannot_hold_are_refused(tmp_path, name, y, words):
    with pytest.raises(ArgumentError, match=words):
        write_data(tmp_path / name, Data(np.eye(2), np.array(y), None, np.arange(2)))
    assert list(tmp_path.iterdir()) == []


def test_the_label_needs_a_name_of_its_own(tmp_path):
    data = Data(np.eye(2), np.array([0, 1]), ("a", "b"), np.arange(2))
    with pytest.raises(ArgumentError, match='target="a" is the name of a feature'):
        write_data(tmp_path / "d.csv", data, target="a")


def test_formats_by_name_and_by_content(tmp_path):
    assert find_format("a.TSV") == "tsv"
    (tmp_path / "heart").write_text("+1 1:0.5 3:-1\n")
    assert find_format(tmp_path / "heart") == "svmlight"
    (tmp_path / "b.vec").write_bytes(b"")
    assert find_format(tmp_path / "b") == "agf"
    (tmp_path / "t").write_text("height;kind\n1;oak\n")
    assert find_format(tmp_path / "t") == "csv"
    assert read_data(tmp_path / "t").y.tolist() == ["oak"]
    (tmp_path / "z").write_bytes(b"\x00,\x01\n")
    with pytest.raises(ArgumentError, match="the name does not tell the format"):
        find_format(tmp_path / "z")
    with pytest.raises(FileNotFoundError):
        read_data(tmp_path / "nothing")
    (tmp_path / "c.txt").write_text("1 2 3\n")
    with pytest.raises(
        ArgumentError, match=r'the name does not tell the format\. Give format= as "csv"'
    ):
        find_format(tmp_path / "c.txt")
    with pytest.raises(ArgumentError, match='format="xls" is not known'):
        find_format("a", "xls")


def _error(path, **options):
    with pytest.raises(DataError) as info:
        read_data(path, **options)
    return str(info.value)


def test_svmlight_equals_scikit_learns_reader(tmp_path):
    text = "# comment\n+1 1:0.5 4:2 # note\n\n-1 2:-1e-3\n1 qid:3 3:7\n"
    path = tmp_path / "d.svm"
    path.write_text(text)
    data = read_data(path)
    X, y = load_svmlight_file(str(path), zero_based=False)
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    assert data.y.tolist() == y.tolist() == [1, -1, 1]
    assert data.row_numbers.tolist() == [2, 4, 5]
    assert read_data(path, features=6).X.shape == (3, 6)
    words = (
        "line 2: there is a feature 4, but there are only 3 features. Read the training data with"
    )
    assert f"{words} features=4 or more" in _error(path, features=3)


def test_svmlight_samples_may_have_more_features_where_that_is_allowed(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1\n2 5:2\n1 2:3\n")
    blocks = list(open_blocks(path, n_rows=1, features=3, extra_features=True))
    assert [block.X.shape for block in blocks] == [(1, 3), (1, 5), (1, 3)]
    assert blocks[1].X[0, 4] == 2


def test_a_huge_index_takes_memory_only_where_it_is_meant(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1\n2 2000000000:2\n")
    words = _error(path)
    assert "line 2: feature 2000000000 is beyond 16777216. If it is meant, say how many" in words
    assert read_data(path, features=2_000_000_000).X.shape == (2, 2_000_000_000)


def test_rows_of_kernel_values(tmp_path):
    path = tmp_path / "k.svm"
    path.write_text("7 0:1 1:1 2:0 3:0.5\n# note\n-2 0:2 1:0 2:1 3:0\n")
    data = read_data(path, format="kernel")
    assert data.X.tolist() == [[1, 0, 0.5], [0, 1, 0]]
    assert data.y.tolist() == [7, -2]
    assert data.row_numbers.tolist() == [1, 3]
    with pytest.raises(ArgumentError, match='format="kernel" is only read'):
        write_data(path, data, format="kernel")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 1:1 2:1", "line 2: a row of kernel values is label 0:number 1:value 2:value … up to 2"),
        ("1 0:2 1:1", "line 2: a row of kernel values is"),
        ("1 0:2 1:1 3:1", "line 2: a row of kernel values is"),
        ("1 0:2 1:1 2:1 3:1", "line 2: a row of kernel values is"),
        ("1 0:2 1:1 2:nan", "line 2: value 2: the value is missing (nan)"),
        ("a 0:2 1:1 2:1", 'line 2: label: "a" is not a number'),
    ],
)
def test_mistakes_in_rows_of_kernel_values_are_told(tmp_path, line, words):
    path = tmp_path / "k.svm"
    path.write_text(f"1 0:1 1:1 2:1\n{line}\n")
    assert words in _error(path, format="kernel")
    assert "there is a feature 0, but indices count from one. If these are rows" in _error(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 0:1", "line 2: there is a feature 0, but indices count from one"),
        ("1 0:1", 'say format="kernel"; else write the file again, with indices from one'),
        ("1 2:x", 'line 2: feature 2: "x" is not a number'),
        ("1 2:nan", "line 2: feature 2: the value is missing (nan)"),
        ("1 2:inf", "line 2: feature 2: inf is not a finite number"),
        ("1 3:1 2:1", "line 2: feature 2 comes after feature 3; indices must ascend"),
        ("1 2:1 2:1", "line 2: feature 2 comes after feature 2"),
        ("1 99999999999:1", "is no pair index:value"),
        ("1 4294967297:1", "line 2: feature 4294967297 is beyond the largest index"),
        ("1 2;1", 'line 2: "2;1" is no pair index:value'),
        ("a 2:1", 'line 2: label: "a" is not a number'),
        ("1,2 2:1", 'line 2: label: "1,2" is not a number'),
    ],
)
def test_svmlight_mistakes_are_told_with_their_line(tmp_path, line, words):
    path = tmp_path / "d.svm"
    path.write_text(f"1 1:1\n{line}\n")
    assert words in _error(path)


def test_unknown_labels_are_told_in_every_format(tmp_path):
    data = Data(np.eye(3), np.array([0, 1, 2]), None, np.arange(3))
    for name in ("d.svm", "d.npz", "d.vec", "d.parquet"):
        write_data(tmp_path / name, data)
        words = _error(tmp_path / name, classes=[0, 1])
        assert 'row 3: label "2" is none of the classes 0, 1' in words


def test_lvq_files(tmp_path):
    path = tmp_path / "d.lvq"
    path.write_text("# plants\n2\n1 2 oak\n# more\n3\t4 elm\n")
    data = read_data(path)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y.tolist() == ["oak", "elm"]
    assert data.row_numbers.tolist() == [3, 5]
    path.write_text("2\n1 2\n3 4\n")
    assert read_data(path, target=None).X.tolist() == [[1, 2], [3, 4]]
    assert "line 2: there is no label after the features" in _error(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("two\n1 2 a\n", "line 1: the first line must begin with the number of features"),
        ("2\n", "there is a number of features but no data"),
        ("2\n1 2 3 a\n", "line 2: there are 4 fields for 2 features and a label"),
        ("2\n1 2 a\n1 a\n", "line 3: there are 2 fields, but 3 columns"),
        ("2\n1 2 a\n1 x a\n", 'line 3, column 2: "x" is not a number'),
    ],
)
def test_lvq_mistakes_are_told_with_their_line(tmp_path, text, words):
    (tmp_path / "d.lvq").write_text(text)
    assert words in _error(tmp_path / "d.lvq")


def test_libagf_files_byte_by_byte(tmp_path):
    (tmp_path / "d.vec").write_bytes(bytes([2, 0, 0, 0]) + np.array([1, 2, 3, 4], "<f4").tobytes())
    (tmp_path / "d.cls").write_bytes(bytes([7, 0, 0, 0, 255, 255, 255, 255]))
    for name in ("d.vec", "d.cls", "d"):
        data = read_data(tmp_path / name)
        assert data.X.tolist() == [[1, 2], [3, 4]]
        assert data.y.tolist() == [7, -1]


@pytest.mark.parametrize(
    ("vectors", "classes", "words"),
    [
        (b"", b"", "does not begin with a number of features"),
        (b"\0\0\0\0", b"", "does not begin with a number of features"),
        (b"\1\0\0\0", b"", "0 bytes are no whole number of rows"),
        (b"\2\0\0\0" + bytes(12), bytes(4), "12 bytes are no whole number of rows of 2 features"),
        (b"\2\0\0\0" + bytes(8), bytes(8), "8 bytes are not the classes, of four bytes each, of 1"),
        (b"\1\0\0\0\0\0\x80\x7f", bytes(4), "row 1, column 1: inf is not a finite number"),
    ],
)
def test_broken_libagf_files_are_told(tmp_path, vectors, classes, words):
    (tmp_path / "d.vec").write_bytes(vectors)
    (tmp_path / "d.cls").write_bytes(classes)
    assert words in _error(tmp_path / "d.vec")


def test_npz_files(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.asfortranarray(np.arange(6.0).reshape(3, 2)), y=np.array(["a", "b", "a"]))
    blocks = list(open_blocks(path, n_rows=2))
    np.testing.assert_array_equal(np.vstack([b.X for b in blocks]), np.arange(6).reshape(3, 2))
    assert read_data(path).y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Z": np.eye(2)}, "there is no array X; there are Z"),
        ({"X": np.eye(2)}, "there is no array y for the labels"),
        ({"X": np.eye(2), "y": [1, np.nan]}, "d.npz, row 2: the label is missing (nan)"),
        ({"X": np.eye(2), "y": np.arange(3)}, "X has 2 rows, but y is of shape (3,)"),
        ({"X": np.arange(3.0), "y": np.arange(3)}, "X is of shape (3,)"),
        ({"X": np.zeros((0, 2)), "y": np.arange(0)}, "X has no rows"),
        ({"X": np.array([["a"]]), "y": np.arange(1)}, "X is of type <U1, which is no number"),
        ({"X": np.array([[1, np.nan]]), "y": [1]}, "row 1, column 2: nan is not a finite number"),
        ({"X": np.array([[None]], dtype=object), "y": [1]}, "holds objects"),
        (
            {"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 2], "y": [1]},
            "X is no sparse matrix by rows",
        ),
    ],
)
def test_broken_npz_files_are_told(tmp_path, arrays, words):
    np.savez(tmp_path / "d.npz", **arrays)
    assert words in _error(tmp_path / "d.npz")


def test_features_of_an_npz_file_must_have_the_names_that_are_needed(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.eye(2), y=np.arange(2), feature_names=np.array(["a", "b"]))
    assert read_data(path, features=["a", "b"]).feature_names == ("a", "b")
    assert "the features have other names, or another order" in _error(path, features=["b", "a"])
    assert "there are 2 features; 3 are needed" in _error(path, features=3)


def test_a_damaged_npz_file_is_told(tmp_path):
    path = tmp_path / "d.npz"
    path.write_bytes(b"PK")
    assert "this is no npz file" in _error(path)
    np.savez(path, X=np.eye(50), y=np.arange(50))
    content = bytearray(path.read_bytes())
    content[2000] ^= 255
    path.write_bytes(content)
    assert "the npz file is damaged" in _error(path)


def test_parquet_mistakes_are_told_with_their_row(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"

    def write(**columns):
        parquet.write_table(arrow.table(columns), path)

    write(a=[1.0, None], kind=["x", "y"])
    assert 'row 2, column 1 ("a"): the value is missing' in _error(path)
    write(a=[1.0, float("nan")], kind=["x", "y"])
    assert 'row 2, column 1 ("a"): the value is missing (nan)' in _error(path)
    write(a=[1.0, 2.0], kind=["x", None])
    assert 'row 2, column 2 ("kind"): the value is missing' in _error(path)
    write(a=["r", "s"], kind=["x", "y"])
    assert 'column 1 ("a"): a column of type string is no number' in _error(path)
    assert 'row 2, column 1 ("a"): "s" is none of the known values r' in _error(
        path, categories={"a": ["r"]}
    )
    write(a=arrow.array([], arrow.float64()), kind=arrow.array([], arrow.string()))
    assert "the file has no rows" in _error(path)
    path.write_bytes(b"PAR1 no")
    assert "this is no Parquet file" in _error(path)
    write(a=arrow.array([True, False]), kind=arrow.array(["x", "y"]).dictionary_encode())
    data = read_data(path)
    assert data.X.tolist() == [[1], [0]]
    assert data.y.tolist() == ["x", "y"]
