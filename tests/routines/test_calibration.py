"""Newton's method for calibrators: both twins, and SciPy's minimisers."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax

from polytomy.routines.compiled import calibration as compiled
from polytomy.routines.reference import calibration as reference

TWINS = [reference, compiled]

seeds = st.integers(0, 2**32 - 1)


@st.composite
def log_odds_problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, targets and weights; the log-odds of the targets may be large."""
    n_samples, n_coefficients = draw(st.integers(2, 40)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(seeds))
    columns = rng.normal(size=(n_samples, n_coefficients))
    columns[:, -1] = 1.0
    targets = expit(draw(st.sampled_from([0.5, 3.0, 8.0])) * rng.normal(size=n_samples))
    return columns, targets, 10 ** rng.uniform(-1, 1, n_samples)


@st.composite
def softmax_problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, classes and weights; the features say much, nothing, or the opposite."""
    n_samples, n_classes = draw(st.integers(1, 40)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(seeds))
    classes = rng.integers(0, draw(st.integers(1, n_classes)), n_samples)
    meaning = draw(st.sampled_from([-3.0, 0.0, 1.0, 30.0]))
    features = rng.normal(size=(n_samples, n_classes)) + meaning * np.eye(n_classes)[classes]
    return features, classes, rng.choice([0.0, 1.0, 2.5], n_samples)


def start_of(features: np.ndarray) -> np.ndarray:
    start = np.zeros(1 + features.shape[1])
    start[0] = 1.0
    return start


@given(problem=log_odds_problems())
def test_scipy_finds_no_likelier_log_odds(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    columns, targets, weight = problem

    def loss(coefficients: np.ndarray) -> float:
        log_odds = columns @ coefficients
        return float(
            -weight @ (targets * log_expit(log_odds) + (1 - targets) * log_expit(-log_odds))
        )

    best = minimize(loss, np.zeros(columns.shape[1]), method="BFGS", options={"gtol": 1e-8})
    assert loss(reference.fit_log_odds(*problem)) <= best.fun * (1 + 1e-12)


@st.composite
def sigmoid_problems(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """Arguments of fit_sigmoids for several binaries; some have one value only."""
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(seeds))
    n_samples = sum(sizes)
    is_positive = rng.random(n_samples) < 0.5
    values = rng.normal(size=n_samples) + draw(st.sampled_from([0.0, 1.0, 5.0])) * is_positive
    if draw(st.booleans()):
        values[: sizes[0]] = 0.3
    scale = draw(st.sampled_from([1e-3, 1.0, 1e4]))
    weight = rng.uniform(0.5, 2, n_samples)
    has_intercept = draw(st.booleans())
    return scale * values, is_positive, weight, np.cumsum([0, *sizes]), has_intercept


@given(sigmoid_problems())
def test_twins_find_the_same_sigmoids(
    problem: tuple[np.ndarray, ...],
) -> None:
    values, _, _, starts, has_intercept = problem
    one, other = (twin.fit_sigmoids(*problem) for twin in TWINS)
    for k in range(len(starts) - 1):
        own = values[starts[k] : starts[k + 1]]
        log_odds = [slopes[k] * own + intercepts[k] for slopes, intercepts in (one, other)]
        np.testing.assert_allclose(*log_odds, rtol=1e-8, atol=1e-8)
        if not has_intercept:
            assert one[0][k] >= 0.0
            assert one[1][k] == other[1][k] == 0.0


@pytest.mark.parametrize("twin", TWINS)
@given(problem=sigmoid_problems())
def test_a_sigmoid_is_the_same_alone_and_among_others(
    twin: ModuleType, problem: tuple[np.ndarray, ...]
) -> None:
    *arrays, starts, has_intercept = problem
    together = np.array(twin.fit_sigmoids(*problem))
    for k in range(len(starts) - 1):
        own = [each[starts[k] : starts[k + 1]] for each in arrays]
        ends = np.array([0, len(own[0])])
        alone = np.array(twin.fit_sigmoids(*own, ends, has_intercept))
        np.testing.assert_array_equal(together[:, [k]], alone)


@given(softmax_problems(), st.booleans(), st.integers(0, 2**32 - 1))
def test_twins_find_the_same_scale_and_bias(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray], has_bias: bool, seed: int
) -> None:
    features, classes, weight = problem
    # All samples, some of them, and none.
    is_used = np.random.default_rng(seed).random((3, len(weight))) < [[1.0], [0.5], [0.0]]
    starts = np.tile(start_of(features), (3, 1))
    (one, losses), (other, other_losses) = (
        twin.fit_scale_and_bias(features, classes, weight * is_used, starts, has_bias, 1e-8)
        for twin in TWINS
    )
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(losses, other_losses, rtol=1e-12)


@pytest.mark.parametrize("twin", TWINS)
@given(problem=softmax_problems(), has_bias=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_weightings_are_fitted_as_if_alone_and_zeros_as_if_not_there(
    twin: ModuleType,
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
    has_bias: bool,
    seed: int,
) -> None:
    features, classes, weight = problem
    is_used = np.random.default_rng(seed).random((3, len(weight))) < 0.6
    starts = np.tile(start_of(features), (3, 1))
    together = twin.fit_scale_and_bias(features, classes, weight * is_used, starts, has_bias, 1e-8)
    for k, chosen in enumerate(is_used):
        own = features[chosen], classes[chosen], weight[np.newaxis, chosen], starts[:1]
        parameters, losses = twin.fit_scale_and_bias(*own, has_bias, 1e-8)
        np.testing.assert_array_equal(together[0][k], parameters[0])
        assert together[1][k] == losses[0]


@pytest.mark.parametrize("twin", TWINS)
@given(problem=softmax_problems(), has_bias=st.booleans())
def test_scipy_finds_no_likelier_scale_and_bias(
    twin: ModuleType, problem: tuple[np.ndarray, np.ndarray, np.ndarray], has_bias: bool
) -> None:
    features, classes, weight = problem
    n_classes = features.shape[1]
    n_free = 1 + n_classes if has_bias else 1

    def loss(free: np.ndarray) -> float:
        parameters = np.concatenate([free, np.zeros(1 + n_classes - n_free)])
        logs = log_softmax(parameters[0] * features + parameters[1:], axis=1)
        prior = (parameters[0] - 1) ** 2 / 2 + parameters[1:] @ parameters[1:] / 2
        return float(prior - weight @ logs[np.arange(len(classes)), classes])

    bounds = [(0, None), *[(None, None)] * (n_free - 1)]
    best = minimize(loss, start_of(features)[:n_free], method="L-BFGS-B", bounds=bounds)
    (parameters,), (minimum,) = twin.fit_scale_and_bias(
        features, classes, weight[np.newaxis], start_of(features)[np.newaxis], has_bias, 1e-8
    )
    assert parameters[0] >= 0
    np.testing.assert_allclose(minimum, loss(parameters[:n_free]), rtol=1e-12)
    assert minimum <= best.fun + 1e-7 * max(1.0, best.fun)


@pytest.mark.parametrize("twin", TWINS)
def test_the_arguments_are_not_changed_and_may_be_read_only(twin: ModuleType) -> None:
    rng = np.random.default_rng(0)
    features, classes = rng.normal(size=(9, 3)), rng.integers(0, 3, 9)
    arguments = features, classes, np.ones((2, 9)), np.tile(start_of(features), (2, 1))
    before = [each.copy() for each in arguments]
    for each in arguments:
        each.flags.writeable = False
    twin.fit_scale_and_bias(*arguments, True, 1e-8)
    twin.fit_sigmoids(features[:, 0], classes > 0, np.ones(9), np.array([0, 9]), True)
    for each, copy in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(each, copy)


@st.composite
def decoder_problems(draw: st.DrawFn) -> tuple[reference.SoftmaxData, float, np.ndarray]:
    """Samples of a decoder, its penalty and its coordinates' stretch."""
    features, classes, weight = draw(softmax_problems())
    n_inputs = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(seeds))
    inputs = rng.normal(size=(n_inputs, len(classes)))
    weight = weight + 0.5
    data = reference.SoftmaxData(
        np.ascontiguousarray(features.T),
        inputs,
        classes,
        weight / weight.sum(),
        float(weight.sum()),
    )
    n_blocks = draw(st.sampled_from([1, features.shape[1]]))
    stretch = np.eye(n_inputs) + 0.3 * rng.normal(size=(n_blocks, n_inputs, n_inputs))
    return data, draw(st.sampled_from([0.1, 0.004])), stretch


