"""LIBSVM's data files, and its rows of kernel values."""

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from polytomy.datasets import open_blocks, read_data, write_data
from polytomy.errors import ArgumentError


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


def test_blocks_may_have_extra_features_if_allowed(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("1 1:1\n2 5:2\n1 2:3\n")
    blocks = list(open_blocks(path, n_rows=1, features=3, extra_features=True))
    assert [block.X.shape for block in blocks] == [(1, 3), (1, 5), (1, 3)]
    assert blocks[1].X[0, 4] == 2


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
        ("1 0:1", "line 2: feature indices start at 1, but there is an index 0."),
        ("1 0:1", 'use format="kernel"; otherwise number the features from 1.'),
        ("1 2:x", 'line 2: feature 2: "x" is not a number'),
        ("1 2:nan", "line 2: feature 2: the value is missing (nan)"),
        ("1 2:inf", "line 2: feature 2: inf is not a finite number"),
        ("1 3:1 2:1", "line 2: feature 2 comes after feature 3; indices must increase"),
        ("1 2:1 2:1", "line 2: feature 2 comes after feature 2"),
        ("1 99999999999:1", "is not a pair index:value"),
        ("1 4294967297:1", "line 2: feature index 4294967297 is larger than the limit, 2147483647"),
        ("1 2;1", 'line 2: "2;1" is not a pair index:value'),
        ("a 2:1", 'line 2: label: "a" is not a number'),
        ("1,2 2:1", 'line 2: label: "1,2" is not a number'),
    ],
)
def test_a_mistake_is_an_error_with_its_line(tmp_path, read_error, line, words):
    path = tmp_path / "d.svm"
    path.write_text(f"1 1:1\n{line}\n")
    assert words in read_error(path)


def test_rows_of_kernel_values_are_read(tmp_path):
    path = tmp_path / "k.svm"
    path.write_text("7 0:1 1:1 2:0 3:0.5\n# note\n-2 0:2 1:0 2:1 3:0\n")
    data = read_data(path, format="kernel")
    assert data.X.tolist() == [[1, 0, 0.5], [0, 1, 0]]
    assert data.y.tolist() == [7, -2]
    assert data.row_numbers.tolist() == [1, 3]
    with pytest.raises(ArgumentError, match='format="kernel" can only be read'):
        write_data(path, data, format="kernel")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "1 1:1 2:1",
            "line 2: a row of kernel values must be label 0:number 1:value 2:value … up to 2",
        ),
        ("1 0:2 1:1", "line 2: a row of kernel values must be"),
        ("1 0:2 1:1 3:1", "line 2: a row of kernel values must be"),
        ("1 0:2 1:1 2:1 3:1", "line 2: a row of kernel values must be"),
        ("1 0:2 1:1 2:nan", "line 2: value 2: the value is missing (nan)"),
        ("a 0:2 1:1 2:1", 'line 2: label: "a" is not a number'),
    ],
)
def test_a_mistake_in_kernel_values_is_an_error_with_its_line(tmp_path, read_error, line, words):
    path = tmp_path / "k.svm"
    path.write_text(f"1 0:1 1:1 2:1\n{line}\n")
    assert words in read_error(path, format="kernel")
    assert "there is an index 0. If these are rows of kernel values" in read_error(path)
