"""LIBSVM's data files."""

import gzip
import io
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from polytomy.datasets import Stream, open_blocks, read_data, write_data
from polytomy.errors import ArgumentError, DataError


def test_data_is_that_of_scikit_learns_reader(tmp_path, read_error):
    text = "# comment\n+1 1:0.5 4:2 # note\n\n-1 2:-1e-3\n1 qid:3 3:7\n"
    path = tmp_path / "d.svm"
    path.write_text(text)
    data = read_data(path)
    X, y = load_svmlight_file(str(path), zero_based=False)
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    assert data.y.tolist() == y.tolist() == [1, -1, 1]
    assert data.row_numbers.tolist() == [2, 4, 5]
    assert read_data(path, features=6).X.shape == (3, 6)
    assert read_error(path, features=3) == (
        "d.svm, line 2: feature index 4 is larger than the number of features, 3. Read the "
        "training data with features=4 or more."
    )


def test_a_huge_index_needs_the_number_of_features(tmp_path, read_error):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1\n2 2000000000:2\n")
    assert read_error(path) == (
        "d.svm, line 2: feature index 2000000000 is larger than 16777216. If it is correct, set "
        "the number of features: features=2000000000 or more."
    )
    assert read_data(path, features=2_000_000_000).X.shape == (2, 2_000_000_000)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 2:x", 'line 2: feature 2: "x" is not a number'),
        ("1 2:nan", "line 2: feature 2: the value is missing (nan)"),
        ("1 2:inf", "line 2: feature 2: inf is not a finite number"),
        ("1 3:1 2:1", "line 2: feature 2 comes after feature 3; indices must increase"),
        ("1 2:1 2:1", "line 2: feature 2 comes after feature 2"),
        ("1 99999999999:1", "is not a pair index:value"),
        ("1 4294967297:1", "line 2: feature index 4294967297 is larger than 16777216"),
        ("1 2;1", 'line 2: "2;1" is not a pair index:value'),
        ("a 2:1", 'line 2: label: "a" is not a number'),
        ("1,2 2:1", 'line 2: label: "1,2" is not a number'),
    ],
)
def test_a_mistake_is_an_error_with_its_line(tmp_path, read_error, line, words):
    path = tmp_path / "d.svm"
    path.write_text(f"1 1:1\n{line}\n")
    assert words in read_error(path)


def test_rows_of_kernel_values_are_not_taken_for_features(tmp_path, read_error):
    path = tmp_path / "k.svm"
    path.write_text("1 0:1 1:1 2:0.5\n2 0:2 1:0.5 2:1\n")
    for options in ({}, {"features": 3}):
        assert read_error(path, **options) == (
            "k.svm, line 1: these may be rows of kernel values, which are not read. If they are "
            "features numbered from 0, use zero_based=True."
        )
    assert read_data(path, zero_based=True).X.toarray().tolist() == [[1, 1, 0.5], [2, 0.5, 1]]


# -- where indices start ---------------------------------------------------------------------------


@pytest.fixture
def both(tmp_path):
    """Return a matrix, and files of it with indices from zero and from one."""
    X = np.round(np.random.default_rng(0).normal(size=(40, 5)), 3)
    X[X < 0] = 0
    X[:30, 0] = 0  # an index 0 comes late
    y = np.arange(40) % 3
    files = {is_zero: tmp_path / f"{is_zero}.svm" for is_zero in (True, False)}
    for is_zero, file in files.items():
        dump_svmlight_file(X, y, str(file), zero_based=is_zero)
    return X, files


@pytest.mark.parametrize("is_zero", [True, False])
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("features", [None, 5, 7])
def test_files_of_scikit_learn_are_read_from_zero_or_one(both, is_zero, told, features):
    X, files = both
    base = {"zero_based": is_zero} if told else {}
    data = read_data(files[is_zero], features=features, **base)
    np.testing.assert_array_equal(data.X.toarray()[:, :5], X)
    assert data.X.shape == (40, features or 5)
    assert data.is_zero_based is is_zero
    blocks = list(open_blocks(files[is_zero], n_rows=7, features=features, **base))
    np.testing.assert_array_equal(np.vstack([b.X.toarray() for b in blocks])[:, :5], X)
    assert {block.X.shape[1] for block in blocks} == {features or 5}
    gz = files[is_zero].with_suffix(".svm.gz")
    gz.write_bytes(gzip.compress(files[is_zero].read_bytes()))
    np.testing.assert_array_equal(read_data(gz, **base).X.toarray(), X)


def test_a_zero_in_a_comment_is_not_an_index(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:5 # not 0:3\n2 2:6 # 0:1\n")
    for features in (None, 2):
        data = read_data(path, features=features)
        assert data.X.toarray().tolist() == [[5, 0], [0, 6]]
        assert data.is_zero_based is False
    path.write_text("1 00:5 # note\n2 1:6\n")
    assert read_data(path, features=2).X.toarray().tolist() == [[5, 0], [0, 6]]


def test_an_index_zero_in_data_from_one_is_an_error_with_the_ways_out(tmp_path, read_error):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1\n1 0:1\n")
    assert read_error(path, zero_based=False) == (
        "d.svm, line 2: there is an index 0, but features are numbered from 1 here. If they are "
        "numbered from 0, use zero_based=True."
    )
    assert read_error(path, features=1) == (
        "d.svm, line 1: feature index 1 is larger than the number of features, 1. Read the "
        "training data with features=2 or more."
    )
    with pytest.raises(ArgumentError, match='zero_based must be True, False or "auto"; got 3'):
        read_data(path, zero_based=3)


def stream_of(lines):
    return Stream(io.BytesIO("".join(f"{line}\n" for line in lines).encode()), "<pipe>")


def test_the_start_of_a_pipe_decides_if_the_number_of_features_is_given():
    lines = ["1 1:1"] * 1500
    early = [*lines[:500], "1 0:7", *lines]
    (X, *_) = [block.X for block in open_blocks(stream_of(early), features=2, n_rows=2001)]
    assert X[[500]].toarray().tolist() == [[7, 0]]
    assert X[[0]].toarray().tolist() == [[0, 1]]
    late = [*lines, "1 0:7"]
    blocks = open_blocks(stream_of(late), features=2, n_rows=100)
    with pytest.raises(DataError, match="line 1501: there is an index 0, but features are numb"):
        list(blocks)
    (told,) = [b.X for b in open_blocks(stream_of(late), features=2, n_rows=2000, zero_based=True)]
    assert told[[1500]].toarray().tolist() == [[7, 0]]
    # Without the number of features all of a pipe is read before the first block.
    assert read_data(stream_of(late)).X[[1500]].toarray().tolist() == [[7, 0]]


def test_a_pipe_is_not_kept_in_memory_to_find_where_indices_start():
    stream = stream_of(["1 1:1 2:1"] * 400_000)
    sizes = [len(stream._head) for _ in open_blocks(stream, features=2, n_rows=1000)]
    assert max(sizes) < 2**23


@pytest.mark.parametrize("is_zero", [True, False])
def test_written_files_start_where_the_data_did(both, tmp_path, is_zero):
    X, files = both
    data = read_data(files[is_zero])
    part = replace(data, X=data.X[:30], y=data.y[:30], row_numbers=data.row_numbers[:30])
    write_data(tmp_path / "part.svm", part)
    again = read_data(tmp_path / "part.svm", features=5)  # finds no feature 0 in 30 samples
    np.testing.assert_array_equal(again.X.toarray(), X[:30])
    assert again.is_zero_based is is_zero
