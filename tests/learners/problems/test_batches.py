import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.learners.problems import Batch, BinaryProblem, divide_into_batches


def problem(size, seed=0):
    rng = np.random.default_rng(seed)
    return BinaryProblem(f"{size}", np.sort(rng.permutation(1000)[:size]), rng.random(size) < 0.5)


sizes_of_problems = st.lists(st.integers(1, 40), min_size=1, max_size=20)


@given(sizes_of_problems)
def test_a_batch_has_the_samples_of_its_problems_one_after_the_other(sizes):
    problems = [problem(size, seed) for seed, size in enumerate(sizes)]
    batch = Batch.of(problems)
    for k, each in enumerate(problems):
        own = slice(batch.starts[k], batch.starts[k + 1])
        np.testing.assert_array_equal(batch.rows[own], each.rows)
        np.testing.assert_array_equal(batch.is_positive[own], each.is_positive)
        assert (batch.problem_of[own] == k).all()


@given(sizes_of_problems)
def test_samples_are_counted_problem_by_problem(sizes):
    problems = [problem(size, seed) for seed, size in enumerate(sizes)]
    batch = Batch.of(problems)
    both = np.array([batch.is_positive, ~batch.is_positive])
    expected = [[each.n_positive for each in problems], [each.n_negative for each in problems]]
    np.testing.assert_array_equal(batch.count(both), expected)


@given(sizes_of_problems, st.integers(1, 60))
def test_batches_are_all_tasks_in_order_and_as_large_as_is_allowed(sizes, most):
    found = list(divide_into_batches(range(len(sizes)), sizes, most, len(sizes)))
    assert [task for batch in found for task in batch] == [*range(len(sizes))]
    totals = [sum(sizes[task] for task in batch) for batch in found]
    assert all(len(batch) == 1 or total <= most for batch, total in zip(found, totals, strict=True))
    for batch, total in zip(found[1:], totals, strict=False):
        assert total + sizes[batch[0]] > most


def test_a_batch_has_at_most_so_many_tasks():
    found = list(divide_into_batches("abcde", [2] * 5, 1000, 2))
    assert found == [["a", "b"], ["c", "d"], ["e"]]
