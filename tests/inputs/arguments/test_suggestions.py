"""Suggestions for names that are not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.inputs.arguments import did_you_mean

CHOICES = ["least-squares", "voting", "one-vs-one", "one-vs-rest"]


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("least-square", "least-squares"),
        ("Voting", "voting"),
        ("lsq", "least-squares"),
        ("ovo", "one-vs-one"),
        ("ovr", "one-vs-rest"),
        ("one-vs-res", "one-vs-rest"),
    ],
)
def test_misspelt_and_abbreviated_names_are_recognised(text, suggestion):
    assert did_you_mean(text, CHOICES) == f' Did you mean "{suggestion}"?'


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("one-vs-all", "one-vs-rest"),
        ("One vs all", "one-vs-rest"),
        ("OvA", "one-vs-rest"),
        ("all_pairs", "one-vs-one"),
        ("ecoc", "random"),
    ],
)
def test_names_that_others_use_are_recognised(text, suggestion):
    designs = [*CHOICES, "orthogonal", "decoc", "random"]
    assert did_you_mean(text, designs) == f' Did you mean "{suggestion}"?'
    marked = [f"@{name}" for name in designs]
    assert did_you_mean(f"@{text}", marked) == f' Did you mean "@{suggestion}"?'


@pytest.mark.parametrize("text", ["xgboost", "", 3, None, ["voting"]])
def test_anything_else_suggests_nothing(text):
    assert did_you_mean(text, iter(CHOICES)) == ""


names = st.text("abc-", min_size=1, max_size=6)


@given(names, st.lists(names, max_size=5))
def test_a_suggestion_is_one_of_the_choices(text, choices):
    found = did_you_mean(text, choices)
    assert found == "" or found in {f' Did you mean "{choice}"?' for choice in choices}


@pytest.mark.parametrize(("text", "meant"), [("c", "C"), ("GAMMA", "gamma")])
def test_case_does_not_matter(text, meant):
    assert did_you_mean(text, ["gamma", "C", ""]) == f' Did you mean "{meant}"?'


def test_one_letter_abbreviates_nothing():
    assert did_you_mean("l", CHOICES) == ""


@given(st.lists(names, min_size=1, max_size=5))
def test_a_choice_suggests_itself(choices):
    assert did_you_mean(choices[-1], choices) == f' Did you mean "{choices[-1]}"?'
