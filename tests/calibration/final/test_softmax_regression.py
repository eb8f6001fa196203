"""Softmax models of few and of many parameters, against independent minimisers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, logsumexp

from polytomy.calibration.final import (
    ScaleAndBias,
    Weighted,
    find_curvature,
    fit_each_weighting,
    fit_weights,
)
from polytomy.routines.reference import calibration as reference


def fit_scale_and_bias(features, classes, weight, start=None):
    (solution,) = fit_each_weighting(features, classes, weight[np.newaxis], start, has_bias=True)
    return solution


def bias_loss(features, classes, weight, scale, bias):
    logs = log_softmax(scale * features + bias, axis=1)[np.arange(len(classes)), classes]
    return -weight @ logs + (scale - 1) ** 2 / 2 + bias @ bias / 2


def weights_loss(features, further, classes, weight, penalty, scale, bias, weights):
    logits = scale * features + bias + further @ weights
    logs = log_softmax(logits, axis=1)[np.arange(len(classes)), classes]
    total = weight.sum()
    priors = ((scale - 1) ** 2 + bias @ bias) / (2 * total) + penalty * (weights**2).sum() / 2
    return -(weight @ logs) / total + priors


def least_bias_loss(features, classes, weight):
    """The minimum over s ≥ 0 and b, by another method and without our gradients."""
    n_classes = features.shape[1]

    def loss(x):
        return bias_loss(features, classes, weight, x[0], x[1:])

    best = np.inf
    for scale in (1.0, 0.0):
        start = np.concatenate([[scale], np.zeros(n_classes)])
        bounds = [(0, None), *[(None, None)] * n_classes]
        found = minimize(loss, start, method="SLSQP", bounds=bounds, options={"ftol": 1e-13})
        best = min(best, loss(np.maximum(found.x, [0, *[-np.inf] * n_classes])))
    return best


@st.composite
def problems(draw, most_classes=5):
    """Features that say much, nothing, or the opposite of the truth; perhaps without a class."""
    n_classes = draw(st.integers(2, most_classes))
    n_samples = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = rng.integers(0, draw(st.integers(1, n_classes)), n_samples)
    meaning = draw(st.sampled_from([-3.0, 0.0, 0.5, 3.0, 30.0]))
    features = rng.normal(size=(n_samples, n_classes)) + meaning * np.eye(n_classes)[classes]
    weight = draw(st.sampled_from([np.ones(n_samples), rng.uniform(0, 4, n_samples)]))
    return features * draw(st.sampled_from([0.0, 0.1, 1.0, 5.0])), classes, weight


@given(problems())
def test_scale_and_bias_reach_the_minimum(problem):
    features, classes, weight = problem
    solution = fit_scale_and_bias(features, classes, weight)
    assert solution.scale >= 0
    own = bias_loss(features, classes, weight, solution.scale, solution.bias)
    assert solution.loss == pytest.approx(own, rel=1e-12, abs=1e-12)
    assert own <= least_bias_loss(features, classes, weight) + 1e-7 * max(1.0, own)


@given(problems(), st.floats(0, 20), st.integers(0, 2**32 - 1))
def test_the_minimum_does_not_depend_on_the_start(problem, scale, seed):
    features, classes, weight = problem
    n_classes = features.shape[1]
    start = ScaleAndBias(scale, np.random.default_rng(seed).normal(0, 3, n_classes), 0.0)
    one = fit_scale_and_bias(features, classes, weight)
    other = fit_scale_and_bias(features, classes, weight, start)
    assert other.loss == pytest.approx(one.loss, rel=1e-7, abs=1e-7)
    # The priors bend the loss by at least one in every direction: |x − y|² ≤ 2·(gap in loss).
    assert other.scale == pytest.approx(one.scale, abs=1e-3)
    np.testing.assert_allclose(other.bias, one.bias, atol=1e-3)


def test_features_that_say_the_opposite_are_given_no_weight():
    classes = np.arange(60) % 3
    solution = fit_scale_and_bias(-np.eye(3)[classes], classes, np.ones(60))
    assert solution.scale == 0.0
    np.testing.assert_allclose(solution.bias, 0.0, atol=1e-6)


def test_a_bias_alone_gives_the_frequencies_of_the_classes():
    # The prior of b hardly matters with so many samples.
    classes = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    solution = fit_scale_and_bias(np.zeros((100_000, 3)), classes, np.ones(100_000))
    shares = np.exp(solution.bias) / np.exp(solution.bias).sum()
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=1e-4)


def test_samples_that_the_features_tell_apart_do_not_make_the_scale_grow_without_limit():
    classes = np.arange(100) % 2
    features = np.log(np.where(np.eye(2)[classes] > 0, 0.98, 0.02))
    solution = fit_scale_and_bias(features, classes, np.ones(100))
    # At the minimum, what a larger scale saves is what its prior costs.
    p_wrong = 1 / (1 + 49**solution.scale)
    assert 100 * p_wrong * np.log(49) == pytest.approx(solution.scale - 1, rel=1e-3)


@given(problems(), st.integers(0, 2**32 - 1))
def test_a_weight_of_two_is_a_repeated_sample_and_of_zero_none(problem, seed):
    features, classes, _ = problem
    copies = np.random.default_rng(seed).integers(0, 4, len(classes))
    copies[0] = max(1, copies[0])
    weighted = fit_scale_and_bias(features, classes, copies.astype(float))
    repeated = fit_scale_and_bias(
        features.repeat(copies, axis=0), classes.repeat(copies), np.ones(copies.sum())
    )
    assert weighted.scale == pytest.approx(repeated.scale, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(weighted.bias, repeated.bias, rtol=1e-9, atol=1e-9)


@given(problems())
def test_conjugate_gradients_find_the_minimum_of_the_direct_solution(problem):
    direct = fit_scale_and_bias(*problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "MOST_CLASSES_OF_HESSIAN", 0)
        by_gradients = fit_scale_and_bias(*problem)
    assert by_gradients.loss == pytest.approx(direct.loss, rel=1e-7, abs=1e-7)


def test_many_classes_reach_a_minimum_too():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 150, 400)  # some classes have no samples
    features = rng.normal(size=(400, 150)) + 2 * np.eye(150)[classes]
    solution = fit_scale_and_bias(features, classes, np.ones(400))
    proba = np.exp(log_softmax(solution.scale * features + solution.bias, axis=1))
    residual = proba - np.eye(150)[classes]
    # The gradient of the loss; the curvature is one or more, so the loss is within |g|²/2 of least.
    gradient = np.append(residual.sum(axis=0) + solution.bias, (residual * features).sum())
    gradient[-1] += solution.scale - 1
    assert gradient @ gradient / 2 <= 1e-5 * solution.loss


def further_features(classes, n_classes, seed, meaning):
    rng = np.random.default_rng(seed)
    further = rng.normal(size=(len(classes), 3))
    further[:, 0] += meaning * (classes == n_classes - 1)
    further[:, 2] = 2 * further[:, 1]  # one direction has no variance
    return further


def fit_one(features, further, classes, weight, penalty, start, tolerance):
    curvature = find_curvature(features, further, weight, start)
    (found,) = fit_weights(
        features,
        further,
        classes,
        weight[np.newaxis],
        penalty,
        [start],
        curvature,
        tolerance=tolerance,
    )
    return found


@settings(max_examples=25)
@given(
    problems(3),
    st.sampled_from([1.0, 0.1, 1e-3]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 3.0]),
)
def test_weights_reach_the_minimum(problem, penalty, seed, meaning):
    features, classes, weight = problem
    n_classes = features.shape[1]
    further = further_features(classes, n_classes, seed, meaning)
    start = Weighted(1.0, np.zeros(n_classes), np.zeros((3, n_classes)))
    found = fit_one(features, further, classes, weight, penalty, start, 1e-12)

    def loss(x):
        scale, bias, weights = x[0], x[1 : 1 + n_classes], x[1 + n_classes :]
        return weights_loss(
            features, further, classes, weight, penalty, scale, bias, weights.reshape(3, -1)
        )

    at = np.zeros(1 + 4 * n_classes)
    at[0] = 1.0
    bounds = [(0, None), *[(None, None)] * (len(at) - 1)]
    best = minimize(
        loss, at, method="SLSQP", bounds=bounds, options={"ftol": 1e-13, "maxiter": 500}
    )
    own = loss(np.concatenate([[found.scale], found.bias, found.weights.ravel()]))
    assert found.scale >= 0
    assert own <= best.fun + 1e-7


@given(problems(4), st.integers(0, 2**32 - 1))
def test_weights_with_a_huge_penalty_leave_scale_and_bias(problem, seed):
    features, classes, weight = problem
    n_classes = features.shape[1]
    further = further_features(classes, n_classes, seed, 1.0)
    start = Weighted(1.0, np.zeros(n_classes), np.zeros((3, n_classes)))
    found = fit_one(features, further, classes, weight, 1e9, start, 1e-13)
    plain = fit_scale_and_bias(features, classes, weight)
    assert np.abs(found.weights).max() < 1e-6
    loss = bias_loss(features, classes, weight, found.scale, found.bias)
    assert loss == pytest.approx(plain.loss, rel=1e-6, abs=1e-6)


def make_weighted_problem(seed, n_features=3):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, 40)
    features = rng.normal(size=(40, 3)) + np.eye(3)[classes]
    further = rng.normal(size=(40, n_features)) + classes[:, np.newaxis]
    at = Weighted(0.7, rng.normal(size=3), rng.normal(size=(n_features, 3)))
    return features, further, classes, rng.uniform(0.1, 2, 40), at


@pytest.mark.parametrize("n_features", [3, 70])
def test_problems_that_are_solved_together_have_the_solutions_of_each_alone(n_features):
    features, further, classes, weight, start = make_weighted_problem(0, n_features)
    weights = weight * (np.arange(40) % 3 != np.arange(3)[:, np.newaxis])
    curvature = find_curvature(features, further, weight, start)
    together = fit_weights(
        features, further, classes, weights, 0.1, [start] * 3, curvature, tolerance=1e-14
    )
    for own, found in zip(weights, together, strict=True):
        is_used = own > 0
        chosen = features[is_used], further[is_used], classes[is_used], own[is_used]
        alone = fit_one(*chosen, 0.1, start, 1e-14)
        losses = [weights_loss(*chosen, 0.1, *each) for each in (found, alone)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-9)
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_curvature_is_the_second_derivative_of_the_mean_loss(seed):
    features, further, classes, weight, at = make_weighted_problem(seed)
    curvature = find_curvature(features, further, weight, at)

    def loss(x):
        logits = x[0] * features + x[1:4] + further @ x[4:].reshape(3, 3)
        own = log_softmax(logits, axis=1)[np.arange(40), classes]
        return -(weight @ own) / weight.sum()

    point, step = np.concatenate([[at.scale], at.bias, at.weights.ravel()]), 1e-3
    moves = step * np.eye(len(point))
    second = np.array(
        [
            [
                loss(point + a + b)
                - loss(point + a - b)
                - loss(point - a + b)
                + loss(point - a - b)
                for b in moves
            ]
            for a in moves
        ]
    ) / (4 * step**2)
    assert curvature.scale == pytest.approx(second[0, 0], abs=1e-4)
    np.testing.assert_allclose(curvature.bias, np.diag(second)[1:4], atol=1e-4)
    of_weights = second[4:, 4:].reshape(3, 3, 3, 3)  # feature, class, feature, class
    for k in range(3):
        np.testing.assert_allclose(curvature.weights[k], of_weights[:, k, :, k], atol=1e-3)


def test_the_curvature_of_many_features_is_a_mean_over_the_classes():
    features, further, _, weight, at = make_weighted_problem(0, 70)
    ((block,), of_few) = (
        find_curvature(features, further[:, :n], weight, at._replace(weights=at.weights[:n] * 0))[2]
        for n in (70, 64)
    )
    np.testing.assert_allclose(block[:64, :64], of_few.mean(axis=0))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_scale_alone_is_the_minimum_over_the_scale(seed):
    rng = np.random.default_rng(seed)
    n_samples, n_classes = int(rng.integers(2, 40)), int(rng.integers(2, 6))
    features = rng.normal(size=(n_samples, n_classes)) * rng.uniform(0.1, 5)
    classes = rng.integers(0, n_classes, n_samples)
    weight = rng.uniform(0.1, 3, n_samples)

    def loss(scale):
        logits = scale * features
        own = logits[np.arange(n_samples), classes]
        return weight @ (logsumexp(logits, axis=1) - own) + 0.5 * (scale - 1) ** 2

    expected = minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-10})
    (found,) = fit_each_weighting(features, classes, weight[np.newaxis], has_bias=False)
    assert (found.bias == 0).all()
    assert found.scale >= 0
    assert loss(found.scale) <= expected.fun + 1e-7 * max(1.0, expected.fun)
    assert found.loss == pytest.approx(loss(found.scale), rel=1e-12)
