"""The order of the classes for designs: given, natural for numbers, and a warning without one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.designs import design
from polytomy.designs.orders import order_classes
from polytomy.errors import ArgumentError, ClassOrderWarning

LEVELS = ["high", "low", "medium"]


@given(st.permutations(LEVELS))
def test_a_given_order_is_kept(order):
    assert order_classes(LEVELS, order, ["adjacent"]) == list(order)
    assert order_classes(np.array(LEVELS), np.array(order)) == list(order)


def test_numbers_written_as_text_are_sorted_by_value():
    assert order_classes(np.array(["10", "2", "9"]), None, ["chain"]) == ["2", "9", "10"]


def test_text_without_an_order_is_a_warning_that_names_the_designs():
    with pytest.warns(ClassOrderWarning, match='"chain" and "tree" need the classes in order'):
        assert order_classes(LEVELS, None, ["chain", "tree"]) == LEVELS


@pytest.mark.parametrize("name", ["adjacent", "chain", "chain-backward", "tree"])
def test_a_design_takes_an_order(name):
    scheme = design(name, LEVELS, class_order=["low", "medium", "high"])
    assert scheme == design(name, ["low", "medium", "high"])


def test_a_design_that_does_not_use_an_order_refuses_one():
    with pytest.raises(ArgumentError) as caught:
        design("one-vs-one", LEVELS, class_order=LEVELS)
    assert str(caught.value) == (
        "class_order does not apply to 'one-vs-one'; it is for adjacent, chain, chain-backward, "
        "tree."
    )
    with pytest.raises(ArgumentError, match="class_order does not apply to 'decoc'; it is for adj"):
        design("decoc", X=[[0.0], [1.0]], y=[0, 1], class_order=[0, 1])
