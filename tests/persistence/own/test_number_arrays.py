"""Arrays stored in two long ones."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from persistence.own.saved_archives import array_to_bytes, pack, unpack
from polytomy.errors import ModelFileError
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter, checked_shape


@pytest.fixture
def reader():
    return NumberReader(np.arange(6.0), np.array([0, 2, 1, 3, 0, 1]))


def _fields(reference):
    return Fields(reference, "an array")


def test_arrays_read_back_as_they_were():
    random = np.random.default_rng(0)
    floats = [
        np.float64(2.5),
        random.normal(size=4),
        random.normal(size=(3, 2)),
        random.normal(size=3).astype(np.float32),
        np.empty((0, 4)),
    ]
    integers = [np.array([5, 0, 300]), np.array([], dtype=np.int64)]
    matrices = [random.normal(size=(2, 3)), csr_matrix(random.integers(0, 2, (4, 5)) * 1.5)]
    writer = NumberWriter()
    references = [
        [writer.floats(each) for each in floats],
        [writer.integers(each) for each in integers],
        [writer.matrix(each) for each in matrices],
    ]
    reader = NumberReader(writer.all_floats(), writer.all_integers())
    for array, reference in zip(floats, references[0], strict=True):
        again = reader.floats(_fields(reference))
        assert (again.shape, again.dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(again, array)
    for array, reference in zip(integers, references[1], strict=True):
        np.testing.assert_array_equal(reader.integers(_fields(reference), below=301), array)
    for matrix, reference in zip(matrices, references[2], strict=True):
        again = reader.matrix(_fields(reference))
        assert issparse(again) == issparse(matrix)
        np.testing.assert_array_equal(csr_matrix(again).toarray(), csr_matrix(matrix).toarray())


def test_integers_take_the_smallest_type_that_holds_them():
    writer = NumberWriter()
    writer.integers([0, 200])
    assert writer.all_integers().dtype == np.uint8
    writer.integers([70_000])
    assert writer.all_integers().dtype == np.uint32


def test_values_that_are_not_finite_are_not_written():
    with pytest.raises(ModelFileError, match="values that are not finite, so it cannot be saved"):
        NumberWriter().floats(np.array([1.0, np.nan]))


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"start": 0, "shape": [7]}, "an array points beyond the numbers of the model"),
        ({"start": 4, "shape": [3]}, "an array points beyond the numbers of the model"),
        ({"start": 0, "shape": [2**60, 2**60]}, "an array does not have a valid shape"),
        ({"start": 0, "shape": [-1]}, "an array does not have a valid shape"),
        ({"start": 0, "shape": [1, 1, 1]}, "an array does not have a valid shape"),
        ({"start": 0, "shape": [True]}, "an array does not have a valid shape"),
        ({"start": -1, "shape": [1]}, "start of an array is not an integer from 0"),
        ({"shape": [1]}, "start of an array is not an integer from 0"),
        ({"start": 0}, "shape of an array is not a list"),
    ],
)
def test_references_that_point_nowhere_are_refused(reader, reference, words):
    with pytest.raises(ModelFileError, match=words):
        reader.floats(_fields(reference))


def test_dimensions_and_ranges_are_checked(reader):
    with pytest.raises(ModelFileError, match="an array has 1 dimensions instead of 2"):
        reader.floats(_fields({"start": 0, "shape": [3]}), n_dimensions=2)
    with pytest.raises(ModelFileError, match="an array is not one-dimensional"):
        reader.integers(_fields({"start": 0, "shape": [1, 1]}), below=9)
    with pytest.raises(ModelFileError, match="an array has values out of range"):
        reader.integers(_fields({"start": 0, "shape": [4]}), below=3)
    negative = NumberReader(np.empty(0), np.array([-1]))
    with pytest.raises(ModelFileError, match="an array has values out of range"):
        negative.integers(_fields({"start": 0, "shape": [1]}), below=3)


def test_values_too_large_for_single_precision_are_refused():
    reader = NumberReader(np.array([1e300]), np.array([0]))
    with pytest.raises(ModelFileError, match="too large for float32"):
        reader.floats(_fields({"start": 0, "shape": [1], "type": "float32"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sparse": [2]}, "is not a matrix"),
        ({"sparse": [2, 2**31]}, "is not a matrix"),
        ({"sparse": [2, 2]}, "columns of an array has values out of range"),
        ({"sparse": [1, 4]}, "is not a sparse matrix in CSR format"),
        ({"columns": {"start": 1, "shape": [2]}}, "is not a sparse matrix in CSR format"),
        ({"ends": {"start": 1, "shape": [3]}}, "is not a sparse matrix in CSR format"),
        ({"values": {"start": 0, "shape": [2]}}, "ends of an array has values out of range"),
    ],
)
def test_sparse_matrices_that_are_none_are_refused(change, words):
    # Two rows, [5, 0, 6, 0] and [0, 0, 0, 7].
    reader = NumberReader(np.array([5.0, 6.0, 7.0]), np.array([0, 2, 3, 0, 2, 3]))
    reference = {
        "sparse": [2, 4],
        "values": {"start": 0, "shape": [3]},
        "columns": {"start": 0, "shape": [3]},
        "ends": {"start": 3, "shape": [3]},
    }
    matrix = reader.matrix(_fields(reference))
    np.testing.assert_array_equal(matrix.toarray(), [[5, 0, 6, 0], [0, 0, 0, 7]])
    with pytest.raises(ModelFileError, match=words):
        reader.matrix(_fields({**reference, **change}))


def test_a_shape_has_at_most_two_lengths():
    assert checked_shape([2, 0], "x") == (2, 0)
    with pytest.raises(ModelFileError, match="x does not have a valid shape"):
        checked_shape([1, 2, 3], "x")


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("floats.npy", np.ones((5000, 2)), "not a one-dimensional float64 array"),
        ("floats.npy", np.ones(5000, dtype=np.float32), "not a one-dimensional float64 array"),
        ("floats.npy", np.ones(0), "points beyond the numbers of the model"),
        ("integers.npy", np.ones(5000), "not a one-dimensional array of integers"),
        ("integers.npy", np.full(5000, -1), "has values out of range"),
        ("integers.npy", np.full(5000, 2**62), "has values out of range"),
    ],
)
def test_numbers_of_another_kind_are_refused(svm_model, name, array, words, refusal):
    description, members = unpack(svm_model)
    assert words in refusal(pack(description, {**members, name: array_to_bytes(array)}))
