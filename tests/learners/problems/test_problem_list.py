"""Problems that are made when they are asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.inputs.rows import group_rows
from polytomy.learners.problems import ProblemList, binary_problem


@given(st.integers(0, 2**32 - 1))
def test_problems_are_those_made_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 7))
    rows = group_rows(rng.integers(0, n_classes, 30), n_classes)
    sides = rng.integers(-1, 2, size=(5, n_classes))
    sides[0] = np.where(np.arange(n_classes) == 1, 1, -1)
    negative = [np.flatnonzero(row < 0).tolist() for row in sides]
    positive = [np.flatnonzero(row > 0).tolist() for row in sides]
    problems = ProblemList(rows, list("abcde"), negative, positive)
    for k in range(5):
        expected = binary_problem(rows, negative[k], positive[k], name="abcde"[k])
        assert problems.sizes[k] == expected.n_samples
        assert problems[k].name == problems.part([k])[0].name == expected.name
        np.testing.assert_array_equal(problems[k].rows, expected.rows)
        np.testing.assert_array_equal(problems[k].is_positive, expected.is_positive)


def test_problems_with_all_rows_share_their_row_numbers() -> None:
    rows = group_rows(np.arange(3), 3)
    problems = ProblemList(rows, ["a", "b"], [[0, 1], [0, 2]], [[2], [1]])
    assert problems[0].rows is problems[1].rows
