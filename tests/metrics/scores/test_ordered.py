"""Scores for ordered classes, against direct sums, scikit-learn and closed forms."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from polytomy import metrics
from polytomy.errors import ArgumentError, ClassOrderWarning

NAMES = ["solid", "soft", "liquid", "vapour", "plasma"]  # in order, but not in that of the alphabet


@st.composite
def judged_ranks(draw):
    """Ranks, probabilities in the order of the ranks, and whole-number weights."""
    n_classes = draw(st.integers(1, 5))
    n_samples = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ranks = rng.integers(n_classes, size=n_samples)
    proba = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.1, 1.0]))), size=n_samples)
    return ranks, proba, rng.integers(0, 4, size=n_samples) + np.eye(n_samples, dtype=int)[0]


def named(ranks):
    return [NAMES[rank] for rank in ranks]


def rps_by_loops(ranks, proba, weight):
    total = 0.0
    for rank, row, times in zip(ranks, proba, weight, strict=True):
        for threshold in range(len(row) - 1):
            below = math.fsum(row[: threshold + 1])
            total += times * (below - (rank <= threshold)) ** 2
    return total / sum(weight)


def crps_of_ranks(ranks, proba):
    """The score as E|R − rank| − E|R − R'| / 2 (Gneiting and Raftery 2007)."""
    all_ranks = np.arange(proba.shape[1])
    distances = np.abs(np.subtract.outer(all_ranks, all_ranks))
    to_truth = np.sum(proba * distances[ranks], axis=1)
    return np.mean(to_truth - np.einsum("ij,jk,ik->i", proba, distances, proba) / 2)


class TestRankedProbabilityScore:
    @given(judged_ranks())
    @settings(deadline=None)
    def test_equals_the_double_sum_and_the_closed_form(self, samples):
        ranks, proba, weight = samples
        classes = np.arange(proba.shape[1])
        weighted = metrics.ranked_probability_score(ranks, proba, classes, sample_weight=weight)
        assert weighted == pytest.approx(rps_by_loops(ranks, proba, weight), abs=1e-12)
        score = metrics.ranked_probability_score(ranks, proba, classes)
        assert score == pytest.approx(crps_of_ranks(ranks, proba), abs=1e-12)

    @given(judged_ranks())
    @settings(deadline=None)
    def test_normalising_divides_by_the_largest_score(self, samples):
        ranks, proba, _ = samples
        classes = np.arange(proba.shape[1])
        score = metrics.ranked_probability_score(ranks, proba, classes)
        normalised = metrics.ranked_probability_score(ranks, proba, classes, normalize=True)
        assert normalised * max(1, len(classes) - 1) == pytest.approx(score)
        worst = [[1.0, 0.0, 0.0, 0.0]]
        assert metrics.ranked_probability_score([3], worst, [0, 1, 2, 3]) == 3
        assert metrics.ranked_probability_score([3], worst, [0, 1, 2, 3], normalize=True) == 1

    @given(judged_ranks())
    @settings(deadline=None)
    def test_two_classes_have_the_brier_score_of_one(self, samples):
        ranks, proba, weight = samples
        is_high = (ranks > 0).astype(int)
        high = 1 - proba[:, 0]
        score = metrics.ranked_probability_score(
            is_high, np.column_stack([1 - high, high]), [0, 1], sample_weight=weight
        )
        expected = sklearn_metrics.brier_score_loss(
            is_high, np.clip(high, 0, 1), sample_weight=weight, pos_label=1
        )
        assert score == pytest.approx(expected, abs=1e-12)

    @given(judged_ranks(), st.integers(0, 2**32 - 1))
    @settings(deadline=None)
    def test_a_certain_prediction_scores_its_rank_error(self, samples, seed):
        ranks, proba, weight = samples
        n_classes = proba.shape[1]
        predicted = np.random.default_rng(seed).integers(n_classes, size=len(ranks))
        score = metrics.ranked_probability_score(
            ranks, np.eye(n_classes)[predicted], range(n_classes), sample_weight=weight
        )
        assert score == pytest.approx(
            metrics.mean_absolute_rank_error(
                ranks, predicted, range(n_classes), sample_weight=weight
            )
        )

    @given(judged_ranks(), st.integers(0, 1000))
    @settings(deadline=None)
    def test_names_and_columns_in_any_order_change_nothing(self, samples, seed):
        ranks, proba, _ = samples
        n_classes = proba.shape[1]
        score = metrics.ranked_probability_score(ranks, proba, range(n_classes))
        columns = np.random.default_rng(seed).permutation(n_classes)
        numbers = metrics.ranked_probability_score(ranks, proba[:, columns], columns)
        assert numbers == pytest.approx(score)
        names = metrics.ranked_probability_score(
            named(ranks), proba[:, columns], named(columns), class_order=NAMES[:n_classes]
        )
        assert names == pytest.approx(score)

    @given(judged_ranks())
    @settings(deadline=None)
    def test_reversing_the_order_changes_nothing(self, samples):
        ranks, proba, _ = samples
        order = list(range(proba.shape[1]))
        score = metrics.ranked_probability_score(ranks, proba, order)
        backward = metrics.ranked_probability_score(ranks, proba, order, class_order=order[::-1])
        assert backward == pytest.approx(score)

    def test_numbers_written_as_text_are_ordered_by_value(self):
        proba = [[0.0, 1.0, 0.0]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # The truth is 2, the prediction 10: two ranks apart, with 9 between them.
            assert metrics.ranked_probability_score(["2"], proba, ["2", "10", "9"]) == 2
            assert metrics.ranked_probability_score(["2"], proba, ["2", "9", "10"]) == 1

    def test_text_is_in_the_order_of_the_columns_with_a_warning_if_that_is_alphabetical(self):
        proba = [[0.0, 0.0, 1.0]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert metrics.ranked_probability_score(["low"], proba, ["low", "mid", "high"]) == 2
        with pytest.warns(ClassOrderWarning) as caught:
            assert metrics.ranked_probability_score(["low"], proba, ["high", "low", "mid"]) == 1
        assert [str(each.message) for each in caught] == [
            '"ranked_probability_score" needs the classes in order, and text labels have only '
            "their alphabetical order: high, low, mid. Set class_order to all labels, from first "
            "to last."
        ]
        assert caught[0].filename == __file__


class TestMeanAbsoluteRankError:
    @given(judged_ranks())
    @settings(deadline=None)
    def test_equals_the_mean_absolute_error_of_the_ranks(self, samples):
        ranks, proba, weight = samples
        predicted = proba.argmax(axis=1)
        expected = sklearn_metrics.mean_absolute_error(ranks, predicted, sample_weight=weight)
        for labels in (list, named):
            order = labels(range(proba.shape[1]))
            assert metrics.mean_absolute_rank_error(
                labels(ranks), labels(predicted), order, sample_weight=weight
            ) == pytest.approx(expected)

    def test_ranks_are_counted_among_the_labels_that_occur_unless_an_order_is_given(self):
        y, predicted = [10, 30, 20], [10, 10, 20]
        assert metrics.mean_absolute_rank_error(y, predicted) == pytest.approx(2 / 3)
        order = [10, 15, 20, 25, 30]
        assert metrics.mean_absolute_rank_error(y, predicted, order) == pytest.approx(4 / 3)
        texts = [str(label) for label in order]
        assert metrics.mean_absolute_rank_error(y, predicted, texts) == pytest.approx(4 / 3)

    def test_numbers_written_as_text_are_ordered_by_value(self):
        assert metrics.mean_absolute_rank_error(["2", "9", "10"], ["10", "9", "10"]) == (
            pytest.approx(2 / 3)
        )

    def test_text_without_an_order_is_a_warning(self):
        with pytest.warns(ClassOrderWarning, match='"mean_absolute_rank_error" needs the classes'):
            error = metrics.mean_absolute_rank_error(["low", "mid"], ["high", "mid"])
        assert error == pytest.approx(1 / 2)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"predicted": [0]}, "y has 2 labels, but predicted has 1. Pass one prediction"),
            ({"class_order": [0, 2]}, "class_order does not have 1. List each label of the data"),
            ({"class_order": [0, 1, 2, 0]}, "class_order repeats 0. List each label"),
            ({"sample_weight": [1, -1]}, "weights must be finite and not negative"),
            (
                {"predicted": [0, "a"]},
                "The labels cannot be sorted. Pass all of them, from first to last, as class_order",
            ),
        ],
    )
    def test_arguments_are_checked(self, arguments, words):
        good = {"y": [0, 1], "predicted": [1, 1]}
        assert metrics.mean_absolute_rank_error(**good) == 0.5
        with pytest.raises(ArgumentError, match=words):
            metrics.mean_absolute_rank_error(**(good | arguments))


