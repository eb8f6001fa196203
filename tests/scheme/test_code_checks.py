import tracemalloc
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from polytomy.errors import CodeError, CodeProblem
from polytomy.scheme import CodingMatrix
from polytomy.scheme.code_checks import MAX_ENTRIES, find_problems

BLOCK_ENTRIES = "polytomy.scheme.structure._BLOCK_ENTRIES"

any_signs = arrays(
    np.int8, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(-1, 1)
)


def messages(matrix):
    return [problem.message for problem in find_problems(matrix)]


def problems_by_definition(matrix):
    """The same rules, read off one entry at a time."""
    n_rows, n_columns = matrix.shape
    rows, columns = range(n_rows), range(n_columns)
    empty_sides = {
        (row, side) for row in rows for side in (-1, 1) if side not in matrix[row].tolist()
    }
    absent = {column for column in columns if not matrix[:, column].any()}
    equal = {
        (i, j)
        for i, j in combinations(columns, 2)
        if i not in absent and (matrix[:, i] == matrix[:, j]).all()
    }
    return empty_sides, absent, equal


def problems_as_found(matrix):
    empty_sides, absent, equal = set(), set(), set()
    for problem in find_problems(matrix):
        if problem.rows:
            (row,) = problem.rows
            sides = {"-1": [-1], "+1": [1], "either": [-1, 1]}[problem.message.split()[-2]]
            assert f"partition {row} has no class on" in problem.message
            empty_sides |= {(row, side) for side in sides}
        elif "is in no partition" in problem.message:
            absent |= set(problem.columns)
        else:
            assert "have equal columns: no partition separates them" in problem.message
            equal |= set(combinations(problem.columns, 2))
    return empty_sides, absent, equal


@given(any_signs, st.sampled_from([1, 7, 2**20]))
def test_the_problems_are_those_of_the_definition_whatever_the_blocks(matrix, block_entries):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BLOCK_ENTRIES, block_entries)
        assert problems_as_found(matrix) == problems_by_definition(matrix)


@given(any_signs)
def test_a_matrix_without_problems_is_a_code_and_no_other_is(matrix):
    problems = find_problems(matrix)
    if not problems:
        assert np.array_equal(CodingMatrix(matrix).matrix, matrix)
    else:
        with pytest.raises(CodeError) as caught:
            CodingMatrix(matrix)
        assert caught.value.problems == problems


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[-1, 1], [-1, -1]], CodeProblem("partition 1 has no class on its +1 side", rows=(1,))),
        ([[-1, 1], [0, 1]], CodeProblem("partition 1 has no class on its -1 side", rows=(1,))),
        ([[-1, 1], [0, 0]], CodeProblem("partition 1 has no class on either side", rows=(1,))),
        ([[-1, 1, 0]], CodeProblem("class 2 is in no partition", columns=(2,))),
        (
            [[-1, 1, 1]],
            CodeProblem(
                "classes 1 and 2 have equal columns: no partition separates them", columns=(1, 2)
            ),
        ),
        (
            [[-1, 1, -1, 0, -1], [1, 0, 1, -1, 1]],
            CodeProblem(
                "classes 0, 2 and 4 have equal columns: no partition separates them",
                columns=(0, 2, 4),
            ),
        ),
        (
            [[-1, 1], [1, 2]],
            CodeProblem("partition 1 gives class 1 the value 2, not -1, 0 or 1", (1,), (1,)),
        ),
        (
            [[-1, 0.5], [np.nan, 1]],
            CodeProblem(
                "partition 0 gives class 1 the value 0.5, not -1, 0 or 1 "
                "(2 values are wrong in total)",
                (0,),
                (1,),
            ),
        ),
        (np.empty((0, 3)), CodeProblem("no partition separates the 3 classes")),
        (
            np.empty((2, 0)),
            CodeProblem("a coding matrix has at least one class; this one has none"),
        ),
        (
            [-1, 1],
            CodeProblem(
                "a coding matrix has two dimensions, partitions and classes; "
                "this one has 1, with shape (2,)"
            ),
        ),
    ],
)
def test_each_problem_has_its_words_and_its_place(matrix, expected):
    assert find_problems(matrix) == (expected,)


