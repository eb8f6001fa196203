import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from sklearn.svm import SVC

from polytomy.errors import DataError
from polytomy.inputs.training_data import Samples, blocks_of, input_key

X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
FRAME = pd.DataFrame(X, columns=["a", "b"])


class Machine:
    """A model that is none of scikit-learn's."""


def test_numbers_are_contiguous_doubles_and_converted_once():
    samples = Samples(X.astype(np.float32))
    numbers = samples.as_numbers(SVC().fit(X, [0, 1, 1]), 2)
    assert numbers.dtype == np.float64
    assert numbers.flags.c_contiguous
    np.testing.assert_array_equal(numbers, X)
    assert samples.as_numbers(SVC(C=2).fit(X, [0, 0, 1]), 2) is numbers


def test_sparse_samples_become_csr():
    numbers = Samples(coo_array(X)).as_numbers(Machine(), 2)
    assert numbers.format == "csr"
    np.testing.assert_array_equal(numbers.toarray(), X)


def test_a_frame_is_converted_for_a_model_fitted_with_its_names():
    numbers = Samples(FRAME).as_numbers(SVC().fit(FRAME, [0, 1, 1]), 2)
    np.testing.assert_array_equal(numbers, X)


def test_names_in_another_order_are_refused_as_the_model_does():
    model = SVC().fit(FRAME, [0, 1, 1])
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        Samples(FRAME[["b", "a"]]).as_numbers(model, 2)


def test_models_with_different_feature_names_have_different_keys():
    named = SVC().fit(FRAME, [0, 1, 1])
    assert input_key(named, 2) == (2, ("a", "b"))
    assert input_key(SVC().fit(X, [0, 1, 1]), 2) == (2, None)


def test_a_wrong_number_of_features_is_refused():
    with pytest.raises(DataError) as error:
        Samples(X).as_numbers(Machine(), 3)
    assert str(error.value) == "X has 2 features; the binaries were fitted to 3."
    with pytest.raises(ValueError, match="X has 1 features, but SVC is expecting 2 features"):
        Samples(X[:, :1]).as_numbers(SVC().fit(X, [0, 1, 1]), 2)


@pytest.mark.parametrize("model", [Machine(), SVC().fit(X, [0, 1, 1])])
def test_missing_values_are_refused(model):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        Samples(np.array([[np.nan, 1.0]])).as_numbers(model, 2)


def test_blocks_cover_all_rows_within_the_bytes():
    blocks = list(blocks_of(10, bytes_of_row=8, most_bytes=30))
    assert [row for block in blocks for row in range(10)[block]] == list(range(10))
    assert all(8 * (block.stop - block.start) <= 30 for block in blocks)


def test_a_row_larger_than_a_block_goes_alone():
    assert list(blocks_of(2, bytes_of_row=100, most_bytes=10)) == [slice(0, 1), slice(1, 2)]
    assert list(blocks_of(0, bytes_of_row=0, most_bytes=0)) == []
