"""Candidates of a comparison."""

import pytest

from polytomy.designs import one_vs_one
from polytomy.errors import ArgumentError
from polytomy.selection.candidates import Candidate, candidates_from, default_candidates


def test_schemes_pairs_and_dicts_are_candidates():
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
def test_anything_else_is_refused(argument, words):
    with pytest.raises(ArgumentError, match=words):
        candidates_from(argument, 3)


def test_the_default_candidates_include_a_solver_without_zeros():
    found = candidates_from("default", 5, "least-squares")
    assert {(each.scheme, each.solver) for each in found} >= {
        ("one-vs-rest", "least-squares"),
        ("one-vs-rest", "divergence"),
    }
    assert {each.solver for each in candidates_from("default", 5, "hamming")} == {"hamming"}
    assert {each.solver for each in default_candidates(5)} == {"auto"}


def test_a_long_scheme_has_a_short_name():
    text = "a {x b {y c {z d {u e {v f {w g {s t}}}}}}}"
    (found,) = candidates_from([text], 8)
    assert found.scheme == text
    assert found.name == text[:39] + "…"


def test_a_function_is_named_by_its_name():
    def mine(scheme, decisions):
        return decisions

    (found,) = candidates_from([("tree", mine)], 4)
    assert found == Candidate("tree, mine", "tree", mine)


def test_the_solver_auto_suits_each_scheme_so_none_is_tried_twice():
    by_auto, by_name = (
        candidates_from("default", 5, solver) for solver in ("auto", "least-squares")
    )
    names = [each.name for each in by_name if each.solver == "least-squares"]
    assert [each.name for each in by_auto] == names
    assert {each.solver for each in by_auto} == {"auto"}
    assert {each.solver for each in by_name} == {"least-squares", "divergence"}
