"""Scores by which candidates are compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polytomy.errors import ArgumentError
from polytomy.selection import find_score
from polytomy.selection.scoring import SCORES, Judged


def test_an_unknown_score_suggests_one():
    with pytest.raises(ArgumentError, match='Did you mean "log_loss"'):
        find_score("logloss")


@st.composite
def judged_samples(draw):
    n_classes = draw(st.integers(2, 4))
    y = draw(arrays(np.intp, draw(st.integers(3, 30)), elements=st.integers(0, n_classes - 1)))
    scores = draw(arrays(np.float64, (len(y), n_classes), elements=st.sampled_from([0.1, 0.5, 2])))
    weight = draw(arrays(np.float64, len(y), elements=st.sampled_from([0.5, 1.0, 3.0])))
    scores /= scores.sum(axis=1, keepdims=True)
    return Judged(y, scores, scores.argmax(axis=1), np.arange(n_classes), weight)


@given(judged_samples())
def test_the_mean_loss_is_the_entropy_that_the_uncertainty_coefficient_leaves(judged):
    score = find_score("uncertainty_coefficient")
    shares = np.bincount(judged.y, judged.weight) / judged.weight.sum()
    shares = shares[shares > 0]
    entropy = -np.sum(shares * np.log(shares))
    left = np.average(score.losses(judged), weights=judged.weight)
    assert left == pytest.approx(entropy * (1 - score.measure(judged)), abs=1e-9)


@given(judged_samples())
def test_the_joint_log_loss_is_the_sum_of_its_two_parts(judged):
    joint = find_score("joint_log_loss")
    parts = find_score("log_loss"), find_score("uncertainty_coefficient")
    expected = sum(np.average(part.losses(judged), weights=judged.weight) for part in parts)
    assert joint.measure(judged) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(joint.losses(judged), sum(part.losses(judged) for part in parts))


@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if score.losses])
@given(one=judged_samples(), scores=st.integers(0, 2**32 - 1))
def test_the_mean_loss_ranks_candidates_as_the_score_does(name, one, scores):
    proba = np.random.default_rng(scores).dirichlet(np.ones(len(one.classes)), len(one.y))
    other = one._replace(scores=proba, winners=proba.argmax(axis=1))
    score = SCORES[name]
    values = [score.measure(each) for each in (one, other)]
    means = [np.average(score.losses(each), weights=each.weight) for each in (one, other)]
    if abs(means[0] - means[1]) > 1e-9 and abs(values[0] - values[1]) > 1e-9:
        assert (means[0] < means[1]) == ((values[0] > values[1]) == score.greater_is_better)


def test_accuracy_and_errors_count_weights():
    judged = Judged(
        np.array(["a", "b", "b"]), np.eye(2)[[0, 0, 1]], np.array([0, 0, 1]), np.array(["a", "b"]),
        np.array([1.0, 2.0, 5.0]),
    )  # fmt: skip
    assert find_score("accuracy").measure(judged) == 6 / 8
    assert find_score("accuracy").losses(judged).tolist() == [0, 1, 0]
    assert judged.predicted.tolist() == ["a", "a", "b"]
