import numpy as np
import pytest

from polytomy import designs
from polytomy.errors import ArgumentError


def made():
    random = np.random.default_rng(0)
    y = np.repeat(list("abcd"), 10)
    return random.normal(size=(40, 3)) + (y == "a")[:, np.newaxis], y


@pytest.mark.parametrize("name", designs.DATA_DESIGNS)
def test_every_data_design_is_made_by_its_name(name):
    X, y = made()
    entry = designs.find_design(name)
    assert entry.needs_data
    assert entry.summary
    options = {"random_state": 0} if "random_state" in entry.options else {}
    scheme = designs.design(name, X=X, y=y, base="land", **options)
    assert scheme == entry.make(X, y, name="land", **options)
    assert sorted(scheme.classes) == list("abcd")


def test_no_name_stands_for_two_designs():
    assert not designs.DESIGNS.keys() & designs.DATA_DESIGNS.keys()
    assert not any(entry.needs_data for entry in designs.DESIGNS.values())


def test_the_default_of_the_paper_is_the_empirical_tree():
    X, y = made()
    assert designs.design("empirical-tree", X=X, y=y) == designs.empirical_tree(X, y)


@pytest.mark.parametrize("given", [{}, {"X": [[0.0]]}, {"y": [0]}])
def test_data_is_needed(given):
    with pytest.raises(ArgumentError, match="'empirical-tree' is made from the data; give X= and"):
        designs.design("empirical-tree", **given)


def test_a_slip_of_the_finger_is_guessed():
    with pytest.raises(ArgumentError, match=r"Did you mean 'empirical-tree'\?"):
        designs.design("emprical-tree", X=[[0.0]], y=[0])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            {"random_state": 1},
            "random_state=1 means nothing to 'empirical-tree'; it is for class-b",
        ),
        ({"rows": 3}, "rows=3 means nothing to 'empirical-tree'; leave it out"),
    ],
)
def test_an_option_that_means_nothing_is_refused(option, words):
    X, y = made()
    with pytest.raises(ArgumentError, match=words):
        designs.design("empirical-tree", X=X, y=y, **option)
