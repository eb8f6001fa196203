"""The codes of the designs, against formulas and enumerations that share no code with them."""

from itertools import combinations, product
from math import ceil, comb, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import designs
from polytomy.errors import ArgumentError, CodeError, SchemeError
from polytomy.scheme import CodingMatrix, parse
from polytomy.solvers import solve
from strategies import coding_matrices

SEEDED = {
    "orthogonal": designs.orthogonal,
    "strict": designs.random_code,
    "ternary": lambda classes, **options: designs.random_code(classes, ternary=True, **options),
}


def matrix_of(scheme):
    return scheme.code.matrix.astype(int)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7, 30])
def test_one_vs_one_has_every_pair_once_with_the_first_class_negative(n_classes):
    scheme = designs.one_vs_one(n_classes)
    sides = [(partition.negative, partition.positive) for partition in scheme.partitions]
    assert sides == [((i,), (j,)) for i, j in combinations(range(n_classes), 2)]


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7, 30])
def test_one_vs_rest_has_its_class_on_the_right(n_classes):
    assert (matrix_of(designs.one_vs_rest(n_classes)) == 2 * np.eye(n_classes) - 1).all()


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7, 30])
def test_adjacent_is_the_matrix_of_the_paper(n_classes):
    # a_ij = −1 for j ≤ i, +1 for j > i
    rows = [[-1 if j <= i else 1 for j in range(n_classes)] for i in range(n_classes - 1)]
    assert matrix_of(designs.adjacent(n_classes)).tolist() == rows


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7, 30])
def test_a_chain_is_the_tree_that_splits_off_one_class_at_a_time(n_classes):
    first_classes, last_classes = 0, 0
    for i in range(1, n_classes):
        first_classes = [n_classes - 1 - i, first_classes if i > 1 else n_classes - 1]
        last_classes = [last_classes, i]
    for chain, tree in (
        (designs.chain(n_classes), designs.from_tree(first_classes)),
        (designs.chain(n_classes, direction="backward"), designs.from_tree(last_classes)),
    ):
        flat = tree.flatten()
        order = [flat.classes.index(label) for label in chain.classes]
        assert matrix_of(flat)[:, order].tolist() == matrix_of(chain).tolist()


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_probabilities_of_a_chain_are_products(n_classes, seed):
    answers = np.random.default_rng(seed).uniform(-1, 1, (3, n_classes - 1))
    proba = np.ones((3, n_classes))
    for row in range(n_classes - 1):
        proba[:, row] *= (1 - answers[:, row]) / 2
        proba[:, row + 1 :] *= ((1 + answers[:, row]) / 2)[:, np.newaxis]
    np.testing.assert_allclose(solve(designs.chain(n_classes), answers), proba, atol=1e-14)
    # From the other end, with the sides exchanged.
    backward = solve(designs.chain_backward(n_classes), -answers)
    np.testing.assert_allclose(backward[:, ::-1], proba, atol=1e-14)


def test_the_direction_of_a_chain_may_be_in_its_name():
    backward = designs.chain(5, direction="backward", name="land")
    assert designs.chain_backward(5, name="land") == backward
    assert designs.chain(5, name="land") == designs.chain(5, direction="forward", name="land")
    with pytest.raises(ArgumentError, match='direction="up" is unknown'):
        designs.chain(5, direction="up")


@pytest.mark.parametrize("n_classes", [2, 3, 4, 8])
def test_exhaustive_has_every_dichotomy_once(n_classes):
    rows = [tuple(row) for row in matrix_of(designs.exhaustive(n_classes)).tolist()]
    up_to_sign = {max(row, tuple(-value for value in row)) for row in rows}
    every = {row for row in product([-1, 1], repeat=n_classes) if len(set(row)) == 2}
    assert len(rows) == len(up_to_sign) == len(every) // 2 == 2 ** (n_classes - 1) - 1
    assert up_to_sign == {max(row, tuple(-value for value in row)) for row in every}