def decoder_loss(
    data: reference.SoftmaxData, penalty: float, units: np.ndarray, stretch: np.ndarray
) -> Callable[[np.ndarray], float]:
    """Return the loss of a decoder as a function of its coordinates, from its formula."""
    n_classes = len(data.logarithms)

    def loss(x: np.ndarray) -> float:
        plain, rest = x[: 1 + n_classes] / units, x[1 + n_classes :].reshape(n_classes, -1)
        weights = np.array([stretch[min(k, len(stretch) - 1)] @ own for k, own in enumerate(rest)])
        logits = plain[0] * data.logarithms.T + plain[1:] + data.inputs.T @ weights.T
        logs = log_softmax(logits, axis=1)[np.arange(len(data.shares)), data.class_indices]
        prior = (plain[0] - 1) ** 2 + plain[1:] @ plain[1:]
        return float(
            -data.shares @ logs + prior / (2 * data.total) + penalty * np.sum(weights**2) / 2
        )

    return loss


@pytest.mark.parametrize("twin", TWINS)
@given(problem=decoder_problems())
def test_decoders_have_the_least_loss_and_a_scale_of_zero_or_more(
    twin: ModuleType, problem: tuple[reference.SoftmaxData, float, np.ndarray]
) -> None:
    data, penalty, stretch = problem
    n_classes, n_inputs = len(data.logarithms), len(data.inputs)
    units = np.linspace(0.5, 2.0, 1 + n_classes)
    start = np.concatenate([units[:1], np.zeros(n_classes * (1 + n_inputs))])
    loss = decoder_loss(data, penalty, units, stretch)
    found = twin.fit_softmax(data, penalty, units, stretch, start, 1e-15)
    assert found[0] >= 0
    bounds = [(0, None), *[(None, None)] * (len(start) - 1)]
    best = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15})
    assert loss(found) <= best.fun + 1e-7


