from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.scheme import CodingMatrix, structure
from polytomy.scheme.code_checks import find_problems
from polytomy.scheme.codes import adjacent, exhaustive, one_vs_one, one_vs_rest, orthogonal
from strategies import coding_matrices

STRUCTURES = (
    "is_strict",
    "is_pairwise",
    "is_one_vs_one",
    "is_one_vs_rest",
    "is_equiangular",
    "is_adjacent",
    "is_tree",
    "is_determined",
    "rank",
    "minimum_distance",
    "mean_distance",
)

EIGHT_CLASS_TREE = [
    [-1, -1, -1, -1, 1, 1, 1, 1],
    [-1, -1, 1, 1, 0, 0, 0, 0],
    [-1, 1, 0, 0, 0, 0, 0, 0],
    [0, 0, -1, 1, 0, 0, 0, 0],
    [0, 0, 0, 0, -1, -1, 1, 1],
    [0, 0, 0, 0, -1, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, -1, 1],
]


def chain(n_classes):
    """Each class in turn against all that come after it."""
    matrix = np.triu(np.ones((n_classes - 1, n_classes), dtype=np.int8))
    np.fill_diagonal(matrix, -1)
    return matrix


@st.composite
def trees(draw, max_classes=9):
    """The matrix of a random binary tree, its rows in random order."""
    n_classes = draw(st.integers(2, max_classes))
    groups = [[column] for column in draw(st.permutations(range(n_classes)))]
    rows = []
    while len(groups) > 1:
        left = groups.pop(draw(st.integers(0, len(groups) - 1)))
        right = groups.pop(draw(st.integers(0, len(groups) - 1)))
        row = np.zeros(n_classes, dtype=np.int8)
        row[left], row[right] = -1, 1
        rows.append(row)
        groups.append(left + right)
    return np.array(draw(st.permutations(rows)))


standard_codes = st.builds(
    lambda design, n_classes: design(n_classes),
    st.sampled_from([one_vs_one, one_vs_rest, exhaustive, adjacent, orthogonal]),
    st.integers(2, 6),
)
codes = st.one_of(
    st.integers(2, 6).flatmap(coding_matrices), trees().map(CodingMatrix), standard_codes
)


@st.composite
def disguises(draw, code):
    """The same code with its rows and classes reordered and the signs of some rows flipped."""
    rows = draw(st.permutations(range(code.n_partitions)))
    columns = draw(st.permutations(range(code.n_classes)))
    signs = draw(
        st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)).map(np.array)
    )
    return CodingMatrix(signs[:, None] * code.matrix[rows][:, columns])


@settings(deadline=None)
@given(st.data())
def test_no_structure_depends_on_the_order_of_rows_and_classes_or_on_signs(data):
    code = data.draw(codes)
    other = data.draw(disguises(code))
    assert {name: getattr(code, name) for name in STRUCTURES} == {
        name: getattr(other, name) for name in STRUCTURES
    }
    assert sorted(map(len, code.repeated_rows)) == sorted(map(len, other.repeated_rows))


@settings(deadline=None)
@given(codes)
def test_no_structure_depends_on_the_blocks_it_is_found_in(code):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "_BLOCK_ENTRIES", 1)
        patch.setattr(structure, "_GRAM_ENTRIES", 1)
        in_small_blocks = CodingMatrix(code.matrix)
        found = {name: getattr(in_small_blocks, name) for name in STRUCTURES}
        repeated = in_small_blocks.repeated_rows
    assert found == {name: getattr(code, name) for name in STRUCTURES}
    assert repeated == code.repeated_rows


