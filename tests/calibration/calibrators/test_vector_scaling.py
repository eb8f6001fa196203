"""Vector scaling: maximum likelihood with a prior, against scipy and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

from polytomy.calibration.calibrators import VectorScaling, fit_vector_scaling


def draw_problem(seed, n_sides, n_samples=120):
    generator = np.random.default_rng(seed)
    sides = generator.integers(0, n_sides, n_samples)
    values = generator.normal(size=(n_samples, n_sides)) + 2.0 * np.eye(n_sides)[sides]
    return values * generator.uniform(0.1, 10.0), sides, generator.uniform(0.5, 2.0, n_samples)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_no_other_slopes_and_intercepts_are_likelier(seed, n_sides):
    values, sides, weight = draw_problem(seed, n_sides)
    spread = values.std()
    scaled, rows = values / spread, np.arange(len(sides))

    def penalised_loss(parameters):
        logs, intercepts = parameters[:n_sides], parameters[n_sides:]
        logits = scaled * np.exp(logs) + intercepts
        logits -= logits.max(axis=1, keepdims=True)
        likelihood = logits[rows, sides] - np.log(np.exp(logits).sum(axis=1))
        return -weight @ likelihood + 0.5 * parameters @ parameters

    scaling = fit_vector_scaling(values, sides, weight)
    found = np.concatenate([np.log(scaling.slopes * spread), scaling.intercepts])
    best = minimize(penalised_loss, np.zeros(2 * n_sides), method="Powell", tol=1e-7)
    assert penalised_loss(found) <= best.fun + 1e-3


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_sides_does_not_matter(seed):
    values, sides, weight = draw_problem(seed, 3)
    order = np.array([2, 0, 1])
    turned = fit_vector_scaling(values[:, order], np.argsort(order)[sides], weight)
    plain = fit_vector_scaling(values, sides, weight)
    np.testing.assert_allclose(
        turned.apply(values[:, order]), plain.apply(values)[:, order], atol=1e-3
    )


def test_a_common_slope_is_a_temperature():
    values, sides, _ = draw_problem(0, 4)
    scaling = fit_vector_scaling(values, sides, common_slope=True)
    assert len(set(scaling.slopes)) == 1
    np.testing.assert_array_equal(scaling.intercepts, 0.0)
    np.testing.assert_allclose(scaling.apply(values), softmax(scaling.slopes[0] * values, axis=1))


@pytest.mark.parametrize("value", [0.0, -np.log(3.0), 1e-9, 7e5])
def test_the_rounding_error_of_equal_values_is_no_spread(value):
    scaling = fit_vector_scaling(np.full((5, 3), value), np.array([0, 0, 1, 0, 2]))
    # A unit Gaussian is the prior of the logarithms of the slopes.
    assert np.abs(np.log(scaling.slopes)).max() < 10


def test_slopes_stay_finite_if_all_samples_are_on_their_side():
    scaling = fit_vector_scaling(10.0 * np.eye(3), np.arange(3))
    assert np.isfinite(scaling.slopes).all()
    assert scaling.apply(10.0 * np.eye(3)).max() < 1.0


def test_a_side_that_is_not_known_has_no_probability():
    scaling = VectorScaling(np.array([1.0, 2.0, 1.0]), np.zeros(3))
    chances = scaling.apply(np.array([[0.0, -np.inf, np.log(3.0)]]))
    assert chances[0].tolist() == pytest.approx([0.25, 0.0, 0.75])
