"""libAGF's border classifier."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from polytomy.errors import ArgumentError, DataError
from polytomy.learners.borders import BorderMachine


def test_the_nearest_border_sample_decides():
    random = np.random.default_rng(0)
    borders, gradients = random.normal(size=(2, 15, 3))
    X = random.normal(size=(40, 3))
    machine = BorderMachine(borders, gradients)
    nearest = ((X[:, None] - borders) ** 2).sum(axis=2).argmin(axis=1)
    expected = (gradients[nearest] * (X - borders[nearest])).sum(axis=1)
    np.testing.assert_allclose(machine.decision_function(X), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(machine.predict(X), np.where(expected > 0, 1, -1))


def test_it_looks_like_a_fitted_classifier():
    machine = BorderMachine(np.ones((2, 3)), np.ones((2, 3)))
    assert machine.classes_.tolist() == [-1, 1]
    assert machine.n_features_in_ == 3


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,)])
def test_no_border_samples_are_refused(shape):
    with pytest.raises(ArgumentError, match="one border sample or more; got the shape"):
        BorderMachine(np.ones(shape), np.ones(shape))


def test_every_border_sample_needs_a_gradient():
    with pytest.raises(ArgumentError, match=r"must have the same shape; got \(2, 3\) and \(1, 3\)"):
        BorderMachine(np.ones((2, 3)), np.ones((1, 3)))


def test_sparse_samples_are_refused():
    machine = BorderMachine(np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(DataError, match="X is sparse, but border classifiers need dense samples"):
        machine.decision_function(csr_matrix(np.ones((1, 2))))


@pytest.mark.parametrize("value", [1e101, -1e300, np.inf, np.nan])
def test_border_samples_whose_squares_could_overflow_are_refused(value):
    with pytest.raises(ArgumentError, match=r"borders must be finite, and not larger than 1e\+100"):
        BorderMachine(np.array([[value]]), np.ones((1, 1)))
    with pytest.raises(ArgumentError, match="gradients must be finite"):
        BorderMachine(np.ones((1, 1)), np.array([[value]]))


def test_samples_whose_squares_could_overflow_are_refused():
    machine = BorderMachine(np.zeros((1, 2)), np.ones((1, 2)))
    with pytest.raises(DataError, match=r"X has a value larger than 1e\+100"):
        machine.decision_function(np.array([[0.0, -1e200]]))