@pytest.mark.parametrize("n_classes", [3, 4, 5, 8])
@pytest.mark.parametrize(
    ("design", "expected"),
    [
        (one_vs_one, {"pairwise", "one_vs_one"}),
        (one_vs_rest, {"strict", "equiangular"}),
        (exhaustive, {"strict", "equiangular"}),
        (adjacent, {"strict", "adjacent"}),
        (orthogonal, {"strict", "equiangular"}),
    ],
)
def test_standard_codes_have_their_structures_and_no_others(design, n_classes, expected):
    code = design(n_classes)
    names = ("strict", "pairwise", "one_vs_one", "equiangular", "adjacent", "tree")
    assert {name for name in names if getattr(code, f"is_{name}")} == expected
    assert code.is_determined


# Pairs


def test_every_pair_may_come_more_than_once():
    twice = CodingMatrix(np.vstack([one_vs_one(4).matrix, -one_vs_one(4).matrix]))
    assert twice.is_one_vs_one


@given(codes)
def test_one_vs_rest_is_what_the_definition_says(code):
    alone = []
    for row in code.matrix:
        sides = [np.flatnonzero(row == sign).tolist() for sign in (1, -1)]
        is_whole = len(sides[0]) + len(sides[1]) == code.n_classes
        alone.append({side[0] for side in sides if len(side) == 1} if is_whole else set())
    # With two classes, both would be alone on their sides.
    is_expected = code.n_classes > 2 and sorted(map(sorted, alone)) == [
        [k] for k in range(code.n_classes)
    ]
    assert code.is_one_vs_rest == is_expected
    assert (code.single_classes is None) != is_expected


@given(st.data())
def test_one_vs_rest_is_found_in_any_disguise(data):
    code = data.draw(st.integers(3, 8).map(one_vs_rest).flatmap(disguises))
    classes, signs = code.single_classes
    for row, alone, sign in zip(code.matrix, classes, signs, strict=True):
        assert row[alone] == sign
        np.testing.assert_array_equal(np.delete(row, alone), -sign)
    assert sorted(classes) == list(range(code.n_classes))


@pytest.mark.parametrize(
    "matrix",
    [
        [[1, -1, -1], [-1, 1, -1]],  # no partition for the third class
        [[1, -1, -1], [-1, 1, -1], [-1, 1, -1]],  # one twice, one never
        [[1, -1, -1, -1], [-1, 1, -1, -1], [-1, -1, 1, -1], [-1, -1, 1, 1]],
        [[1, -1, -1], [-1, 1, -1], [-1, 0, 1]],
    ],
)
def test_a_code_that_does_not_have_each_class_against_all_others_once_is_not_one_vs_rest(matrix):
    assert not CodingMatrix(matrix).is_one_vs_rest


def test_repeated_pairs_do_not_make_up_for_a_missing_one():
    pairs = one_vs_one(4).matrix
    code = CodingMatrix(np.vstack([pairs[:5], -pairs[:5]]))
    assert code.is_pairwise
    assert not code.is_one_vs_one


# Equal angles


@given(codes)
def test_equiangular_is_what_the_formula_says(code):
    matrix = code.matrix.astype(int)
    products = matrix.T @ matrix
    between = {int(products[i, j]) for i, j in permutations(range(code.n_classes), 2)}
    if (matrix != 0).all() and len(between) == 1:
        diagonal, offset = code.equiangular
        assert np.array_equal(
            products, diagonal * np.eye(code.n_classes) + offset * np.ones_like(products)
        )
    else:
        assert code.equiangular is None


def test_the_angles_of_the_paper_s_codes():
    assert orthogonal(4).equiangular == (4, 0)
    assert one_vs_rest(5).equiangular == (4, 1)
    # Of the 7 rows over four classes two columns agree in 3.
    assert exhaustive(4).equiangular == (8, -1)


# Adjacent cuts


def is_adjacent_by_trial(matrix):
    """Whether in some order of the classes each row changes its sign once."""
    return any(
        (np.count_nonzero(np.diff(matrix[:, list(order)]), axis=1) == 1).all()
        for order in permutations(range(matrix.shape[1]))
    )


strict_codes = st.integers(2, 5).flatmap(
    lambda n: coding_matrices(n).filter(lambda code: bool(code.matrix.all()))
)


