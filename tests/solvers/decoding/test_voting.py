"""The decodings, against plain double loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polytomy.errors import ArgumentError
from polytomy.scheme import CodingMatrix
from polytomy.solvers.decoding import (
    LOSSES,
    score_losses,
    score_matches,
    score_votes,
    score_weighted_losses,
)
from solver_strategies import (
    FloatArray,
    answers,
    assert_leaves_out,
    chances_to_decisions,
    law,
    one_vs_one_codes,
    reordered,
    side_chances,
    sided,
    strict_codes,
    ternary_codes,
)

any_codes = st.one_of(strict_codes(), one_vs_one_codes(), ternary_codes())
SCORERS = [score_votes, score_matches, score_losses, score_weighted_losses]
all_scorers = pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: scorer.__name__)

# Written out from the literature: Allwein, Schapire and Singer 2000, scaled to 1/2 at zero.
FORMULAS: dict[str, Callable[[float], float]] = {
    "hamming": lambda z: 0.5 if z == 0 else float(z < 0),
    "linear": lambda z: (1 - z) / 2,
    "quadratic": lambda z: (1 - z) * (1 - z) / 2,
    "exponential": lambda z: math.exp(-z) / 2,
    "hinge": lambda z: (1 - z) / 2 if z < 1 else 0.0,
    "logit": lambda z: math.log(1 + math.exp(-z)) / (2 * math.log(2)),
    "binodeviance": lambda z: math.log(1 + math.exp(-2 * z)) / (2 * math.log(2)),
}
all_losses = pytest.mark.parametrize("loss", FORMULAS)


def entries(code: CodingMatrix, r: FloatArray, j: int) -> list[tuple[int, float]]:
    """The entry of class j and the answer, for every answered partition of a sample."""
    return [
        (int(code.matrix[i, j]), float(r[i]))
        for i in range(code.n_partitions)
        if not math.isnan(r[i])
    ]


def expected(code: CodingMatrix, r: FloatArray, score: Callable[[Any], float]) -> list[list[float]]:
    return [[score(entries(code, row, j)) for j in range(code.n_classes)] for row in r]


@law
@given(st.data())
def test_votes_are_sums_of_decision_values(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))
    np.testing.assert_allclose(
        score_votes(code, r),
        expected(code, r, lambda pairs: sum(a * z for a, z in pairs)),
        atol=1e-12,
    )


@law
@given(st.data())
def test_hamming_counts_matches_less_mismatches(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))

    def count(pairs: list[tuple[int, float]]) -> float:
        return sum(a * z > 0 for a, z in pairs) - sum(a * z < 0 for a, z in pairs)

    np.testing.assert_array_equal(score_matches(code, r), expected(code, r, count))


@all_losses
@law
@given(data=st.data())
def test_loss_based_scores_sum_the_losses_of_all_partitions(loss: str, data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))
    np.testing.assert_allclose(
        score_losses(code, r, loss),
        expected(code, r, lambda pairs: -sum(FORMULAS[loss](a * z) for a, z in pairs)),
        atol=1e-12,
    )


@all_losses
@law
@given(data=st.data())
def test_loss_weighted_scores_are_means_over_the_class_s_own_partitions(
    loss: str, data: st.DataObject
) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, hard=True, gaps=True))

    def mean(pairs: list[tuple[int, float]]) -> float:
        own = [FORMULAS[loss](a * z) for a, z in pairs if a != 0]
        return -sum(own) / len(own) if own else -0.5

    np.testing.assert_allclose(
        score_weighted_losses(code, r, loss), expected(code, r, mean), atol=1e-12
    )


@law
@given(st.data())
def test_loss_weighted_scores_take_weights_of_rows_or_entries(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions))
    weights = data.draw(
        hnp.arrays(np.float64, code.shape, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    )
    scores = score_weighted_losses(code, r, "hinge", weights)
    for sample in range(len(r)):
        for j in range(code.n_classes):
            total = sum(weights[i, j] * abs(code.matrix[i, j]) for i in range(code.n_partitions))
            loss = sum(
                weights[i, j] * abs(code.matrix[i, j]) * FORMULAS["hinge"](code.matrix[i, j] * z)
                for i, z in enumerate(r[sample])
            )
            assert scores[sample, j] == pytest.approx(-loss / total if total else -0.5)
    rows = weights[:, 0]
    np.testing.assert_allclose(
        score_weighted_losses(code, r, "hinge", rows),
        score_weighted_losses(code, r, "hinge", np.repeat(rows[:, np.newaxis], code.n_classes, 1)),
    )


def test_every_loss_is_a_half_at_zero_and_falls() -> None:
    assert list(LOSSES) == list(FORMULAS)
    margins = np.linspace(-1, 1, 41)
    for name, loss in LOSSES.items():
        np.testing.assert_allclose(loss(margins), [FORMULAS[name](z) for z in margins], atol=1e-15)
        assert loss(np.zeros(1))[0] == pytest.approx(0.5)
        assert (np.diff(loss(margins)) <= 1e-15).all()


@law
@given(st.data())
def test_the_linear_loss_votes_and_the_hamming_loss_counts_in_strict_codes(
    data: st.DataObject,
) -> None:
    code = data.draw(strict_codes())
    r = data.draw(answers(code.n_partitions, hard=True))
    shift = code.n_partitions / 2
    np.testing.assert_allclose(
        score_losses(code, r, "linear") + shift, score_votes(code, r) / 2, atol=1e-12
    )
    np.testing.assert_allclose(
        score_losses(code, r, "hamming") + shift, score_matches(code, r) / 2, atol=1e-12
    )


@law
@given(st.data())
def test_a_callable_loss_is_used_as_it_is(data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, gaps=True))
    for scorer in (score_losses, score_weighted_losses):
        own = scorer(code, r, lambda margin: np.exp(-margin) / 2)
        np.testing.assert_array_equal(own, scorer(code, r, "exponential"))


@all_scorers
@law
@given(data=st.data())
def test_a_missing_answer_leaves_the_row_out(scorer: Any, data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions))
    row = data.draw(st.integers(0, code.n_partitions - 1))
    assert_leaves_out(scorer, code, r, row, atol=1e-12)


@all_scorers
@law
@given(data=st.data())
def test_order_and_sign_of_the_rows_do_not_matter(scorer: Any, data: st.DataObject) -> None:
    code = data.draw(any_codes)
    r = data.draw(answers(code.n_partitions, hard=True))
    other = data.draw(reordered(code, r))
    np.testing.assert_allclose(scorer(*other), scorer(code, r), atol=1e-12)


@all_scorers
@law
@given(data=st.data())
def test_certain_answers_for_a_class_make_it_win_in_strict_codes(
    scorer: Any, data: st.DataObject
) -> None:
    code = data.draw(strict_codes())
    scores = scorer(code, code.matrix.T.astype(float))
    np.testing.assert_array_equal(scores.argmax(axis=1), np.arange(code.n_classes))


TWO = CodingMatrix([[-1, 1]])


@pytest.mark.parametrize("scorer", [score_losses, score_weighted_losses])
@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (
            "hing",
            r'loss="hing" is not one of hamming, .* Did you mean "hinge"\?',
        ),
        ("", 'loss="" is not one of'),
        (lambda margin: 0.0, r"of the shape of the margins, \(1, 1\); got \(\)"),
        (lambda margin: margin - np.inf, r"loss is -inf at the margin 0\.5\. It must be finite"),
        (lambda margin: margin * np.nan, r"loss is nan at the margin 0\.5"),
    ],
)
def test_invalid_losses_are_refused(scorer: Any, loss: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        scorer(TWO, [[0.5]], loss)


def test_weights_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"weights must have shape \(1, 2\); got \(2, 2\)"):
        score_weighted_losses(TWO, [[0.5]], weights=np.ones((2, 2)))


@all_scorers
@law
@given(data=st.data())
def test_a_class_is_scored_by_the_margin_of_its_side(scorer: Any, data: st.DataObject) -> None:
    code = data.draw(sided(5))
    chances = data.draw(side_chances(code, n_samples=2))
    scores = scorer(code, chances_to_decisions(code, chances))
    for sample in range(2):
        for label in range(code.n_classes):
            margins = []
            for sides, q in zip(code.sides[:, label], chances, strict=True):
                n, own = q.shape[1], q[sample]
                if scorer is score_matches:
                    best = np.flatnonzero(own == own.max())
                    sign = 0 if len(best) > 1 else 1
                    margins.append(None if sides < 0 else sign if sides in best else -1)
                else:
                    margins.append(None if sides < 0 else (n * own[sides] - 1) / (n - 1))
            inside = [margin for margin in margins if margin is not None]
            losses = [(1 - margin) ** 2 / 2 for margin in inside]
            expected = {
                score_votes: sum(inside),
                score_matches: sum(inside),
                score_losses: -sum(losses) - 0.5 * (len(margins) - len(inside)),
                score_weighted_losses: -np.mean(losses),
            }[scorer]
            assert scores[sample, label] == pytest.approx(expected, abs=1e-9)


@all_scorers
def test_a_partition_of_two_rows_is_scored_as_one_of_one_row(scorer: Any) -> None:
    one, two = CodingMatrix([[-1, 1]]), CodingMatrix([[1, -1], [-1, 1]], [2])
    for r in (-1.0, -0.3, 0.0, 0.8, np.nan):
        np.testing.assert_allclose(scorer(two, [[-r, r]]), scorer(one, [[r]]), atol=1e-15)
