"""Diagrams of mean ranks."""

import numpy as np

from polytomy.report.figures import draw_ranks
from polytomy.trials import rank_methods
from report.cases import NAMES
from report.pages import titles_of


def test_ranks_are_drawn_best_first_and_bars_join_pairs_that_do_not_differ():
    random = np.random.default_rng(0)
    values = np.array([1.0, 3.0, 2.0, 9.0]) + 0.01 * random.normal(size=(12, 4))
    ranking = rank_methods(values, largest_is_best=False)
    drawn = draw_ranks(NAMES[:4], ranking, "Log-loss")
    assert titles_of(drawn, "rank") == [
        "scheme 0, m: mean rank 1.00",
        "scheme 2, m: mean rank 2.00",
        "scheme 1, m: mean rank 3.00",
        "scheme 3, m: mean rank 4.00",
    ]
    # Nemenyi's critical difference of four methods on twelve datasets is 2.569 sqrt(20 / 72).
    assert "critical difference 1.35" in drawn
    assert titles_of(drawn, "group") == [
        "no significant difference: scheme 0, m, scheme 2, m",
        "no significant difference: scheme 2, m, scheme 1, m",
        "no significant difference: scheme 1, m, scheme 3, m",
    ]


def test_a_critical_difference_beyond_all_ranks_is_noted():
    # Nemenyi's critical difference of two methods on two datasets is 1.960 sqrt(6 / 12).
    ranking = rank_methods([[1.0, 2.0], [1.0, 2.0]], largest_is_best=False)
    drawn = draw_ranks(NAMES[:2], ranking, "Log-loss")
    assert "critical difference 1.39: larger than the range of ranks" in drawn
