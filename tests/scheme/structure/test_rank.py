from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from polytomy.scheme.codes import orthogonal
from polytomy.scheme.structure import count_components, find_undetermined, matrix_rank
from strategies import coding_matrices

any_signs = arrays(
    np.int8, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(-1, 1)
)


def reduce_exactly(rows):
    """Reduced row echelon form in fractions, and its pivots."""
    rows = [[Fraction(value) for value in row] for row in rows]
    pivots = []
    for column in range(len(rows[0])):
        rank = len(pivots)
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [value / rows[rank][column] for value in rows[rank]]
        for i, row in enumerate(rows):
            if i != rank:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[rank], strict=True)]
        pivots.append(column)
    return rows[: len(pivots)], pivots


def undetermined_exactly(matrix, probabilities):
    """Columns of the kernel of [A − diag(r)|A|; 1ᵀ] at the r of the given probabilities."""
    system = [[1] * matrix.shape[1]]
    for row in matrix.tolist():
        above = sum(a * p for a, p in zip(row, probabilities, strict=True))
        below = sum(abs(a) * p for a, p in zip(row, probabilities, strict=True))
        system.append([a - Fraction(above, below) * abs(a) for a in row])
    reduced, pivots = reduce_exactly(system)
    free = [column for column in range(matrix.shape[1]) if column not in pivots]
    followers = [
        pivot
        for row, pivot in zip(reduced, pivots, strict=True)
        if any(row[column] for column in free)
    ]
    return tuple(sorted(free + followers))


@settings(deadline=None)
@given(any_signs)
def test_rank_is_that_of_exact_elimination(matrix):
    assert matrix_rank(matrix) == len(reduce_exactly(matrix.tolist())[1])


@st.composite
def loose_codes(draw):
    """Codes with few rows, many of which leave something open."""
    code = draw(st.integers(2, 6).flatmap(coding_matrices))
    kept = draw(st.lists(st.integers(0, code.n_partitions - 1), min_size=1, unique=True))
    return code.matrix[kept]


@settings(deadline=None)
@given(loose_codes(), st.integers(0, 2**32))
def test_undetermined_classes_are_those_of_the_exact_system_at_random_probabilities(matrix, seed):
    generator = np.random.default_rng(seed)
    probabilities = generator.integers(1, 2**40, size=matrix.shape[1]).tolist()
    assert find_undetermined(matrix) == undetermined_exactly(matrix, probabilities)


def test_a_class_can_be_determined_when_others_are_not():
    # Class 0 against all others is known; nothing tells 1 and 2 from 3 and 4 apart any further.
    matrix = np.array([[-1, 1, 1, 1, 1], [0, -1, 1, 0, 0], [0, 0, 0, -1, 1]], dtype=np.int8)
    assert find_undetermined(matrix) == (1, 2, 3, 4)


def test_too_few_rows_cannot_determine():
    # Four classes, two rows: the two halves of the classes twice.
    matrix = np.array([[-1, -1, 1, 1], [-1, 1, -1, 1]], dtype=np.int8)
    assert find_undetermined(matrix) == (0, 1, 2, 3)


@pytest.mark.parametrize("size", [3, 60, 300])
def test_the_triangle_of_a_chain_has_full_rank(size):
    # Its determinant is ±1, but its smallest singular value about 2 to the power −size.
    triangle = np.triu(np.ones((size, size), dtype=np.int8)) - 2 * np.eye(size, dtype=np.int8)
    assert matrix_rank(triangle) == size


def test_rows_are_found_among_many_copies_of_others():
    # The rows that complete the rank are one in a thousand.
    matrix = np.vstack([np.repeat(orthogonal(16).matrix[:4], 3000, axis=0), orthogonal(16).matrix])
    assert matrix_rank(matrix) == 16
    assert find_undetermined(matrix) == ()
    assert matrix_rank(matrix[:12000]) == 4


@given(st.integers(2, 8), st.data())
def test_components_are_those_of_the_graph_of_pairs(n_classes, data):
    pairs = data.draw(
        st.lists(
            st.lists(st.integers(0, n_classes - 1), min_size=2, max_size=2, unique=True), min_size=1
        )
    )
    matrix = np.zeros((len(pairs), n_classes), dtype=np.int8)
    group_of = list(range(n_classes))
    for row, (one, other) in enumerate(pairs):
        matrix[row, [one, other]] = -1, 1
        joined = (group_of[one], group_of[other])
        group_of = [joined[0] if group in joined else group for group in group_of]
    assert count_components(matrix) == len(set(group_of))
    # The rank of a graph's incidence matrix.
    assert matrix_rank(matrix) == n_classes - len(set(group_of))
