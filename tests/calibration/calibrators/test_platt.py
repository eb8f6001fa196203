import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from polytomy.routines.reference.calibration import fit_log_odds, platt_targets


def test_hand_worked_targets():
    is_positive = np.array([True, True, False, True])
    np.testing.assert_allclose(platt_targets(is_positive, np.ones(4)), [4 / 5, 4 / 5, 1 / 3, 4 / 5])


def test_weights_count_as_copies():
    is_positive = np.array([True, False])
    np.testing.assert_allclose(platt_targets(is_positive, np.array([3.0, 8.0])), [4 / 5, 1 / 10])


@given(st.lists(st.floats(0.001, 0.999), min_size=2, max_size=2))
@settings(deadline=None)
def test_as_many_coefficients_as_samples_meet_the_targets(targets):
    columns = np.array([[1.0, 1.0], [-0.5, 1.0]])
    coefficients = fit_log_odds(columns, np.array(targets), np.array([1.0, 7.0]))
    np.testing.assert_allclose(columns @ coefficients, logit(targets), atol=1e-7)


# Found by search: in the last four, whole Newton steps would raise the loss on the way.
@pytest.mark.parametrize("seed", [*range(100), 2159, 2759, 9636, 10104])
def test_the_gradient_vanishes_however_uneven_the_data(seed):
    rng = np.random.default_rng(seed)
    n_samples = rng.integers(3, 8)
    values = rng.normal(size=(n_samples, 1)) * 10 ** rng.uniform(-2, 2, size=(n_samples, 1))
    columns = np.hstack([values / np.abs(values).max(), np.ones((n_samples, 1))])
    targets = rng.uniform(0.001, 0.999, size=n_samples)
    weight = 10 ** rng.uniform(-3, 4, size=n_samples)
    coefficients = fit_log_odds(columns, targets, weight)
    gradient = (weight * (expit(columns @ coefficients) - targets)) @ columns
    assert np.all(np.abs(gradient) <= 1e-9 * (weight @ np.abs(columns)))
