"""The greedy walk down a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.scheme import ClassRef, CodingMatrix, NodeRef, Scheme, parse
from polytomy.solvers import decode
from polytomy.solvers.decoding import score_greedily, score_tree_greedily
from solver_strategies import answers, law, tree_children
from strategies import schemes

FOUR = CodingMatrix([[-1, -1, 1, 1], [-1, 1, 0, 0], [0, 0, -1, 1]])


def leaves(part: Any) -> list[int]:
    return [part] if isinstance(part, int) else leaves(part[0]) + leaves(part[1])


def rows_of(part: Any, n_classes: int) -> list[list[int]]:
    """The splits of a nested pair of pairs, as rows of a code, parents first."""
    if isinstance(part, int):
        return []
    row = [0] * n_classes
    for side, value in zip(part, (-1, 1), strict=True):
        for leaf in leaves(side):
            row[leaf] = value
    return [row, *rows_of(part[0], n_classes), *rows_of(part[1], n_classes)]


def walk(part: Any, r: list[float]) -> tuple[int, float]:
    """The class and the probability that the greedy walk comes to, by recursion."""
    if isinstance(part, int):
        return part, 1.0
    n_left = len(rows_of(part[0], 99))
    goes_right = r[0] > 0
    below = r[1 + n_left :] if goes_right else r[1 : 1 + n_left]
    found, probability = walk(part[goes_right], below)
    return found, probability * (1 + abs(r[0])) / 2


@law
@given(st.data())
def test_the_winner_is_followed_down(data: st.DataObject) -> None:
    nested = data.draw(tree_children())
    n_classes = len(leaves(nested))
    code = CodingMatrix(rows_of(nested, n_classes))
    r = data.draw(answers(code.n_partitions, n_samples=3, hard=True))
    scores = score_greedily(code, r)
    for sample in range(3):
        found, probability = walk(nested, r[sample].tolist())
        assert scores[sample].argmax() == found
        assert scores[sample, found] == pytest.approx(probability)
        assert np.count_nonzero(scores[sample]) == 1


def test_a_walk_worked_by_hand() -> None:
    # To the right with 3/4, then to the left with 0.9; the other subtree is never asked.
    np.testing.assert_allclose(score_greedily(FOUR, [[0.5, 1.0, -0.8]]), [[0, 0, 0.75 * 0.9, 0]])


def test_the_greedy_class_need_not_be_the_most_probable() -> None:
    # The right half has 0.55, but its classes share it; class 0 has all of the left half.
    scores = score_greedily(FOUR, [[0.1, -1.0, 0.0]])
    np.testing.assert_allclose(scores, [[0, 0, 0.275, 0]])


@pytest.mark.parametrize("tie", [0.0, np.nan])
def test_ties_and_missing_answers_go_to_the_first_side_by_half(tie: float) -> None:
    np.testing.assert_allclose(score_greedily(FOUR, [[tie, 0.5, 0.5]]), [[0, 0.375, 0, 0]])


def test_a_row_may_be_turned_round() -> None:
    turned = CodingMatrix([[1, 1, -1, -1], [-1, 1, 0, 0], [0, 0, 1, -1]])
    r = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    np.testing.assert_array_equal(score_greedily(turned, r * [-1, 1, -1]), score_greedily(FOUR, r))


def test_an_underflowing_product_still_names_its_class() -> None:
    n_classes = 1500
    code = CodingMatrix(
        np.eye(n_classes - 1, n_classes, dtype=int) * -1
        + np.triu(np.ones((n_classes - 1, n_classes), dtype=int), 1)
    )
    scores = score_greedily(code, np.full((1, n_classes - 1), 1e-12))
    assert scores[0].argmax() == n_classes - 1
    assert scores[0, -1] > 0


def test_one_class_is_certain() -> None:
    np.testing.assert_array_equal(
        score_greedily(CodingMatrix(np.zeros((0, 1))), np.empty((2, 0))), [[1.0], [1.0]]
    )


def test_no_samples_give_no_rows() -> None:
    assert FOUR.tree is not None
    assert score_tree_greedily(FOUR.tree, np.ones(3, int), np.empty((0, 3)), 4).shape == (0, 4)


@law
@given(schemes(max_sides=4).filter(lambda scheme: scheme.is_tree), st.integers(0, 2**32 - 1))
def test_the_most_probable_of_any_number_of_sides_is_followed(scheme: Scheme, seed: int) -> None:
    generator = np.random.default_rng(seed)
    chances = [generator.dirichlet(np.ones(len(node.branches)), 3) for node in scheme.nodes]
    columns = [q[:, 1:] - q[:, :1] if q.shape[1] == 2 else 2 * q - 1 for q in chances]
    r = np.hstack(columns) if columns else np.empty((3, 0))
    nested, flat = decode(scheme, r, "greedy"), decode(scheme.flatten(), r, "greedy")
    for sample in range(3):
        branch, probability = NodeRef(0) if scheme.nodes else ClassRef(0), 1.0
        while isinstance(branch, NodeRef):
            own = chances[branch.index][sample]
            probability *= own.max()
            branch = scheme.nodes[branch.index].branches[int(own.argmax())]
        expected = np.zeros(len(scheme.classes))
        expected[branch.index] = probability
        np.testing.assert_allclose(nested[sample], expected)
        np.testing.assert_allclose(flat[sample], expected)


def test_a_node_of_three_sides_without_an_answer_goes_to_the_first() -> None:
    scores = decode(parse("m {a b c}"), [[np.nan] * 3, [-0.2, -0.2, -0.6]], "greedy")
    np.testing.assert_allclose(scores, [[1 / 3, 0, 0], [0.4, 0, 0]])
