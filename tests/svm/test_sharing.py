import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.svm import SVC

from polytomy.binary.problems import BinaryProblem
from polytomy.svm import train_on_shared_kernel
from polytomy.svm.planning import measure
from shared_kernel_cases import all_problems, clouds, pair, rest, share


class TestData:
    @pytest.mark.parametrize("svc", [SVC(), SVC(gamma=0.1), SVC(kernel="poly", coef0=1.0)])
    @pytest.mark.parametrize(
        "as_kind",
        [
            scipy.sparse.csr_array,
            scipy.sparse.csr_matrix,
            scipy.sparse.coo_array,
            pd.DataFrame,
            np.ndarray.tolist,
            np.asfortranarray,
        ],
    )
    def test_kinds_of_data_give_the_same(self, svc, as_kind):
        X, codes = clouds(80)
        X[np.abs(X) < 0.5] = 0.0
        problems = all_problems(codes)
        expected = share(svc, X, problems, seeds=[1, 2, 3, 4])
        for found, other in zip(
            share(svc, as_kind(X), problems, seeds=[1, 2, 3, 4]), expected, strict=True
        ):
            np.testing.assert_allclose(found.decisions(X), other.decisions(X), rtol=0, atol=1e-5)

    @pytest.mark.parametrize("dtype", [np.float32, np.int64])
    def test_other_numbers(self, dtype):
        X, codes = clouds(80)
        X = np.round(4 * X).astype(dtype)
        (found,) = share(SVC(), X, [rest(codes, 1)], seeds=[1])
        (expected,) = share(SVC(), X.astype(np.float64), [rest(codes, 1)], seeds=[1])
        np.testing.assert_array_equal(found.decisions(X), expected.decisions(X))

    def test_a_shift_changes_no_distance(self):
        X, codes = clouds(120)
        svc = SVC(gamma=0.2)
        problems = [rest(codes, 1), pair(codes, 0, 2)]
        for near, far in zip(
            share(svc, X, problems, seeds=[0, 1]),
            share(svc, X + 1e6, problems, seeds=[0, 1]),
            strict=True,
        ):
            np.testing.assert_allclose(near.scores(X), far.scores(X + 1e6), rtol=0, atol=0.005)

    def test_rows_outside_of_all_problems_do_not_matter(self):
        X, codes = clouds(90)
        other = X.copy()
        other[codes == 2] = 1e6
        (binary,) = share(SVC(), X, [pair(codes, 0, 1)], seeds=[0])
        (same,) = share(SVC(), other, [pair(codes, 0, 1)], seeds=[0])
        np.testing.assert_allclose(binary.decisions(X), same.decisions(X), rtol=0, atol=1e-9)


class TestSharing:
    def test_the_result_does_not_depend_on_the_budget_of_each_thread(self):
        """A problem that fits only without a second thread is trained here all the same."""
        X, codes = clouds(300)
        problems = [pair(codes, 0, 1), rest(codes, 2), pair(codes, 1, 2)]
        for subset in problems, problems[:1]:
            size = measure(X, subset, n_runs=6, is_finished=False)
            budget = size.shared + size.by_thread
            one, two = (
                train_on_shared_kernel(
                    [SVC()] * 3, X, problems, seeds=[0, 1, 2], memory_budget=budget, n_jobs=n_jobs
                )
                for n_jobs in (1, 2)
            )
            assert one.notes == two.notes
            for first, second in zip(one.binaries, two.binaries, strict=True):
                assert (first is None) is (second is None)
                if first is not None:
                    np.testing.assert_array_equal(first.decisions(X), second.decisions(X))

    def test_values_too_large_for_one_machine_leave_the_others(self):
        X, codes = clouds(60)
        svcs = [SVC(kernel="linear"), SVC(kernel="poly", gamma=1e4, degree=12)]
        training = train_on_shared_kernel(svcs, X, [rest(codes, 1)] * 2)
        assert training.binaries[0] is not None
        assert training.binaries[1] is None
        assert "too large for single precision" in training.notes[1]

    def test_the_result_does_not_depend_on_the_threads(self):
        X, codes = clouds(200, spread=2.0)
        one, two = (
            share(SVC(), X, all_problems(codes), seeds=[0, 1, 2, 3], n_jobs=n_jobs)
            for n_jobs in (1, 2)
        )
        for first, second in zip(one, two, strict=True):
            np.testing.assert_array_equal(first.decisions(X), second.decisions(X))

    def test_a_matrix_of_values_and_one_of_distances_give_the_same(self):
        X, codes = clouds(200, spread=2.0)
        problems = all_problems(codes)
        same = share(SVC(gamma=0.1), X, problems, seeds=[0, 1, 2, 3])
        # An SVC with another kernel makes them share distances.
        svcs = [SVC(gamma=0.1)] * 4 + [SVC(gamma=0.2)]
        others = share(svcs, X, [*problems, problems[0]], seeds=[0, 1, 2, 3, 4])
        for first, second in zip(same, others[:4], strict=True):
            np.testing.assert_array_equal(first.decisions(X), second.decisions(X))

    def test_kernels_of_all_kinds_at_once(self):
        X, codes = clouds(120)
        svcs = [SVC(), SVC(kernel="linear"), SVC(kernel="poly"), SVC(kernel="sigmoid")]
        problem = pair(codes, 0, 1)
        training = train_on_shared_kernel(svcs, X, [problem] * 4, seeds=[0] * 4)
        for svc, binary in zip(svcs, training.binaries, strict=True):
            (alone,) = share(svc, X, [problem], seeds=[0])
            np.testing.assert_allclose(binary.decisions(X), alone.decisions(X), rtol=0, atol=1e-6)
        assert len({id(binary.estimator.pool) for binary in training.binaries}) == 1

    def test_the_pool_has_the_support_vectors_and_is_stored_once(self):
        X, codes = clouds(300, n_features=30, spread=0.5)
        problems = [pair(codes, 0, 1), pair(codes, 0, 2), pair(codes, 1, 2)] * 10
        binaries = share(SVC(), X, problems, calibration=None)
        pool = binaries[0].estimator.pool
        used = np.unique(np.concatenate([binary.estimator.support_ for binary in binaries]))
        np.testing.assert_array_equal(used, np.arange(len(pool.vectors)))
        assert len(used) < 300
        one, all_ = (len(pickle.dumps(each)) for each in (binaries[:1], binaries))
        assert all_ - one < 30 * 800 < 29 * pool.vectors.nbytes

    def test_progress_is_told_in_order(self):
        X, codes = clouds()
        told = []
        problems = [*all_problems(codes), BinaryProblem("none", np.arange(0), np.zeros(0, bool))]
        share(SVC(), X, problems, on_trained=told.append, n_jobs=2)
        assert sorted(told) == [0, 1, 2, 3, 4]

    def test_estimators_keep_their_own_way(self):
        X, codes = clouds()
        svc = SVC()
        share(svc, X, [rest(codes, 1)])
        assert not hasattr(svc, "support_")