@pytest.mark.parametrize(
    ("n_classes", "words"),
    [(21, "21 classes has 1,048,575 partitions"), (1000, r"1000 classes has 2\*\*999 - 1")],
)
def test_an_exhaustive_code_that_is_too_large_says_how_large(n_classes, words):
    with pytest.raises(ArgumentError, match=words) as caught:
        designs.exhaustive(n_classes)
    assert (
        "the limit is 20 classes (524,287 partitions). Use an orthogonal or a random code."
        in str(caught.value)
    )


@given(st.integers(4, 60), st.integers(0, 2**32 - 1))
def test_orthogonal_columns_are_orthogonal_and_no_row_is_constant(n_classes, seed):
    matrix = matrix_of(designs.orthogonal(n_classes, random_state=seed))
    n_rows = len(matrix)
    assert (matrix.T @ matrix == n_rows * np.eye(n_classes)).all()
    assert (np.abs(matrix.sum(axis=1)) < n_classes).all()
    # Hadamard matrices have orders of 4k; up to 60 only that of 52 is not built.
    assert n_classes <= n_rows < n_classes + 8
    assert n_rows % 4 == 0


@pytest.mark.parametrize(("n_classes", "n_rows"), [(2, 1), (3, 3)])
def test_two_and_three_classes_are_equiangular(n_classes, n_rows):
    matrix = matrix_of(designs.orthogonal(n_classes))
    products = matrix.T @ matrix
    assert len(matrix) == n_rows
    assert len({int(products[i, j]) for i, j in combinations(range(n_classes), 2)}) == 1


@pytest.mark.parametrize("n_classes", [4, 10, 26, 100])
def test_random_codes_have_the_length_of_the_literature(n_classes):
    strict = designs.random_code(n_classes, random_state=0)
    ternary = designs.random_code(n_classes, ternary=True, random_state=0)
    all_strict = 2 ** (n_classes - 1) - 1
    all_ternary = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    assert strict.n_partitions == min(ceil(10 * log2(n_classes)), all_strict)
    assert ternary.n_partitions == min(ceil(15 * log2(n_classes)), all_ternary)


def test_a_ternary_code_leaves_out_about_half():
    assert np.count_nonzero(matrix_of(designs.random_code(50, random_state=0)) == 0) == 0
    ternary = matrix_of(designs.random_code(50, ternary=True, random_state=0))
    # 85 × 50 entries: the share has a standard deviation of 0.008.
    assert abs(np.mean(ternary == 0) - 0.5) < 0.04


@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans(), st.data())
def test_a_random_code_of_any_length_tells_all_classes_apart(n_classes, seed, ternary, data):
    fewest = (n_classes - 1).bit_length()
    most = 2 ** (n_classes - 1) - 1
    rows = data.draw(st.integers(fewest, min(most, 20)))
    scheme = designs.random_code(n_classes, n_partitions=rows, ternary=ternary, random_state=seed)
    columns = {tuple(column) for column in scheme.code.matrix.T.tolist()}
    assert (scheme.n_partitions, len(columns)) == (rows, n_classes)
    assert scheme.code.repeated_rows == ()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (2, "n_partitions=2 is too few to separate 8 classes. Use 3 or more."),
        (
            128,
            "n_partitions=128 is too many; 8 classes have only 127 partitions. Use 127 or fewer.",
        ),
        (2.5, "n_partitions=2.5 is not a whole number"),
    ],
)
def test_a_random_code_of_impossible_length_is_refused(rows, words):
    with pytest.raises(ArgumentError, match=words):
        designs.random_code(8, n_partitions=rows)


@pytest.mark.parametrize("draw", SEEDED.values(), ids=SEEDED)
def test_the_same_seed_gives_the_same_code(draw):
    first = draw(9, random_state=7)
    assert draw(9, random_state=7) == first
    assert draw(9, random_state=np.random.default_rng(7)) == first
    legacy = [draw(9, random_state=np.random.RandomState(7)) for _ in range(2)]
    assert legacy[0] == legacy[1]
    assert any(draw(9, random_state=seed) != first for seed in range(8, 12))


