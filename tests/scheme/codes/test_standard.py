from itertools import combinations

import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import (
    adjacent,
    chain,
    direct,
    exhaustive,
    one_vs_one,
    one_vs_rest,
)


def backward_chain(n_classes):
    return chain(n_classes, direction="backward")


DESIGNS = [one_vs_one, one_vs_rest, exhaustive, adjacent, chain, backward_chain]


def test_one_vs_one_of_four_is_the_paper_s():
    assert one_vs_one(4).matrix.tolist() == [
        [-1, 1, 0, 0],
        [-1, 0, 1, 0],
        [-1, 0, 0, 1],
        [0, -1, 1, 0],
        [0, -1, 0, 1],
        [0, 0, -1, 1],
    ]


def test_one_vs_rest_of_four_is_the_paper_s():
    assert one_vs_rest(4).matrix.tolist() == [
        [1, -1, -1, -1],
        [-1, 1, -1, -1],
        [-1, -1, 1, -1],
        [-1, -1, -1, 1],
    ]


def test_exhaustive_of_four_is_the_paper_s():
    assert exhaustive(4).matrix.tolist() == [
        [-1, 1, 1, 1],
        [1, -1, 1, 1],
        [-1, -1, 1, 1],
        [1, 1, -1, 1],
        [-1, 1, -1, 1],
        [1, -1, -1, 1],
        [-1, -1, -1, 1],
    ]


def test_adjacent_of_seven_is_the_paper_s():
    assert adjacent(7).matrix.tolist() == [
        [-1, 1, 1, 1, 1, 1, 1],
        [-1, -1, 1, 1, 1, 1, 1],
        [-1, -1, -1, 1, 1, 1, 1],
        [-1, -1, -1, -1, 1, 1, 1],
        [-1, -1, -1, -1, -1, 1, 1],
        [-1, -1, -1, -1, -1, -1, 1],
    ]


@pytest.mark.parametrize("n_classes", range(2, 30))
def test_a_chain_compares_each_class_with_all_after_it_or_all_before_it(n_classes):
    sides = [
        ([j for j, value in enumerate(row) if value < 0], [j for j, v in enumerate(row) if v > 0])
        for row in chain(n_classes).matrix.tolist()
    ]
    assert sides == [([i], list(range(i + 1, n_classes))) for i in range(n_classes - 1)]
    sides = [
        ([j for j, value in enumerate(row) if value < 0], [j for j, v in enumerate(row) if v > 0])
        for row in backward_chain(n_classes).matrix.tolist()
    ]
    assert sides == [(list(range(i)), [i]) for i in range(n_classes - 1, 0, -1)]


@pytest.mark.parametrize("design", [chain, backward_chain])
@pytest.mark.parametrize("n_classes", range(1, 12))
def test_a_chain_is_a_tree_whose_rows_go_from_the_root_down(design, n_classes):
    code = design(n_classes)
    assert code.is_tree
    assert code.is_determined
    sizes = np.count_nonzero(code.matrix, axis=1).tolist()
    assert sizes == list(range(n_classes, 1, -1))
    # Each row has one class that no later row has.
    assert all(
        np.count_nonzero(np.any(code.matrix[row:] != 0, axis=0)) == sizes[row]
        for row in range(n_classes - 1)
    )


@pytest.mark.parametrize(
    ("direction", "shown"), [("up", '"up"'), (None, "None"), (["forward"], "['forward']")]
)
def test_a_chain_of_an_unknown_direction_is_refused(direction, shown):
    with pytest.raises(ArgumentError) as caught:
        chain(4, direction=direction)
    assert str(caught.value) == f'direction={shown} is unknown. Use "forward" or "backward".'


@pytest.mark.parametrize("n_classes", range(2, 30))
def test_one_vs_one_has_each_pair_once_in_lexicographic_order(n_classes):
    matrix = one_vs_one(n_classes).matrix
    pairs = [(row.tolist().index(-1), row.tolist().index(1)) for row in matrix]
    assert pairs == list(combinations(range(n_classes), 2))
    assert np.count_nonzero(matrix) == 2 * len(pairs)


@pytest.mark.parametrize("n_classes", range(1, 12))
def test_exhaustive_has_each_partition_once(n_classes):
    code = exhaustive(n_classes)
    assert code.n_partitions == 2 ** (n_classes - 1) - 1
    assert code.is_strict
    assert code.repeated_rows == ()


@pytest.mark.parametrize("design", DESIGNS)
def test_a_single_class_gets_no_partition(design):
    assert design(1) == CodingMatrix(np.empty((0, 1)))


@pytest.mark.parametrize("design", DESIGNS)
def test_numpy_integers_count_too(design):
    assert design(np.int16(5)) == design(5)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_classes", [0, -3])
def test_too_few_classes_are_refused(design, n_classes):
    with pytest.raises(ArgumentError, match=rf"n_classes={n_classes} is too few. Use 1 or more."):
        design(n_classes)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_classes", [4.0, "4", None, True, [4]])
def test_numbers_of_classes_that_are_not_whole_are_refused(design, n_classes):
    with pytest.raises(ArgumentError, match=r"is not a whole number\. Use 1 or more\."):
        design(n_classes)


@pytest.mark.parametrize("n_classes", [21, 64])
def test_exhaustive_past_twenty_classes_names_the_count_it_would_need(n_classes):
    needed = f"{2 ** (n_classes - 1) - 1:,}"
    with pytest.raises(ArgumentError, match=f"{n_classes} classes has {needed} partitions") as e:
        exhaustive(n_classes)
    assert "the limit is 20 classes (524,287 partitions)" in str(e.value)
    assert "Use an orthogonal or a random code." in str(e.value)


def test_a_count_too_long_to_print_is_a_power():
    with pytest.raises(ArgumentError, match=r"1000 classes has 2\*\*999 - 1 partitions"):
        exhaustive(1000)


def test_exhaustive_of_twenty_classes_is_allowed():
    code = exhaustive(20)
    assert code.shape == (2**19 - 1, 20)
    # Two of n columns agree in 2 to the power n − 2, less the constant row.
    assert code.equiangular == (2**19, -1)


@pytest.mark.parametrize(
    ("design", "n_classes", "words"),
    [
        (one_vs_one, 1025, "one-vs-one of 1,025 classes has 524,800 partitions"),
        (one_vs_rest, 10**6, "one-vs-rest of 1,000,000 classes"),
        (adjacent, 10**6, "an adjacent code of 1,000,000 classes has 999,999 partitions"),
        (chain, 10**6, "a chain of 1,000,000 classes has 999,999 partitions"),
    ],
)
def test_codes_past_the_limit_are_refused_before_they_are_made(design, n_classes, words):
    with pytest.raises(ArgumentError, match=words) as caught:
        design(n_classes)
    assert "a coding matrix has at most 536,870,912" in str(caught.value)


@pytest.mark.parametrize("make", [one_vs_one, one_vs_rest, adjacent])
def test_small_codes_are_made_once(make):
    assert make(5) is make(np.int64(5))
    assert make(40) is not make(40)
    assert make(40) == make(40)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_direct_partition_has_a_side_for_each_class(n_classes):
    code = direct(n_classes)
    assert code.sides.tolist() == [list(range(n_classes))]
    assert code.is_tree
    assert code.is_binary == (n_classes == 2)
    assert direct(1).shape == (0, 1)
