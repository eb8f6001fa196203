import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils import check_array

from polytomy.inputs.training_data import is_plain_array

PLAIN = [np.eye(3), np.zeros((1, 1)), np.eye(4)[1:3]]
OTHERS = [
    np.eye(3, dtype=np.float32),
    np.eye(3).tolist(),
    np.ones(3),
    np.ones((2, 2, 2)),
    np.asfortranarray(np.ones((2, 3))),
    np.ones((4, 4))[:, ::2],
    np.array([[1.0, np.nan]]),
    np.array([[1.0, -np.inf]]),
    np.array([[1e308, 1e308]]),
    np.ones((0, 3)),
    np.ones((3, 0)),
    csr_array(np.eye(3)),
    np.ma.array(np.eye(3)),
]


@pytest.mark.parametrize("X", PLAIN)
def test_scikit_learn_returns_plain_arrays_as_they_are(X):
    assert is_plain_array(X)
    assert check_array(X, dtype=np.float64, order="C", accept_sparse="csr") is X


@pytest.mark.parametrize("X", OTHERS)
def test_all_other_data_is_left_to_scikit_learn(X):
    assert not is_plain_array(X)