@settings(deadline=None)
@given(strict_codes)
def test_adjacent_is_found_exactly_where_some_order_is_cut_by_every_row(code):
    assert code.is_adjacent == is_adjacent_by_trial(code.matrix)


@given(st.data())
def test_an_adjacent_order_is_found_in_any_disguise(data):
    n_classes = data.draw(st.integers(2, 9))
    line = data.draw(st.permutations(range(n_classes)))
    extra = data.draw(st.lists(st.integers(0, n_classes - 2), max_size=4))
    cuts = data.draw(st.permutations([*range(n_classes - 1), *extra]))
    signs = [data.draw(st.sampled_from([-1, 1])) for _ in cuts]
    matrix = np.zeros((len(cuts), n_classes), dtype=np.int8)
    for row, (cut, sign) in enumerate(zip(cuts, signs, strict=True)):
        matrix[row, line[: cut + 1]] = -sign
        matrix[row, line[cut + 1 :]] = sign
    found = CodingMatrix(matrix).adjacent
    if line[0] > line[-1]:
        line = line[::-1]
        cuts = [n_classes - 2 - cut for cut in cuts]
        signs = [-sign for sign in signs]
    assert found.classes.tolist() == list(line)
    assert found.cuts.tolist() == list(cuts)
    assert found.signs.tolist() == signs
    assert (found.classes.dtype, found.cuts.dtype, found.signs.dtype) == (np.intp, np.intp, np.int8)


def test_the_adjacent_code_of_the_paper_has_its_own_order():
    found = adjacent(7).adjacent
    assert found.classes.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert found.cuts.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.signs.tolist() == [1] * 6


def test_one_row_that_is_not_a_cut_makes_a_code_not_adjacent():
    row = [[-1, 1, -1, 1, 1]]
    assert not CodingMatrix(np.vstack([adjacent(5).matrix, row])).is_adjacent


# Trees


def path_answers(shape, row):
    """The row of a tree's node, rebuilt from the shape alone."""
    values = {}
    for side, child in zip((-1, 1), shape.children[row], strict=True):
        waiting = [child]
        while waiting:
            node = waiting.pop()
            if node < 0:
                values[~node] = side
            else:
                waiting.extend(shape.children[node])
    return values


@given(trees())
def test_a_tree_is_found_in_any_order_of_its_rows(matrix):
    shape = CodingMatrix(matrix).tree
    for row, entries in enumerate(matrix):
        assert path_answers(shape, row) == {j: a for j, a in enumerate(entries.tolist()) if a}
    assert sorted(shape.order.tolist()) == list(range(len(matrix)))
    place = {row: position for position, row in enumerate(shape.order.tolist())}
    for row, (left, right) in enumerate(shape.children.tolist()):
        # In preorder the −1 child follows at once, and all of its side precedes the +1 child.
        if left >= 0:
            assert place[left] == place[row] + 1
        if right >= 0:
            inner_rows_left = np.count_nonzero(matrix[row] == -1) - 1
            assert place[right] == place[row] + 1 + inner_rows_left


def is_tree_by_definition(rows, classes):
    if not rows:
        return len(classes) == 1
    for root in rows:
        sides = [frozenset(np.flatnonzero(np.array(root) == sign)) for sign in (-1, 1)]
        if sides[0] | sides[1] == classes:
            rest = [row for row in rows if row is not root]
            below = [[row for row in rest if set(np.flatnonzero(row)) <= side] for side in sides]
            return len(below[0]) + len(below[1]) == len(rest) and all(
                is_tree_by_definition(part, side) for part, side in zip(below, sides, strict=True)
            )
    return False


