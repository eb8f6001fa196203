import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.errors import CodeError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import (
    adjacent,
    direct,
    exhaustive,
    one_vs_one,
    one_vs_rest,
    orthogonal,
)
from polytomy.scheme.structure import find_undetermined, matrix_rank
from strategies import coding_matrices

codes = st.integers(2, 6).flatmap(coding_matrices)


def test_the_matrix_is_a_copy():
    source = np.array([[-1, 1]], dtype=np.int8)
    code = CodingMatrix(source)
    source[0, 0] = 1
    assert code.matrix.tolist() == [[-1, 1]]


def test_the_matrix_cannot_be_written_nor_made_writeable():
    code = CodingMatrix([[-1, 1]])
    with pytest.raises(ValueError, match="read-only"):
        code.matrix[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        code.matrix.flags.writeable = True


@pytest.mark.parametrize("name", ["matrix", "is_strict", "n_classes", "rank", "anything"])
def test_no_attribute_can_be_set_or_deleted(name):
    code = CodingMatrix([[-1, 1]])
    with pytest.raises(AttributeError, match=f"cannot assign to field '{name}'"):
        setattr(code, name, None)
    with pytest.raises(AttributeError, match=f"cannot delete field '{name}'"):
        delattr(code, name)
    assert code.matrix.tolist() == [[-1, 1]]


def test_structures_cannot_be_written():
    code = adjacent(3)
    for array in (*code.adjacent, *one_vs_one(2).tree):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_shape_and_counts_agree():
    code = one_vs_one(4)
    assert (code.n_partitions, code.n_classes) == code.shape == code.matrix.shape == (6, 4)


@given(codes, codes)
def test_codes_are_equal_exactly_if_their_matrices_are(one, other):
    same = one.matrix.tolist() == other.matrix.tolist()
    assert (one == other) is same
    assert one == CodingMatrix(one.matrix.astype(float))
    assert hash(one) == hash(CodingMatrix(one.matrix.tolist()))
    assert len({one, other}) == (1 if same else 2)


def test_codes_equal_nothing_else():
    assert CodingMatrix([[-1, 1]]) != "a code"
    assert CodingMatrix([[-1, 1]]) != CodingMatrix([[-1, 1], [1, -1]])


@given(codes)
def test_pickling_and_copying_give_the_same_frozen_code(code):
    assert code.is_strict in (True, False)  # something is cached before the pickling
    for other in (pickle.loads(pickle.dumps(code)), copy.copy(code), copy.deepcopy(code)):
        assert other == code
        assert not other.matrix.flags.writeable


def test_the_representation_is_short():
    assert repr(one_vs_one(100)) == "CodingMatrix(4950 partitions, 100 classes)"
    assert repr(one_vs_one(2)) == "CodingMatrix(1 partition, 2 classes)"
    assert repr(one_vs_one(1)) == "CodingMatrix(0 partitions, 1 class)"


def test_numpy_functions_accept_a_code():
    code = CodingMatrix([[-1, 1, 0], [0, -1, 1]])
    assert np.asarray(code) is code.matrix
    assert np.array(code).flags.writeable
    assert np.asarray(code, dtype=float).dtype == float
    assert (np.abs(code).sum(axis=1) == 2).all()
    assert (code @ np.array([1.0, 2.0, 4.0])).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        code.__array__(np.float64, copy=False)
    assert CodingMatrix(code) == code


def test_a_single_class_has_every_structure():
    code = CodingMatrix(np.empty((0, 1)))
    assert code.shape == (0, 1)
    assert code.is_strict
    assert code.is_pairwise
    assert code.is_one_vs_one
    assert code.is_equiangular
    assert code.is_adjacent
    assert code.is_tree
    assert code.is_determined
    assert code.undetermined == ()
    assert code.rank == 0
    assert (code.minimum_distance, code.mean_distance) == (0.0, 0.0)
    assert code.repeated_rows == ()
    assert code.equiangular.diagonal + code.equiangular.offset == 0 < code.equiangular.diagonal
    assert [array.tolist() for array in code.adjacent] == [[0], [], []]
    assert code.tree.children.shape == (0, 2)
    assert code.tree.order.shape == (0,)


def test_two_classes_have_every_structure():
    code = CodingMatrix([[-1, 1]])
    assert code.is_strict
    assert code.is_pairwise
    assert code.is_one_vs_one
    assert code.equiangular == (2, -1)
    assert [array.tolist() for array in code.adjacent] == [[0, 1], [0], [1]]
    assert [array.tolist() for array in code.tree] == [[[-1, -2]], [0]]
    assert code.rank == 1
    assert code.is_determined
    assert code.minimum_distance == code.mean_distance == 1.0


def test_two_classes_separated_twice_are_not_a_tree():
    code = CodingMatrix([[-1, 1], [1, -1]])
    assert code.is_one_vs_one
    assert code.equiangular == (4, -2)
    assert [array.tolist() for array in code.adjacent] == [[0, 1], [0, 0], [1, -1]]
    assert not code.is_tree
    assert code.repeated_rows == ((0, 1),)
    assert code.rank == 1


@settings(deadline=None)
@given(st.integers(1, 9), st.sampled_from([one_vs_one, one_vs_rest, exhaustive, adjacent]))
def test_short_cuts_agree_with_elimination(n_classes, design):
    code = design(n_classes)
    assert code.rank == matrix_rank(code.matrix)
    assert code.undetermined == find_undetermined(code.matrix) == ()


@settings(deadline=None)
@given(codes)
def test_rank_and_undetermined_classes_do_not_depend_on_the_way_they_are_found(code):
    assert code.rank == matrix_rank(code.matrix)
    assert code.undetermined == find_undetermined(code.matrix)


def test_one_vs_rest_loses_a_rank_only_at_two_classes():
    # Its eigenvalues are 2 and 2 − n_classes.
    assert [one_vs_rest(n).rank for n in (2, 3, 4, 50)] == [1, 3, 4, 50]


def test_the_paper_counts_an_orthogonal_code_as_full_rank():
    assert orthogonal(12).rank == 12


def test_pairs_in_two_groups_determine_no_class():
    # Each group is a triangle: answers that contradict each other would hide that it is open.
    triangle = one_vs_one(3).matrix
    nothing = np.zeros_like(triangle)
    code = CodingMatrix(np.block([[triangle, nothing], [nothing, triangle]]))
    assert code.is_pairwise
    assert not code.is_one_vs_one
    assert not code.is_determined
    assert code.undetermined == (0, 1, 2, 3, 4, 5)
    assert code.undetermined == find_undetermined(code.matrix)
    assert code.rank == 4


def test_row_lists_hold_the_entries_that_are_not_zero():
    starts, classes, signs = CodingMatrix([[1, 0, -1], [-1, 1, 0]]).row_lists
    assert (starts.tolist(), classes.tolist()) == ([0, 2, 4], [0, 2, 0, 1])
    assert signs.tolist() == [1.0, -1.0, -1.0, 1.0]


def test_rows_of_one_partition_are_one_side_against_the_others():
    with pytest.raises(CodeError, match="rows 1 to 3 are not the sides of one partition"):
        CodingMatrix([[-1, 1, 0], [1, -1, -1], [-1, 1, -1], [-1, 1, 1]], [1, 3])


@pytest.mark.parametrize("counts", [[1, 1], [4], [3, 0], [1.5, 1.5], [[3]]])
def test_counts_of_rows_add_up_to_the_rows(counts):
    words = "rows_per_partition must be positive whole numbers that sum to the 3 rows"
    with pytest.raises(CodeError, match=words):
        CodingMatrix([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], counts)


def test_a_code_of_sides_differs_from_the_same_rows_as_partitions():
    sided, plain = direct(3), CodingMatrix(direct(3).matrix)
    assert sided != plain
    assert (sided.n_partitions, sided.n_rows, plain.n_partitions) == (1, 3, 3)
    assert not sided.is_one_vs_rest
    assert plain.is_one_vs_rest
    assert sided.is_tree
    assert sided.row_weights.tolist() == [0.5, 0.5, 0.5]
    assert not sided.rows_per_partition.flags.writeable
    assert copy.deepcopy(sided) == pickle.loads(pickle.dumps(sided)) == sided
