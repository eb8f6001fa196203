"""`solve` and `decode`: one way in for all methods, codes and schemes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polytomy
from polytomy.errors import ArgumentError, CodeError
from polytomy.scheme import CodingMatrix, Scheme, parse
from polytomy.solvers import LOSSES, METHODS, Structure, decode, solve
from solver_strategies import pair_matrix

PAIRS = pair_matrix(3)
TREE = [[-1, 1, 1], [0, -1, 1]]
OVER_PAIRS = np.array([[0.4, 0.1, -0.3]])


def example_code(needs: Structure) -> Any:
    return TREE if needs.title == "tree" else PAIRS


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_every_method_decodes_and_those_with_probabilities_solve(method: Any) -> None:
    code = example_code(method.needs)
    r = np.random.default_rng(0).uniform(-1, 1, (7, len(code)))
    scores = decode(code, r, method.name)
    assert scores.shape == (7, 3)
    assert scores.dtype == np.float64
    if method.gives_probabilities:
        np.testing.assert_array_equal(solve(code, r, method.name), scores)
        np.testing.assert_allclose(scores.sum(axis=1), 1)
        return
    with pytest.raises(ArgumentError) as error:
        solve(code, r, method.name)
    assert str(error.value) == (
        f'method="{method.name}" gives scores, not probabilities. '
        'Use polytomy.decode for the scores, or method="least-squares".'
    )


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_every_method_prefers_the_class_that_all_answers_point_to(method: Any) -> None:
    code = CodingMatrix(example_code(method.needs))
    # A partition that leaves the class out answers evenly.
    certain = code.matrix.T.astype(float)
    np.testing.assert_array_equal(decode(code, certain, method.name).argmax(axis=1), [0, 1, 2])


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_every_method_leaves_out_unanswered_partitions(method: Any) -> None:
    code = example_code(method.needs)
    scores = decode(code, np.full((1, len(code)), np.nan), method.name)
    assert np.isfinite(scores).all()
    if method.name != "greedy":
        np.testing.assert_allclose(scores, scores[0, 0])


def test_codes_arrays_and_flat_schemes_are_solved_alike() -> None:
    scheme = parse("x 1 / 0; y 2 / 0; z 2 / 1; {a b c}")
    assert isinstance(scheme, Scheme)
    expected = solve(CodingMatrix(PAIRS), OVER_PAIRS)
    for code in (PAIRS, PAIRS.tolist(), PAIRS.astype(float), scheme, scheme.code):
        np.testing.assert_allclose(solve(code, OVER_PAIRS.tolist()), expected, atol=1e-15)


def test_least_squares_is_the_default() -> None:
    np.testing.assert_array_equal(
        solve(PAIRS, OVER_PAIRS), solve(PAIRS, OVER_PAIRS, method="least-squares")
    )
    np.testing.assert_array_equal(decode(PAIRS, OVER_PAIRS), solve(PAIRS, OVER_PAIRS))


def test_the_quadratic_loss_is_the_default() -> None:
    for method in ("loss-based", "loss-weighted"):
        np.testing.assert_array_equal(
            decode(PAIRS, OVER_PAIRS, method), decode(PAIRS, OVER_PAIRS, method, loss="quadratic")
        )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_chosen_by_name(loss: str) -> None:
    by_name = decode(PAIRS, OVER_PAIRS, "loss-based", loss=loss)
    np.testing.assert_array_equal(
        by_name, decode(PAIRS, OVER_PAIRS, "loss-based", loss=LOSSES[loss])
    )


@pytest.mark.parametrize("function", [solve, decode])
def test_an_unknown_method_is_refused(function: Any) -> None:
    with pytest.raises(ArgumentError, match='method="hastie" is not one of'):
        function(PAIRS, OVER_PAIRS, "hastie")


@pytest.mark.parametrize(
    ("method", "option", "words"),
    [
        ("price", {"weights": np.ones(3)}, 'method="price" takes no weights'),
        ("divergence", {"loss": "hinge"}, 'method="divergence" takes no loss'),
        (
            "least-squares",
            {"weights": np.ones(3)},
            'or use a method that takes it: "divergence", ',
        ),
        ("voting", {"loss": "hinge"}, 'takes it: "loss-based", "loss-weighted"'),
    ],
)
def test_an_option_of_other_methods_is_refused(method: str, option: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        decode(PAIRS, OVER_PAIRS, method, **option)


def test_a_matrix_that_is_not_a_code_is_refused() -> None:
    with pytest.raises(CodeError, match="equal columns"):
        solve([[-1, 1, 1]], [[0.0]])


def test_decisions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"shape \(n_samples, 3\); got \(1, 2\)"):
        solve(PAIRS, [[0.0, 0.0]])
    with pytest.raises(ArgumentError, match=r"decisions must lie in \[-1, 1\]"):
        decode(PAIRS, [[0.0, 0.0, 2.0]], "voting")


def test_the_package_offers_both_functions_and_their_module() -> None:
    assert polytomy.solve is solve
    assert polytomy.decode is decode
    assert polytomy.solvers.METHODS is METHODS


def test_the_table_of_the_module_lists_every_method_with_what_it_needs() -> None:
    listed = re.findall(r"^``(\S+)``\s+(\S.*?)\s{2,}", polytomy.solvers.__doc__, re.MULTILINE)
    assert listed == [(method.name, str(method.needs)) for method in METHODS.values()]
