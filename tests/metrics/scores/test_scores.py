import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from polytomy import metrics
from polytomy.errors import ArgumentError

SCORES_OF_PROBABILITIES = [
    metrics.brier_score,
    metrics.root_brier_score,
    metrics.winner_brier_score,
    metrics.log_loss,
]


@st.composite
def judged_samples(draw):
    """Labels, probabilities and whole-number weights of a few samples of a few classes."""
    n_classes = draw(st.integers(1, 4))
    n_samples = draw(st.integers(n_classes, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.permutation(np.r_[np.arange(n_classes), rng.integers(n_classes, size=n_samples)])
    odds = rng.uniform(0.01, 1, size=(len(y), n_classes))
    proba = odds / odds.sum(axis=1, keepdims=True)
    return y, proba, rng.integers(0, 4, size=len(y)) + np.eye(len(y), dtype=int)[0]


class TestUncertaintyCoefficient:
    def test_hand_worked(self):
        # Joint shares: (a, a) 3/8, (a, b) 1/8, (b, b) 4/8, so H(y) = log 2 and
        # I = 3/8 log(3/8 / (1/2 · 3/8)) + 1/8 log(1/8 / (1/2 · 5/8)) + 1/2 log(1/2 / (1/2 · 5/8)).
        y, predicted = list("aaaabbbb"), list("aaabbbbb")
        information = 3 / 8 * math.log(2) + 1 / 8 * math.log(2 / 5) + 1 / 2 * math.log(8 / 5)
        assert metrics.uncertainty_coefficient(y, predicted) == pytest.approx(
            information / math.log(2), abs=1e-15
        )

    def test_nothing_known_and_all_known(self):
        assert metrics.uncertainty_coefficient([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0)
        assert metrics.uncertainty_coefficient([0, 0, 1, 1], [0, 0, 1, 1]) == 1
        assert metrics.uncertainty_coefficient([0, 1, 2], ["same"] * 3) == 0

    def test_a_single_true_class_leaves_nothing_uncertain(self):
        assert metrics.uncertainty_coefficient(["a", "a"], ["a", "b"]) == 1

    @given(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
        st.permutations(range(4)),
    )
    @settings(deadline=None)
    def test_equals_homogeneity_and_ignores_the_names_of_classes(self, pairs, names):
        y, predicted = map(list, zip(*pairs, strict=True))
        coefficient = metrics.uncertainty_coefficient(y, predicted)
        assert coefficient == pytest.approx(
            sklearn_metrics.homogeneity_score(y, predicted), abs=1e-9
        )
        renamed = [f"class {names[k]}" for k in predicted]
        assert metrics.uncertainty_coefficient(y, renamed) == pytest.approx(coefficient, abs=1e-12)

    @given(judged_samples())
    @settings(deadline=None)
    def test_a_weight_is_that_many_copies(self, samples):
        y, proba, weight = samples
        predicted = proba.argmax(axis=1)
        assert metrics.uncertainty_coefficient(y, predicted, sample_weight=weight) == pytest.approx(
            metrics.uncertainty_coefficient(np.repeat(y, weight), np.repeat(predicted, weight)),
            abs=1e-12,
        )

    def test_unequal_lengths(self):
        with pytest.raises(
            ArgumentError,
            match=r"y has 2 labels, but predicted has 3\. Pass one prediction for each sample\.",
        ):
            metrics.uncertainty_coefficient([0, 1], [0, 1, 1])


def test_brier_scores_equal_those_worked_by_hand():
    y, proba, classes = ["a", "c"], [[0.7, 0.2, 0.1], [0.6, 0.2, 0.2]], ["a", "b", "c"]
    # 0.3² + 0.2² + 0.1² = 0.14 for the first sample, 0.6² + 0.2² + 0.8² = 1.04 for the second.
    assert metrics.brier_score(y, proba, classes) == pytest.approx((0.14 + 1.04) / 2)
    assert metrics.root_brier_score(y, proba, classes) == pytest.approx(
        math.sqrt((0.14 + 1.04) / 6)
    )
    weighted = metrics.root_brier_score(y, proba, classes, sample_weight=[3, 1])
    assert weighted == pytest.approx(math.sqrt((3 * 0.14 + 1.04) / 12))


def test_the_winner_brier_score_equals_one_worked_by_hand():
    # The first winner is right with 0.7, the second wrong with 0.6.
    y, proba = ["a", "c"], [[0.7, 0.2, 0.1], [0.6, 0.2, 0.2]]
    score = metrics.winner_brier_score(y, proba, ["a", "b", "c"])
    assert score == pytest.approx(math.sqrt((0.3**2 + 0.6**2) / 2))


def test_ties_go_to_the_first_class():
    assert metrics.winner_brier_score([0], [[0.5, 0.5]], [0, 1]) == pytest.approx(0.5)
    assert metrics.winner_brier_score([1], [[0.5, 0.5]], [0, 1]) == pytest.approx(0.5)
    assert metrics.winner_brier_score([1], [[0.4, 0.4, 0.2]], [0, 1, 2]) == pytest.approx(0.4)


def test_a_zero_probability_has_a_large_but_finite_loss():
    assert metrics.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]]) == pytest.approx(
        -math.log(2.0**-52) / 2
    )


@given(judged_samples())
@settings(deadline=None)
def test_scores_agree_with_scikit_learn(samples):
    y, proba, weight = samples
    n_classes = proba.shape[1]
    if n_classes == 1:
        assert metrics.log_loss(y, proba) == metrics.brier_score(y, proba) == 0
        return
    labels = np.arange(n_classes)
    assert metrics.log_loss(y, proba, labels, sample_weight=weight) == pytest.approx(
        sklearn_metrics.log_loss(y, proba, labels=labels, sample_weight=weight)
    )
    squares = np.square(proba - np.eye(n_classes)[y]).sum(axis=1)
    score = metrics.brier_score(y, proba, sample_weight=weight)
    assert score == pytest.approx(np.average(squares, weights=weight))
    root = metrics.root_brier_score(y, proba, sample_weight=weight)
    assert root == pytest.approx(np.sqrt(score / n_classes))


@pytest.mark.parametrize("score", SCORES_OF_PROBABILITIES)
@given(samples=judged_samples())
@settings(deadline=None, max_examples=30)
def test_a_weight_is_that_many_copies(score, samples):
    y, proba, weight = samples
    classes = np.arange(proba.shape[1])
    assert score(y, proba, classes, sample_weight=weight) == pytest.approx(
        score(np.repeat(y, weight), np.repeat(proba, weight, axis=0), classes)
    )


@pytest.mark.parametrize("score", SCORES_OF_PROBABILITIES)
@given(samples=judged_samples(), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_permuting_classes_with_their_columns_changes_nothing(score, samples, seed):
    y, proba, _ = samples
    order = np.random.default_rng(seed).permutation(proba.shape[1])
    assert score(y, proba[:, order], order) == pytest.approx(score(y, proba))


@pytest.mark.parametrize("score", SCORES_OF_PROBABILITIES)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": ["a", "b", "z"], "classes": ["a", "b"]}, "Label 'z' of y is not one of the classes"),
        ({"proba": [[0.5, 0.6], [0.5, 0.5], [0.5, 0.5]]}, "Row 0 of proba sums to 1.1, not to one"),
        ({"sample_weight": [1, -2, 1]}, "weights must be finite and not negative"),
    ],
)
def test_every_score_checks_its_input(score, arguments, words):
    good = {"y": ["a", "b", "b"], "proba": [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]]}
    assert score(**good) > 0
    with pytest.raises(ArgumentError, match=words):
        score(**(good | arguments))
