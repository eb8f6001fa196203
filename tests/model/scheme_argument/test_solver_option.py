"""The option solver: names of methods, and users' functions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polytomy import parse
from polytomy.designs import adjacent, balanced_tree, one_vs_one, one_vs_rest, orthogonal
from polytomy.errors import ArgumentError
from polytomy.model.arrangement import check_solver, gives_probabilities, resolve_solvers, solve_by
from polytomy.scheme import SchemeEnsemble
from polytomy.solvers import decode
from polytomy.solvers.solving import METHODS

PAIRS = one_vs_one(3)


def constant(values):
    def solver(scheme, decisions):
        return np.tile(values, (len(decisions), 1))

    return solver


@pytest.mark.parametrize("name", ["least-squares", "voting", "hamming"])
@given(decisions=arrays(np.float64, (2, 3), elements=st.floats(-1, 1)))
def test_a_name_is_a_method_of_decode(name, decisions):
    expected = decode(PAIRS, decisions, name)
    np.testing.assert_array_equal(solve_by(name, PAIRS, decisions), expected)


def test_a_function_gets_the_scheme_and_the_decisions():
    decisions = np.array([[0.5, 0.2, -0.3]])

    def solver(scheme, given):
        assert scheme is PAIRS
        assert given is decisions
        return [[0.2, 0.3, 0.5]]

    assert solve_by(solver, PAIRS, decisions).tolist() == [[0.2, 0.3, 0.5]]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, 0.5], "returned an array of shape (2, 2); 2 samples and 3 classes need (2, 3)."),
        ([np.nan] * 3, "row 0 is [nan, nan, nan]. The values of each row must not be negative"),
        ([-0.5, 1.0, 0.5], "row 0 is [-0.5, 1.0, 0.5]. The values of each row must not be neg"),
        ([0.5] * 3, "and must sum to one."),
    ],
)
def test_a_function_must_return_probabilities_of_all_classes(values, words):
    with pytest.raises(ArgumentError) as caught:
        solve_by(constant(values), PAIRS, np.zeros((2, 3)))
    assert caught.value.parameter == "solver"
    assert words in str(caught.value)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_gives_probabilities_if_its_rows_sum_to_one(name):
    scheme = balanced_tree(3) if name == "greedy" else PAIRS
    decisions = np.array([[0.9, 0.1, -0.4], [-0.2, 0.7, 0.3]])[:, : scheme.n_partitions]
    totals = solve_by(name, scheme, decisions).sum(axis=1)
    assert gives_probabilities(name) == np.allclose(totals, 1)


def test_a_function_is_assumed_to_give_probabilities():
    assert gives_probabilities(constant([1, 0, 0]))
    check_solver(PAIRS, constant([1, 0, 0]))


def test_a_solver_that_does_not_exist_or_does_not_suit_the_scheme_is_refused():
    check_solver(PAIRS, "price")
    with pytest.raises(ArgumentError, match="needs a one-vs-one code"):
        check_solver(one_vs_rest(3), "price")
    with pytest.raises(ArgumentError, match="votin"):
        check_solver(PAIRS, "votin")


@pytest.mark.parametrize("scheme", [one_vs_rest(3), one_vs_rest(5)])
def test_auto_is_the_divergence_for_one_vs_rest_with_a_final_calibration(scheme):
    assert resolve_solvers("auto", scheme, is_calibrated=True) == ("divergence",)
    assert resolve_solvers("auto", scheme, is_calibrated=False) == ("least-squares",)


def test_auto_depends_on_each_member_of_an_ensemble():
    both = SchemeEnsemble([one_vs_rest(3), balanced_tree(3)])
    solvers = ("divergence", "least-squares")
    assert resolve_solvers("auto", both, is_calibrated=True) == solvers
    assert resolve_solvers("auto", both, is_calibrated=False) == ("least-squares",) * 2
    assert resolve_solvers(["price", "auto"], both, is_calibrated=True) == ("price", solvers[1])


@pytest.mark.parametrize(
    "scheme",
    [
        PAIRS,
        one_vs_rest(2),
        adjacent(4),
        orthogonal(8),
        balanced_tree(4),
        parse("a 0 / 1 2; b 1 / 0 2; c 2 / 0 1; {x {0 1} 2 3}"),
        parse("0"),
    ],
)
@pytest.mark.parametrize("is_calibrated", [True, False])
def test_auto_is_least_squares_for_all_other_schemes(scheme, is_calibrated):
    assert resolve_solvers("auto", scheme, is_calibrated=is_calibrated) == ("least-squares",)


@pytest.mark.parametrize("solver", ["least-squares", "voting", constant([1, 0, 0])])
def test_a_solver_that_was_chosen_is_kept(solver):
    assert resolve_solvers(solver, one_vs_rest(3), is_calibrated=True) == (solver,)


def test_auto_suits_every_scheme_and_gives_probabilities():
    check_solver(one_vs_rest(3), "auto")
    assert gives_probabilities("auto")