@given(st.data())
def test_a_changed_tree_is_a_tree_exactly_if_it_meets_the_definition(data):
    matrix = data.draw(trees(max_classes=6)).copy()
    for _ in range(data.draw(st.integers(1, 2))):
        row = data.draw(st.integers(0, len(matrix) - 1))
        column = data.draw(st.integers(0, matrix.shape[1] - 1))
        matrix[row, column] = data.draw(st.integers(-1, 1))
    is_sound = not find_problems(matrix)
    rows = [tuple(row) for row in matrix.tolist()]
    expected = is_tree_by_definition(rows, frozenset(range(matrix.shape[1])))
    if is_sound:
        assert CodingMatrix(matrix).is_tree == expected
    else:
        assert not expected


def test_the_tree_of_the_paper():
    code = CodingMatrix(EIGHT_CLASS_TREE)
    assert code.tree.children.tolist() == [
        [1, 4],
        [2, 3],
        [~0, ~1],
        [~2, ~3],
        [5, 6],
        [~4, ~5],
        [~6, ~7],
    ]
    assert code.tree.order.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert code.is_determined
    assert code.rank == 7


def test_a_chain_a_thousand_deep_is_a_tree():
    generator = np.random.default_rng(5)
    rows = generator.permutation(999)
    columns = generator.permutation(1000)
    code = CodingMatrix(chain(1000)[rows][:, columns])
    depth_of_row = rows[code.tree.order]
    assert depth_of_row.tolist() == list(range(999))
    assert code.rank == 999


def test_a_tree_needs_one_row_less_than_classes():
    assert not CodingMatrix(np.vstack([chain(4), chain(4)[-1:]])).is_tree


def test_as_many_rows_as_a_tree_has_are_not_always_a_tree():
    # Two rows divide all classes, so neither is below the other.
    assert not CodingMatrix([[-1, -1, 1, 1], [-1, 1, 0, 0], [1, -1, 1, -1]]).is_tree
    # The second row takes a part of either side of the first.
    assert not CodingMatrix([[-1, -1, 1, 1], [-1, 0, 1, 0], [0, -1, 0, 1]]).is_tree


# Distances and repetitions


@given(codes)
def test_distances_are_those_of_the_definition(code):
    distances = [
        sum(0.5 if 0 in (a, b) else float(a != b) for a, b in zip(one, other, strict=True))
        for one, other in combinations(code.matrix.T.tolist(), 2)
    ]
    assert code.minimum_distance == min(distances)
    assert code.mean_distance == pytest.approx(np.mean(distances), rel=1e-12)


@pytest.mark.parametrize("n_classes", [50, 60])
def test_the_distances_of_one_vs_one_are_half_its_partitions(n_classes):
    code = one_vs_one(n_classes)
    # Two classes share no more than their own pair, which is 1 of all; every other row counts 1/2.
    assert code.minimum_distance == (code.n_partitions + 1) / 2
    assert code.mean_distance == (code.n_partitions + 1) / 2


@given(codes)
def test_repeated_rows_are_those_equal_or_complementary(code):
    matrix = code.matrix.astype(int)
    expected = {
        (i, j)
        for i, j in combinations(range(code.n_partitions), 2)
        if (matrix[i] == matrix[j]).all() or (matrix[i] == -matrix[j]).all()
    }
    found = {pair for group in code.repeated_rows for pair in combinations(group, 2)}
    assert found == expected
    assert list(code.repeated_rows) == sorted(code.repeated_rows)


def test_rows_that_differ_in_a_zero_are_not_repeated():
    code = CodingMatrix([[-1, 1, 1], [-1, 1, 0], [-1, 0, 1], [1, -1, 0]])
    assert code.repeated_rows == ((1, 3),)


def test_the_pairs_of_a_code_are_kept_and_cannot_be_changed():
    code = CodingMatrix([[-1, 1, 0], [1, 0, -1], [0, 1, -1]])
    negative, positive = code.pairs
    assert negative.tolist() == [0, 2, 2]
    assert positive.tolist() == [1, 0, 1]
    assert code.pairs[0] is negative
    assert not negative.flags.writeable
    assert CodingMatrix([[-1, 1, 1], [0, -1, 1]]).pairs is None