def test_ordered_categories_bring_their_order():
    order = ["low", "mid", "high"]
    y = pd.Categorical(["low", "high"], order, ordered=True)
    proba = [[0.0, 0.6, 0.4], [0.2, 0.0, 0.8]]  # columns: high, low, mid
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = metrics.ranked_probability_score(y, proba, sorted(order))
        error = metrics.mean_absolute_rank_error(y, ["high", "high"])
    assert score == metrics.ranked_probability_score(
        list(y), proba, sorted(order), class_order=order
    )
    assert error == 1.0  # two ranks apart, though "mid" does not occur, and none


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": [0, 1, 7], "classes": [0, 1]}, "Label 7 of y is not one of the classes"),
        ({"proba": [[0.5, 0.6], [0.5, 0.5], [0.5, 0.5]]}, "Row 0 of proba sums to 1.1, not to one"),
        ({"sample_weight": [1, -2, 1]}, "weights must be finite and not negative"),
        ({"class_order": [0]}, "class_order does not have 1. List each label of the data"),
        ({"class_order": [0, 1, 2]}, "class_order has unknown labels: 2. List each label"),
        ({"y": [0, "a", "a"], "classes": [0, "a"]}, "The labels cannot be sorted. Pass all of"),
    ],
)
def test_arguments_of_the_ranked_probability_score_are_checked(arguments, words):
    good = {"y": [0, 1, 1], "proba": [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]]}
    assert metrics.ranked_probability_score(**good) == pytest.approx((0.25 + 0.01 + 1) / 3)
    with pytest.raises(ArgumentError, match=words):
        metrics.ranked_probability_score(**(good | arguments))
