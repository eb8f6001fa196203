"""Laws of random Fourier features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from polytomy.errors import ModelFileError
from polytomy.learners.fourier import FourierFeatures
from polytomy.states import State


@given(
    n_features=st.integers(1, 6),
    gamma=st.floats(0.01, 2.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_mean_products_of_features_approximate_the_kernel(n_features, gamma, seed):
    n_components = 20_000
    X = np.random.default_rng(seed).normal(size=(4, n_features))
    values = FourierFeatures.draw(np.zeros(n_features), n_components, gamma, seed).transform(X)
    # The standard deviation of a mean of products in [−1, 1] is at most 1 / sqrt(n_components).
    assert np.abs(2 * values @ values.T / n_components - rbf_kernel(X, gamma=gamma)).max() < 0.06


def test_blocks_of_frequencies_are_orthogonal():
    frequencies = FourierFeatures.draw(np.zeros(5), 10, 0.5, seed=0).frequencies
    for block in (frequencies[:, :5], frequencies[:, 5:]):
        products = block.T @ block
        assert np.allclose(products, np.diag(np.diagonal(products)), atol=1e-5)  # single precision


def test_large_values_keep_the_digits_that_differ():
    X = np.random.default_rng(0).normal(size=(5, 3))
    centred = FourierFeatures.draw(np.zeros(3), 50, 0.5, seed=0).transform(X)
    shifted = FourierFeatures.draw(np.full(3, 1e8), 50, 0.5, seed=0).transform(X + 1e8)
    assert np.abs(centred - shifted).max() < 1e-5


def test_more_features_than_components_need_no_square_matrix():
    # Its matrix of frequencies alone would take 80 GB if it were square.
    features = FourierFeatures.draw(np.zeros(100_000), 5, 0.5, seed=0)
    assert features.frequencies.shape == (100_000, 5)


def test_a_state_with_other_lengths_is_refused():
    values = {"centre": np.ones(2), "frequencies": np.ones((2, 3)), "phases": np.ones(2)}
    state = State(values, "model")
    with pytest.raises(ModelFileError, match=r"model\.phases is not an array of floats of shape"):
        FourierFeatures.from_state(state)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_features_are_cosines_of_any_angle(scale, container):
    X = scale * np.random.default_rng(0).normal(size=(50, 4))
    features = FourierFeatures.draw(np.ones(4), 30, 0.5, seed=0)
    frequencies = features.frequencies.astype(np.float64)
    expected = np.cos((X - features.centre) @ frequencies + features.phases)
    assert np.abs(features.transform(container(X)) - expected).max() < 1e-5
