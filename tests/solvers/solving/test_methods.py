"""The declaration of the methods, and how one is found by its name."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError
from polytomy.solvers.solving import METHODS, find_method


def test_each_method_is_listed_under_its_own_name_with_a_reference() -> None:
    for name, method in METHODS.items():
        assert method.name == name
        assert find_method(name) is method
        assert method.reference
        assert method.summary


def test_the_methods_that_give_only_scores_use_the_flat_code_except_the_greedy_one() -> None:
    flat = {name for name, method in METHODS.items() if method.uses_flat_code}
    assert flat == {"voting", "hamming", "loss-based", "loss-weighted"}


@pytest.mark.parametrize(
    ("name", "shown", "hint"),
    [
        ("least-sqares", 'method="least-sqares"', ' Did you mean "least-squares"?'),
        ("hastie", 'method="hastie"', ' Did you mean "hastie-tibshirani"?'),
        (None, "method=None", ""),
        (["voting"], "method=['voting']", ""),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(name: Any, shown: str, hint: str) -> None:
    with pytest.raises(ArgumentError) as error:
        find_method(name)
    known = ", ".join(METHODS)
    assert str(error.value) == f"{shown} is not one of {known}.{hint}"


def test_the_error_names_the_parameter_of_the_caller() -> None:
    with pytest.raises(ArgumentError, match=r'^solver="price-"') as error:
        find_method("price-", parameter="solver")
    assert error.value.parameter == "solver"


def test_the_classifier_documents_every_method() -> None:
    text = str(inspect.getdoc(PolytomyClassifier))  # without indentation, as from Python 3.13
    documented = text[text.index("\nsolver :") : text.index("\ncalibration :")]
    assert all(f'"{name}"' in documented for name in METHODS)
