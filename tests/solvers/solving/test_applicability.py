"""`check_applicable` says beforehand what `decode` would say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError, CodeError
from polytomy.scheme import CodingMatrix, parse
from polytomy.solvers import METHODS, check_applicable, decode, solving
from solver_strategies import law, one_vs_one_codes, pair_matrix, strict_codes, ternary_codes
from strategies import schemes

CODES = {
    "one-vs-one": pair_matrix(4),
    "some pairs": pair_matrix(4)[:4],
    "one-vs-rest": 2 * np.eye(3, dtype=int) - 1,
    "tree": [[-1, -1, 1, 1], [-1, 1, 0, 0], [0, 0, -1, 1]],
    "two classes": [[-1, 1]],
    "one class": np.zeros((0, 1)),
}
SCHEMES = {
    "flat one-vs-one": "@one-vs-one {a b c}",
    "flat one-vs-rest": "@one-vs-rest {a b c}",
    "single class": "a",
    "tree": "top {a low {b c}}",
    "pairs of pairs": "@one-vs-one {a @one-vs-one {b c d} two {e f}}",
    "tree of a tree code": "left 0 1 / 2; low 0 / 1; {a two {b c} d}",
    "mixture": "@one-vs-one {a pair {b c} @one-vs-rest {d e deep {f g}}}",
}
SUBJECTS = {
    **{f"code: {name}": CodingMatrix(matrix) for name, matrix in CODES.items()},
    **{f"scheme: {name}": parse(text) for name, text in SCHEMES.items()},
}

# By definition: which methods do what. Pairs of a node are pairs of its branches.
NEED_PAIRS = {"hastie-tibshirani", "wu-lin-weng-1", "price", "libsvm"}
HAVE_PAIRS = {
    "code: one-vs-one",
    "code: two classes",
    "code: one class",
    "scheme: flat one-vs-one",
    "scheme: single class",
    "scheme: tree",
    "scheme: pairs of pairs",
}
ARE_TREES = {
    "code: tree",
    "code: two classes",
    "code: one class",
    "scheme: single class",
    "scheme: tree",
    "scheme: tree of a tree code",
}


def decode_nothing(method: str, subject: Any) -> None:
    """Solve for no samples at all."""
    decode(subject, np.empty((0, subject.n_partitions)), method)


def error_of(function: Any, *arguments: Any) -> str | None:
    try:
        function(*arguments)
    except ArgumentError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_applies_where_its_structure_is(method: str, name: str) -> None:
    needs_missing_pairs = method in NEED_PAIRS and name not in HAVE_PAIRS
    needs_missing_tree = method == "greedy" and name not in ARE_TREES
    error = error_of(check_applicable, method, SUBJECTS[name])
    assert (error is not None) == (needs_missing_pairs or needs_missing_tree)


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("method", METHODS)
def test_decoding_says_the_same(method: str, name: str) -> None:
    subject = SUBJECTS[name]
    assert error_of(check_applicable, method, subject) == error_of(decode_nothing, method, subject)


@law
@given(
    st.sampled_from(list(METHODS)),
    st.one_of(schemes(), strict_codes(), one_vs_one_codes(), ternary_codes()),
)
def test_decoding_says_the_same_of_any_scheme_and_code(method: str, subject: Any) -> None:
    assert error_of(check_applicable, method, subject) == error_of(decode_nothing, method, subject)


@pytest.mark.parametrize(
    ("method", "name", "words"),
    [
        (
            "price",
            "code: one-vs-rest",
            'solver="price" needs a one-vs-one code; partition 0 has three classes. '
            'Use solver="least-squares".',
        ),
        (
            "price",
            "code: some pairs",
            'solver="price" needs a one-vs-one code; no partition compares classes 1 and 3. '
            'Use solver="least-squares".',
        ),
        (
            "libsvm",
            "scheme: flat one-vs-rest",
            'solver="libsvm" needs a one-vs-one code; partition 0 has three classes. '
            'Use solver="least-squares".',
        ),
        (
            "libsvm",
            "scheme: mixture",
            'solver="libsvm" needs a one-vs-one code; in node 2 of the scheme, partition 0 has '
            'three classes. Use solver="least-squares".',
        ),
        (
            "greedy",
            "code: one-vs-rest",
            'solver="greedy" needs a tree; a tree over 3 classes has 2 splits, the code has '
            '3 partitions. Use solver="least-squares".',
        ),
        (
            "greedy",
            "scheme: mixture",
            'solver="greedy" needs a tree; in node 0 of the scheme, a tree over 3 classes has '
            '2 splits, the code has 3 partitions. Use solver="least-squares".',
        ),
    ],
)
def test_errors_name_the_parameter_the_place_and_the_way_out(
    method: str, name: str, words: str
) -> None:
    with pytest.raises(ArgumentError) as error:
        check_applicable(method, SUBJECTS[name], parameter="solver")
    assert str(error.value) == words
    assert error.value.parameter == "solver"


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_only_methods_that_flatten_a_scheme_refuse_a_large_one(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SUBJECTS["scheme: tree"]  # two partitions of three classes
    monkeypatch.setattr(solving, "MAX_ENTRIES", 5)
    expected = (
        "The flat code of the scheme would have 2 rows of 3 classes, which is too large. "
        'Use method="least-squares", which does not need it.'
    )
    error = error_of(check_applicable, method.name, scheme)
    assert error == (expected if method.uses_flat_code else None)
    assert error == error_of(decode_nothing, method.name, scheme)


def test_an_unknown_method_is_refused_under_the_name_of_the_parameter() -> None:
    with pytest.raises(
        ArgumentError, match=r'^solver="prize" is not one of .* Did you mean "price"'
    ):
        check_applicable("prize", CODES["tree"], parameter="solver")


def test_a_matrix_that_is_not_a_code_is_refused() -> None:
    with pytest.raises(CodeError, match="equal columns"):
        check_applicable("voting", [[-1, 1, 1]])
