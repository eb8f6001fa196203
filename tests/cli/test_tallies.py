"""Tallies of blocks give the scores of all samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import metrics
from polytomy.cli.tallies import add_tallies, tally_block

CLASSES = np.array([2, 5, 9])


@given(st.integers(0, 999), st.integers(1, 5))
def test_scores_do_not_depend_on_the_blocks(seed, n_blocks):
    rng = np.random.default_rng(seed)
    y = rng.choice(CLASSES, 40)
    P = rng.dirichlet(np.ones(3), 40)
    predicted = CLASSES[P.argmax(axis=1)]
    blocks = [part for part in np.array_split(np.arange(40), n_blocks) if len(part)]
    tally = add_tallies(
        [tally_block(y[part], predicted[part], P[part], CLASSES, [9, 5, 2]) for part in blocks]
    )
    assert tally.n_samples == 40
    expected = {
        "accuracy": np.mean(y == predicted),
        "uncertainty_coefficient": metrics.uncertainty_coefficient(y, predicted),
        "brier_score": metrics.brier_score(y, P, CLASSES),
        "winner_brier_score": metrics.winner_brier_score(y, P, CLASSES),
        "log_loss": metrics.log_loss(y, P, CLASSES),
        "calibration_error": metrics.classwise_calibration_error(y, P, CLASSES),
    }
    assert tally.measure() == pytest.approx(expected, abs=1e-12)
    assert tally.ranked_probability_score == pytest.approx(
        metrics.ranked_probability_score(y, P, CLASSES, class_order=[9, 5, 2])
    )


def test_votes_have_no_scores_of_probabilities():
    y = np.array([2, 5])
    tally = add_tallies([tally_block(y, y, None, CLASSES)] * 2)
    assert tally.measure() == {"accuracy": 1.0, "uncertainty_coefficient": 1.0}
    assert tally.ranked_probability_score is None
    np.testing.assert_array_equal(tally.confusion, np.diag([2, 2, 0]))
