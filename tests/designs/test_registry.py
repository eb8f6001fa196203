import pytest

from polytomy import designs
from polytomy.errors import ArgumentError


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("one-vs-one", designs.one_vs_one),
        ("one-vs-rest", designs.one_vs_rest),
        ("exhaustive", designs.exhaustive),
        ("adjacent", designs.adjacent),
        ("orthogonal", designs.orthogonal),
        ("tree", designs.balanced_tree),
    ],
)
def test_a_design_by_name_is_that_of_its_function(name, make):
    assert designs.design(name, 5) == make(5)
    assert designs.design(name, list("abc"), base="land") == make(list("abc"), name="land")


@pytest.mark.parametrize(
    ("name", "make", "options"),
    [
        ("orthogonal", designs.orthogonal, {}),
        ("random", designs.random_code, {}),
        ("random-ternary", designs.random_code, {"ternary": True}),
        ("random-tree", designs.random_tree, {}),
    ],
)
def test_a_seed_reaches_the_designs_that_draw(name, make, options):
    for seed in range(3):
        assert designs.design(name, 6, random_state=seed) == make(6, random_state=seed, **options)


@pytest.mark.parametrize(("name", "ternary"), [("random", False), ("random-ternary", True)])
def test_rows_reach_the_random_codes(name, ternary):
    scheme = designs.design(name, 6, rows=9, random_state=1)
    assert scheme == designs.random_code(6, rows=9, ternary=ternary, random_state=1)


@pytest.mark.parametrize("name", ["one-vs-one", "one-vs-rest", "exhaustive", "adjacent", "tree"])
def test_an_option_that_means_nothing_is_refused_with_those_it_is_for(name):
    takers = "it is for orthogonal, random, random-ternary, random-tree"
    with pytest.raises(ArgumentError, match=f"random_state=3 means nothing to '{name}'; {takers}"):
        designs.design(name, 4, random_state=3)
    with pytest.raises(ArgumentError, match=f"rows=3 means nothing to '{name}'; it is for random,"):
        designs.design(name, 4, rows=3)


@pytest.mark.parametrize("name", [3, None, ["tree"], "", "tree-of-life"])
def test_what_is_no_design_is_refused_with_those_there_are(name):
    with pytest.raises(ArgumentError, match=r"is not a design; there are one-vs-one, one-vs-rest,"):
        designs.design(name, 3)


def test_a_slip_of_the_finger_is_guessed():
    with pytest.raises(ArgumentError, match=r"Did you mean 'one-vs-rest'\?"):
        designs.design("one-vs-ret", 3)


def test_every_design_says_what_it_is():
    assert all(entry.summary for entry in designs.DESIGNS.values())
