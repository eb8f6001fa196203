import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.scheme.coding_matrix import CodingMatrix, rows_of_sides, side_distances, sides_of_rows
from strategies import sided_codes

codes = st.integers(2, 7).flatmap(sided_codes)


@given(codes)
def test_the_sides_of_the_rows_of_sides_are_the_sides(code):
    matrix, counts = rows_of_sides(code.sides)
    assert np.array_equal(matrix, code.matrix)
    assert np.array_equal(sides_of_rows(matrix, counts), code.sides)


@given(codes)
def test_a_row_has_one_side_against_the_others(code):
    for row, partition in zip(code.matrix, code.partition_of_row, strict=True):
        sides = code.sides[partition]
        (own,) = set(sides[row == 1].tolist())
        assert (row == np.where(sides < 0, 0, np.where(sides == own, 1, -1))).all()


@given(codes)
def test_distances_count_the_partitions_that_separate_two_classes(code):
    distances = []
    for i in range(code.n_classes):
        for j in range(i):
            pairs = [(a, b) for a, b in code.sides[:, [i, j]].tolist()]
            distances.append(sum(0.5 if -1 in pair else pair[0] != pair[1] for pair in pairs))
    assert side_distances(code.sides) == (min(distances), np.mean(distances))
    assert (code.minimum_distance, code.mean_distance) == (min(distances), np.mean(distances))


@given(codes, st.randoms())
def test_the_order_of_sides_does_not_change_the_structure(code, random):
    orders = [random.sample(range(n), n) for n in code.n_sides.tolist()]
    sides = [
        [-1 if side < 0 else order[side] for side in row]
        for row, order in zip(code.sides.tolist(), orders, strict=True)
    ]
    other = CodingMatrix.from_sides(sides)
    assert other.rank == code.rank
    assert other.is_tree == code.is_tree
    assert other.undetermined == code.undetermined
    assert other.minimum_distance == code.minimum_distance