def test_many_equal_columns_are_named_up_to_ten():
    matrix = np.ones((1, 14), dtype=np.int8)
    matrix[0, 0] = -1
    assert messages(matrix) == [
        "classes 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more have equal columns: "
        "no partition separates them"
    ]
    assert find_problems(matrix)[0].columns == tuple(range(1, 14))


def test_all_problems_are_reported_together():
    matrix = [
        [-1, 1, 1, 0, 7],
        [1, 1, 1, 0, 1],
        [-1, 1, 1, 0, 0],
    ]
    assert messages(matrix) == [
        "partition 0 gives class 4 the value 7, not -1, 0 or 1",
        "partition 1 has no class on its -1 side",
        "class 3 is in no partition",
        "classes 1 and 2 have equal columns: no partition separates them",
    ]
    with pytest.raises(CodeError, match="its -1 side; class 3 is in no partition; classes 1"):
        CodingMatrix(matrix)


def test_a_column_with_a_value_out_of_range_equals_no_other():
    assert messages([[-1, 5, 5], [-1, 1, 1]]) == [
        "partition 0 gives class 1 the value 5, not -1, 0 or 1 (2 values are wrong in total)"
    ]


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        ([["-1", "1"]], "str"),
        ([[True, False]], "bool"),
        ([[-1, None]], "object"),
        ([[-1, 2**100]], "object"),
        ([[-1 + 0j, 1]], "complex128"),
    ],
)
def test_entries_that_are_not_numbers_are_refused_by_their_type(matrix, kind):
    assert messages(matrix) == [
        f"a coding matrix has the values -1, 0 and 1; this one has values of type {kind}"
    ]


@pytest.mark.parametrize("matrix", [None, "one-vs-one", {}, sp.csr_array([[-1, 1]])])
def test_values_that_are_not_a_matrix_are_a_code_error(matrix):
    with pytest.raises(CodeError, match="two dimensions, partitions and classes; this one has 0"):
        CodingMatrix(matrix)


def test_rows_of_different_length_are_a_code_error():
    with pytest.raises(CodeError, match="a table of numbers whose rows have the same length"):
        CodingMatrix([[-1, 1], [1]])


def test_a_matrix_too_large_is_refused_before_anything_is_allocated():
    # Broadcasting gives it all its entries and no memory.
    huge = np.broadcast_to(np.int8(1), (2**30, 2**30))
    (message,) = messages(huge)
    assert f"at most {MAX_ENTRIES:,} entries" in message
    assert "1,073,741,824 partitions of 1,073,741,824 classes" in message


def test_checking_needs_little_memory_beside_the_copy():
    n_rows, n_columns = 40_000, 100
    matrix = np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (n_rows, n_columns))
    # The last column differs from the first only in the last row, so every row must be compared.
    matrix[:, -1] = matrix[:, 0]
    matrix[-1, [0, -1]] = -1, 1
    tracemalloc.start()
    code = CodingMatrix(matrix)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert code.shape == (n_rows, n_columns)
    assert peak < 3 * matrix.nbytes


def test_the_limit_has_room_for_one_vs_one_of_1024_classes_and_no_more():
    assert 1024 * 1023 // 2 * 1024 <= MAX_ENTRIES < 1025 * 1024 // 2 * 1025


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.float16, np.float64])
def test_any_real_type_is_read(dtype):
    matrix = np.array([[-1, 1, 0], [0, -1, 1]], dtype=dtype)
    for same in (matrix, np.asfortranarray(matrix), matrix[:, ::-1][:, ::-1], matrix.tolist()):
        assert CodingMatrix(same).matrix.tolist() == [[-1, 1, 0], [0, -1, 1]]


def test_unsigned_matrices_have_no_negative_side():
    assert messages(np.array([[1, 0], [0, 1]], dtype=np.uint8)) == [
        "partition 0 has no class on its -1 side",
        "partition 1 has no class on its -1 side",
    ]
