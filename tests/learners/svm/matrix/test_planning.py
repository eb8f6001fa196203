import numpy as np
import pytest
from sklearn.svm import SVC

from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.matrix import (
    Size,
    TooLargeError,
    bytes_of_matrix,
    bytes_of_rows,
    bytes_of_thread,
    group_by_kernel,
    is_better_apart,
    lay_out_matrix,
    measure,
)
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    kernel_of,
)
from shared_kernel_cases import all_problems, clouds, pair, rest


class TestSize:
    SIZE = Size(n_rows=1000, matrix=8_000_000, samples=1_000_000, by_thread=500_000)

    @pytest.mark.parametrize(
        ("budget", "n_threads"), [(9_500_000, 1), (9_999_999, 1), (10_000_000, 2), (1e9, 1982)]
    )
    def test_threads_share_what_the_matrix_and_its_samples_leave(self, budget, n_threads):
        assert self.SIZE.count_threads(budget) == n_threads

    def test_a_matrix_that_leaves_no_room_for_a_thread_is_too_large(self):
        with pytest.raises(TooLargeError) as error:
            self.SIZE.count_threads(9_499_999)
        assert str(error.value) == (
            "training on a matrix of 1000 rows takes 9.5 MB, more than memory_budget, 9.5 MB"
        )

    @pytest.mark.parametrize("budget", [5_500_000, 6_000_000, 9_000_000, 20_000_000, 30_000_000])
    @pytest.mark.parametrize("most_threads", [1, 2, 8])
    def test_rows_on_demand_fit_in_the_budget_and_are_at_least_five_hundred(
        self, budget, most_threads
    ):
        n_threads, n_kept = self.SIZE.rows_on_demand(budget, most_threads)
        assert 1 <= n_threads <= most_threads
        assert 500 <= n_kept <= 1000
        assert 1_000_000 + n_threads * (500_000 + 8000 * n_kept) <= budget

    def test_too_little_for_five_hundred_rows_is_refused(self):
        with pytest.raises(TooLargeError) as error:
            self.SIZE.rows_on_demand(5_499_999, most_threads=4)
        assert str(error.value) == (
            "memory_budget, 5.5 MB, is too small for 500 of the 1000 rows of a matrix"
        )


def test_only_rows_of_some_problem_and_the_largest_problem_count():
    X, codes = clouds(90)
    few = BinaryProblem("few", np.flatnonzero(codes == 0)[:3], np.array([True, False, False]))
    problems = [few, pair(codes, 0, 1)]
    size = measure(X, problems, n_runs=6)
    assert size == Size(
        60,
        bytes_of_matrix(60),
        bytes_of_rows(X, 60),
        bytes_of_thread(60, n_runs=6),
    )
    assert size.with_one_thread == size.matrix + size.samples + size.by_thread


@pytest.mark.parametrize(("n_classes", "expected"), [(3, False), (4, True), (10, True)])
def test_pairs_of_many_classes_are_better_apart(n_classes, expected):
    _, codes = clouds(120, n_classes)
    pairs = [pair(codes, i, j) for j in range(n_classes) for i in range(j)]
    assert is_better_apart(pairs, 120) is expected


def test_one_problem_or_problems_of_all_rows_are_not_better_apart():
    _, codes = clouds(120, 10)
    assert not is_better_apart([pair(codes, 0, 1)], 120)
    assert not is_better_apart([rest(codes, k) for k in range(10)], 120)


def test_machines_with_the_same_kernel_form_groups_and_the_rest_has_reasons():
    rbf, linear = SVC(), SVC(kernel="linear")
    wrong = SVC(kernel="precomputed")
    svcs = [rbf, linear, wrong, SVC(gamma=2), SVC(C=9), SVC(C=-1), wrong]
    svcs += [SVC(kernel="linear", gamma=3)]  # which has no gamma
    groups, reasons = group_by_kernel(dict(enumerate(svcs)))
    assert sorted(groups) == [[0, 4], [1, 7], [3]]
    assert reasons == {"its kernel is 'precomputed'": 2, "its parameters are invalid": 1}


class TestPlan:
    def plan(self, svc, problems, X):
        return lay_out_matrix(X, kernel_of(svc, X), problems)

    def test_each_row_of_the_data_finds_its_place_in_the_matrix(self):
        X, codes = clouds(90)
        problems = [pair(codes, 0, 1)]
        plan = self.plan(SVC(), problems, X)
        np.testing.assert_array_equal(plan.place < 0, codes == 2)
        used = problems[0].rows
        np.testing.assert_array_equal(plan.numbers[plan.place[used]], X[used])

    def test_the_rows_of_one_problem_have_the_negative_side_first(self):
        X, codes = clouds(90)
        plan = self.plan(SVC(), [pair(codes, 0, 1)], X)
        np.testing.assert_array_equal(plan.numbers, X[np.argsort(codes, kind="stable")][:60])

    def test_rows_on_the_same_sides_of_all_problems_are_adjacent(self):
        X, codes = clouds(600)  # a matrix larger than the processor's cache
        plan = self.plan(SVC(), all_problems(codes), X)
        in_order = codes[np.argsort(plan.place)]
        assert np.count_nonzero(np.diff(in_order)) == 2

    def test_values_too_large_for_single_precision_cannot_be_planned(self):
        X, codes = clouds(30)
        with pytest.raises(UnsuitableError, match="too large for single precision"):
            self.plan(SVC(kernel="linear"), [rest(codes, 1)], 1e20 * X)
