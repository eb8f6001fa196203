"""Choosing after a race: the one-standard-error rule, and the Pareto set."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polytomy.selection.candidates import Candidate
from polytomy.selection.choice import choose_runner, pareto_set
from polytomy.selection.race import Race
from polytomy.selection.runners import FoldResult, Runner


def runner(name, losses, cost):
    scores, weight = {"log_loss": float(np.mean(losses))}, np.ones(len(losses))
    fold = FoldResult(scores, np.array(losses, dtype=float), weight, 1.0, 1.0, 3, cost)
    return Runner(Candidate(name, name), [fold])


def race(*runners):
    return Race(list(runners))


def test_the_cheapest_within_a_standard_error_is_chosen():
    # Differences to the best: of "near" 0, 0, 0, 4 with mean 1 and standard error √12 / 4 = 0.87;
    # of "nearer" 0, 0, 1, 3 with mean 1 and √6 / 4 = 0.61; of "even" 2, −2, 1, −1 with mean 0.
    best = runner("best", [0, 0, 0, 0], cost=100)
    assert choose_runner(race(best, runner("near", [0, 0, 0, 4], cost=10))).candidate.name == "best"
    even = runner("even", [2, -2, 1, -1], cost=50)
    assert choose_runner(race(best, even)).candidate.name == "even"
    closer = runner("closer", [0, 0, 0, 0.5], cost=10)  # mean 0.125, error √(0.1875) / 4 = 0.108
    assert choose_runner(race(best, closer)).candidate.name == "best"
    close = runner("close", [-1, 0, 0, 2], cost=10)  # mean 0.25, error √4.75 / 4 = 0.54
    assert choose_runner(race(best, close)).candidate.name == "close"


def test_of_equal_cost_the_better_is_chosen():
    best, close = runner("best", [0, 0, 0], 10), runner("close", [-1, 0, 2], 10)
    assert choose_runner(race(close, best)).candidate.name == "best"


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 3)),
        elements=st.sampled_from([0, 1, 2, np.nan]),
    )
)
def test_the_pareto_set_is_what_nothing_dominates(criteria):
    values = np.where(np.isnan(criteria), np.inf, criteria).tolist()
    expected = []
    for i, own in enumerate(values):
        beaten = any(
            all(a <= b for a, b in zip(other, own, strict=True))
            and any(a < b for a, b in zip(other, own, strict=True))
            for other in values
        )
        if not beaten:
            expected.append(i)
    assert pareto_set(criteria) == expected
