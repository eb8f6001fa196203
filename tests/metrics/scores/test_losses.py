"""Losses of samples, by which candidates of a search are compared, and the table of metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polytomy.metrics import METRICS, Additive, JudgedSamples

OF_PREDICTIONS = [name for name, metric in METRICS.items() if metric.needs_only_predictions]


@st.composite
def judged_samples(draw):
    n_classes = draw(st.integers(2, 4))
    y = draw(arrays(np.intp, draw(st.integers(3, 30)), elements=st.integers(0, n_classes - 1)))
    proba = draw(arrays(np.float64, (len(y), n_classes), elements=st.sampled_from([0.1, 0.5, 2])))
    weight = draw(arrays(np.float64, len(y), elements=st.sampled_from([0.5, 1.0, 3.0])))
    proba /= proba.sum(axis=1, keepdims=True)
    return JudgedSamples(y, proba, weight, range(n_classes), proba.argmax(axis=1))


@given(judged_samples())
def test_the_mean_loss_is_the_entropy_that_the_uncertainty_coefficient_leaves(judged):
    metric = METRICS["uncertainty_coefficient"]
    shares = np.bincount(judged.truth, judged.weight) / judged.weight.sum()
    shares = shares[shares > 0]
    entropy = -np.sum(shares * np.log(shares))
    left = np.average(metric.losses(judged), weights=judged.weight)
    assert left == pytest.approx(entropy * (1 - metric.function(judged)), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in OF_PREDICTIONS if METRICS[name].losses])
@given(one=judged_samples(), seed=st.integers(0, 2**32 - 1))
def test_the_mean_loss_ranks_candidates_as_the_metric_does(name, one, seed):
    proba = np.random.default_rng(seed).dirichlet(np.ones(len(one.classes)), len(one.truth))
    other = one._replace(proba=proba, predicted=proba.argmax(axis=1))
    metric = METRICS[name]
    values = [metric.as_loss(metric.function(each)) for each in (one, other)]
    means = [np.average(metric.losses(each), weights=each.weight) for each in (one, other)]
    if abs(means[0] - means[1]) > 1e-9 and abs(values[0] - values[1]) > 1e-9:
        assert (means[0] < means[1]) == (values[0] < values[1])


@pytest.mark.parametrize("name", OF_PREDICTIONS)
@given(judged=judged_samples(), n_first=st.integers(1, 2))
def test_sums_over_blocks_give_the_value_of_all_samples_which_is_in_its_range(
    name, judged, n_first
):
    function, (low, high) = METRICS[name].function, METRICS[name].range
    value = function(judged)
    assert low <= value <= high
    if isinstance(function, Additive):
        of_samples = ("truth", "proba", "weight", "predicted")
        blocks = [
            judged._replace(**{each: getattr(judged, each)[part] for each in of_samples})
            for part in (slice(n_first), slice(n_first, None))
        ]
        sums = sum(function.sums(block) for block in blocks)
        assert function.from_sums(sums) == pytest.approx(value, rel=1e-12)


def test_accuracy_and_errors_count_weights():
    judged = JudgedSamples(
        np.array([0, 1, 1]), np.empty((3, 0)), np.array([1.0, 2.0, 5.0]), "ab",
        np.array([0, 0, 1]), frozenset({"labels"}),
    )  # fmt: skip
    assert METRICS["accuracy"].function(judged) == 6 / 8
    assert METRICS["accuracy"].losses(judged).tolist() == [0, 1, 0]
    assert METRICS["accuracy"].can_judge(judged)
    assert not METRICS["winner_brier_score"].can_judge(judged)
