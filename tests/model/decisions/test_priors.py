"""Class priors: checking, shifting and estimating them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from polytomy.errors import ArgumentError
from polytomy.model.decisions import (
    ClassFrequencies,
    PriorShift,
    check_prior,
    maximise_likelihood,
    shift_prior,
)

CLASSES = np.array(["a", "b", "c"])


@st.composite
def samples_and_prior(draw):
    """Return probabilities, the prior that they assume, and weights."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, n_samples = draw(st.integers(2, 5)), draw(st.integers(5, 40))
    sharpness = draw(st.sampled_from([0.2, 1.0, 5.0]))
    probabilities = random.dirichlet(np.full(n_classes, sharpness), n_samples) + 1e-9
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    training = random.dirichlet(np.full(n_classes, 5.0))
    return probabilities, training, random.random(n_samples) + 0.1


def log_likelihood(prior, probabilities, training, weight):
    return weight @ np.log(probabilities @ (prior / training)) / weight.sum()


@given(samples_and_prior())
def test_the_estimate_is_the_largest_likelihood_that_a_general_optimiser_finds(case):
    probabilities, training, weight = case
    found = maximise_likelihood(probabilities, training, weight)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    start = np.full(len(training), 1 / len(training))
    other = minimize(
        lambda q: -log_likelihood(q, probabilities, training, weight),
        start,
        bounds=[(0, 1)] * len(training),
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    rival = np.clip(other.x, 0, None) / np.clip(other.x, 0, None).sum()
    best = log_likelihood(found, probabilities, training, weight)
    assert best >= log_likelihood(rival, probabilities, training, weight) - 1e-9
    assert best <= log_likelihood(rival, probabilities, training, weight) + 1e-4
    np.testing.assert_allclose(found, rival, atol=0.02)


@given(samples_and_prior())
def test_no_class_could_gain_at_the_estimate(case):
    # The maximum of a concave function on the simplex: no gradient is above the mean, which is one.
    probabilities, training, weight = case
    found = maximise_likelihood(probabilities, training, weight)
    ratios = probabilities / training
    gradient = (weight / weight.sum() / (ratios @ found)) @ ratios
    assert gradient.max() <= 1 + 1e-6


@given(samples_and_prior())
def test_the_steps_of_saerens_stay_where_they_are(case):
    probabilities, training, _ = case
    found = maximise_likelihood(probabilities, training)
    shifted = PriorShift(found, training).apply(probabilities)
    np.testing.assert_allclose(shifted.mean(axis=0), found, atol=1e-5)


def test_a_shifted_prior_is_recovered():
    random = np.random.default_rng(0)
    before, after = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6])
    truth = random.choice(3, 20_000, p=after)
    places = 1.5 * truth + random.normal(size=len(truth))
    joint = before * np.exp(-((places[:, None] - 1.5 * np.arange(3)) ** 2) / 2)
    found = maximise_likelihood(joint / joint.sum(axis=1, keepdims=True), before)
    np.testing.assert_allclose(found, after, atol=0.02)


def test_a_class_without_training_weight_stays_without():
    proba = np.array([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]])
    assert maximise_likelihood(proba, np.array([0.5, 0.5, 0.0]))[2] == 0


@given(samples_and_prior(), st.integers(0, 2**32 - 1))
def test_a_shift_is_bayes_rule_and_goes_back(case, seed):
    probabilities, training, _ = case
    prior = np.random.default_rng(seed).dirichlet(np.full(len(training), 2.0)) + 1e-6
    prior /= prior.sum()
    shifted = PriorShift(prior, training).apply(probabilities)
    for row, new in zip(probabilities, shifted, strict=True):
        likelihood = row / training
        np.testing.assert_allclose(new, likelihood * prior / (likelihood @ prior), atol=1e-12)
    back = PriorShift(training, prior).apply(shifted)
    np.testing.assert_allclose(back, probabilities, atol=1e-9)


def test_a_class_with_the_prior_zero_has_no_probability():
    shift = PriorShift(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    found = shift.apply(np.array([[0.9, 0.1], [1.0, 0.0]]))
    np.testing.assert_array_equal(found, [[0, 1], [0, 1]])


def test_frequencies_are_those_of_the_weights():
    found = ClassFrequencies.from_weights(np.array([0, 1, 1, 2]), 3, [2, 1, 1, 1], [1, 1, 1, 1])
    np.testing.assert_allclose(found.data, [0.4, 0.4, 0.2])
    np.testing.assert_allclose(found.model, [0.25, 0.5, 0.25])


def test_a_prior_is_a_dict_or_an_array_in_the_order_of_the_classes():
    expected = [0.2, 0.3, 0.5]
    for given_prior in (
        expected,
        np.array(expected),
        dict(zip("cab", [0.5, 0.2, 0.3], strict=True)),
    ):
        np.testing.assert_allclose(check_prior(given_prior, CLASSES, "prior"), expected)
    numbers = {np.int64(2): 0.25, 1: 0.75}
    np.testing.assert_allclose(check_prior(numbers, np.array([1, 2]), "prior"), [0.75, 0.25])
    thirds = check_prior([0.333] * 3, CLASSES, "prior")
    np.testing.assert_allclose(thirds, [1 / 3] * 3)


def test_a_series_is_matched_by_its_labels():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series({"c": 0.5, "a": 0.2, "b": 0.3})
    np.testing.assert_allclose(check_prior(series, CLASSES, "prior"), [0.2, 0.3, 0.5])
    counted = pandas.Series(["a", "c", "b", "c"]).value_counts(normalize=True)
    np.testing.assert_allclose(check_prior(counted, CLASSES, "prior"), [0.25, 0.25, 0.5])
    plain = pandas.Series([0.2, 0.3, 0.5])
    np.testing.assert_allclose(check_prior(plain, CLASSES, "prior"), [0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.2, 0.3, 0.4], "prior sums to 0.9, not to one. Divide it by its sum."),
        (
            {"a": 0.5, "b": 0.5},
            "prior is missing 'c'. Give every class a probability; it may be zero.",
        ),
        ({"a": 0.5, "b": 0.3, "c": 0.1, "d": 0.1}, "prior has unknown labels: 'd'. The classes"),
        ([0.5, 0.5], r"prior has shape \(2,\); 3 classes need \(3,\)"),
        ([0.5, 0.7, -0.2], "prior has -0.2 for 'c', which is not a probability"),
        ([0.5, 0.5, float("nan")], "prior has nan for 'c', which is not a probability"),
        ("even", "prior must be a dict of labels and probabilities, or an array"),
    ],
)
def test_a_wrong_prior_is_refused(prior, words):
    with pytest.raises(ArgumentError, match=words):
        check_prior(prior, CLASSES, "prior")


def test_a_prior_needs_that_of_training():
    with pytest.raises(ArgumentError, match="Pass them as training_prior, or fit the model again"):
        shift_prior([0.2, 0.3, 0.5], CLASSES, None)
    shift = shift_prior([0.2, 0.3, 0.5], CLASSES, None, [0.5, 0.25, 0.25])
    np.testing.assert_allclose(shift.ratio, [0.4, 1.2, 2.0])


def test_a_class_that_training_gave_no_weight_cannot_get_a_prior():
    frequencies = ClassFrequencies(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.5, 0.0]))
    with pytest.raises(ArgumentError, match=r"gives 'c' a probability of 0.5, but in training"):
        shift_prior([0.5, 0.0, 0.5], CLASSES, frequencies)
    assert shift_prior([0.5, 0.5, 0.0], CLASSES, frequencies).ratio[2] == 0
