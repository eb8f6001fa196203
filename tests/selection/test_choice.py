"""The one-standard-error rule, the Pareto set, folds and candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import StratifiedKFold

from polytomy.designs import one_vs_one
from polytomy.errors import ArgumentError
from polytomy.selection import (
    Candidate,
    Race,
    Runner,
    candidates_from,
    choose_runner,
    comparison_folds,
    default_candidates,
    find_score,
    pareto_set,
)
from polytomy.selection.scoring import Judged


def runner(name, losses, cost):
    made = Runner(Candidate(name, name), {"log_loss": [float(np.mean(losses))]})
    made.losses, made.n_training_samples = [np.array(losses, dtype=float)], [cost]
    return made


def race(*runners):
    return Race(list(runners), [np.ones(len(runners[0].losses[0]))], 1)


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


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(2, 6), st.integers(0, 9))
def test_folds_hold_out_each_sample_once_and_train_on_every_class(labels, n_folds, seed):
    y = np.array([0, 0, *labels])
    folds = comparison_folds(n_folds, None, y, random_state=seed)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    held_out = np.concatenate([test for _, test in folds])
    alone = [i for i, label in enumerate(y) if counts[label] == 1]
    assert sorted(held_out) == sorted(set(range(len(y))) - set(alone))
    for training, test in folds:
        assert set(y[training]) == set(y)
        assert not set(training) & set(test)
        assert len(training) + len(test) == len(y)
        for label, count in counts.items():
            if count > 1:
                assert np.count_nonzero(y[test] == label) <= -(-count // len(folds))


def test_folds_of_splitters_and_lists():
    y = np.repeat(["a", "b"], 6)
    X = np.zeros((12, 1))
    splitter = StratifiedKFold(3)
    expected = list(splitter.split(X, y))
    for cv in splitter, expected:
        for one, other in zip(comparison_folds(cv, X, y), expected, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])
    with pytest.raises(ArgumentError, match="fold 1 of cv trains without some of the classes"):
        comparison_folds([(range(6), range(6, 12))], X, y)
    with pytest.raises(ArgumentError, match="every class has only one sample"):
        comparison_folds(2, X[:2], y[5:7])
    with pytest.raises(ArgumentError, match="makes no folds"):
        comparison_folds([], X, y)


def test_candidates_in_every_form():
    scheme = one_vs_one(["a", "b", "c"])
    found = candidates_from({"mine": scheme, "votes": ("tree", "voting")}, 3, "divergence")
    assert found == [Candidate("mine", scheme, "divergence"), Candidate("votes", "tree", "voting")]
    assert candidates_from(["a {x y}", scheme], 3)[0].name == "a {x y}"
    assert candidates_from([found[0]], 3) == [found[0]]
    many = [each.name for each in candidates_from("default", 500)]
    assert "one-vs-one" not in many
    assert "one-vs-one" in [each.name for each in candidates_from("default", 50)]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("one-vs-one", 'must be "default", a list'),
        (7, 'must be "default", a list'),
        ([], "candidates is empty"),
        (["tree", "tree"], "two candidates are called 'tree'"),
    ],
)
def test_bad_candidates(argument, words):
    with pytest.raises(ArgumentError, match=words):
        candidates_from(argument, 3)


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
def test_losses_of_samples_are_what_the_uncertainty_coefficient_is_the_mean_of(judged):
    score = find_score("uncertainty_coefficient")
    shares = np.bincount(judged.y, judged.weight) / judged.weight.sum()
    shares = shares[shares > 0]
    entropy = -np.sum(shares * np.log(shares))
    left = np.average(score.losses(judged), weights=judged.weight)
    assert left == pytest.approx(entropy * (1 - score.measure(judged)), abs=1e-9)


@given(judged_samples())
def test_the_joint_log_loss_adds_what_both_leave_open(judged):
    joint = find_score("joint_log_loss")
    parts = find_score("log_loss"), find_score("uncertainty_coefficient")
    expected = sum(np.average(part.losses(judged), weights=judged.weight) for part in parts)
    assert joint.measure(judged) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(joint.losses(judged), sum(part.losses(judged) for part in parts))


def test_the_default_tries_solvers_too():
    found = candidates_from("default", 5)
    assert {(each.scheme, each.solver) for each in found} >= {
        ("one-vs-rest", "least-squares"),
        ("one-vs-rest", "divergence"),
    }
    assert {each.solver for each in candidates_from("default", 5, "hamming")} == {"hamming"}
    assert {each.solver for each in default_candidates(5)} == {"least-squares"}