def test_orthogonal_without_a_seed_is_always_the_same():
    assert designs.orthogonal(9) == designs.orthogonal(9)


@pytest.mark.parametrize("draw", SEEDED.values(), ids=SEEDED)
@pytest.mark.parametrize(
    ("seed", "words"), [(-1, "random_state=-1 is negative"), ("x", "must be a whole number")]
)
def test_invalid_seeds_are_refused(draw, seed, words):
    with pytest.raises(ArgumentError, match=words):
        draw(5, random_state=seed)


@pytest.mark.parametrize(
    ("make", "base"),
    [
        (designs.one_vs_one, "one-vs-one"),
        (designs.one_vs_rest, "one-vs-rest"),
        (designs.exhaustive, "exhaustive"),
        (designs.adjacent, "adjacent"),
        (designs.chain, "chain"),
        (designs.chain_backward, "chain-backward"),
        (designs.orthogonal, "orthogonal"),
        (designs.random_code, "random"),
    ],
)
def test_binaries_are_numbered_under_the_name(make, base):
    for name, scheme in ((base, make(4)), ("land", make(4, name="land"))):
        numbers = [f"{name}-{row:02d}" for row in range(scheme.n_partitions)]
        assert [str(partition.binary) for partition in scheme.partitions] == numbers


def test_a_hundred_binaries_and_more_have_longer_numbers():
    names = [str(partition.binary) for partition in designs.one_vs_one(15).partitions]
    assert names[99:101] == ["one-vs-one-99", "one-vs-one-100"]
    assert len(set(names)) == comb(15, 2)


@pytest.mark.parametrize("name", ["a b", "@x", 'a"', "a;", "a{", "#", "\x00", "a\ud800"])
def test_a_name_that_cannot_be_written_is_refused(name):
    with pytest.raises(SchemeError, match="has a binary"):
        designs.one_vs_one(3, name=name)


@given(st.integers(2, 6).flatmap(coding_matrices))
def test_from_matrix_keeps_the_matrix(code):
    scheme = designs.from_matrix(code)
    assert scheme.code is code
    assert scheme.classes == tuple(range(code.n_classes))
    assert designs.from_matrix(code.matrix.tolist()) == scheme
    assert designs.from_matrix(code.matrix.astype(float)) == scheme
    labels = [f"class {index}" for index in range(code.n_classes)]
    labelled = designs.from_matrix(code, labels, name="own")
    assert labelled.classes == tuple(labels)
    assert str(labelled.partitions[0].binary).startswith("own-0")


def test_from_matrix_of_one_class_has_no_partition():
    assert designs.from_matrix(np.empty((0, 1), dtype=int), ["corn"]) == parse("corn")


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[-1, 1, 1]], "classes 1 and 2 have equal columns"),
        ([[1, 1]], "partition 0 has no class on its -1 side"),
        ([[-1, 1, 0]], "class 2 is in no partition"),
        ([[-1, 2]], "partition 0 gives class 1 the value 2, not -1, 0 or 1"),
        ([-1, 1], "a coding matrix has two dimensions"),
    ],
)
def test_a_matrix_that_means_nothing_is_refused(matrix, words):
    with pytest.raises(CodeError, match=words):
        designs.from_matrix(matrix)


def test_from_matrix_needs_a_label_for_every_column():
    with pytest.raises(ArgumentError, match="the matrix has 2 columns, but there are 1 classes"):
        designs.from_matrix(CodingMatrix([[-1, 1]]), ["a"])


def test_a_code_over_the_limit_is_refused_before_it_is_made():
    with pytest.raises(ArgumentError, match=r"499,999,500,000 partitions.*Divide the classes"):
        designs.one_vs_one(10**6)


def test_a_random_ternary_code_is_a_random_code_with_zeros():
    scheme = designs.random_ternary(6, n_partitions=9, random_state=2, name="land")
    expected = designs.random_code(6, n_partitions=9, ternary=True, random_state=2, name="land")
    assert scheme == expected
    assert not scheme.code.is_strict