@given(problem=decoder_problems(), tolerance=st.sampled_from([1e-3, 1e-5]))
def test_twins_take_the_same_steps_to_a_decoder(
    problem: tuple[reference.SoftmaxData, float, np.ndarray], tolerance: float
) -> None:
    data, penalty, stretch = problem
    n_classes, n_inputs = len(data.logarithms), len(data.inputs)
    start = np.zeros(1 + n_classes * (1 + n_inputs))
    start[0] = 1.0
    arguments = data, penalty, np.ones(1 + n_classes), stretch, start, tolerance
    one, other = (twin.fit_softmax(*arguments) for twin in TWINS)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_a_decoder_with_a_wide_matrix_of_samples_is_that_of_the_formula() -> None:
    """More samples than lanes of a vector, and a number that does not fill the last one."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 131)
    data = reference.SoftmaxData(
        rng.normal(size=(3, 131)) + 2 * np.eye(3)[:, classes],
        rng.normal(size=(2, 131)),
        classes,
        np.full(131, 1 / 131),
        131.0,
    )
    arguments = data, 0.02, np.ones(4), np.eye(2)[np.newaxis], np.zeros(10), 1e-15
    one, other = (twin.fit_softmax(*arguments) for twin in TWINS)
    np.testing.assert_allclose(one, other, atol=1e-6)
