import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.svm import SVC

from polytomy.calibration.calibrators import (
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.learners.problems import BinaryProblem, balance_sides
from polytomy.learners.svm.matrix import measure
from polytomy.learners.trained import Output
from polytomy.learners.workload import TrainingListener
from shared_kernel_cases import all_problems, clouds, pair, rest, share, train_alone, train_shared


class Listener(TrainingListener):
    """Keeps the names of the partitions it hears of."""

    def __init__(self):
        self.names = []

    def trained(self, partition):
        self.names.append(partition)


class TestAgainstTrainEstimator:
    """All that goes with a machine is what `train_estimator` gives."""

    @pytest.mark.parametrize(
        "svc",
        [
            SVC(),
            SVC(C=5, gamma=0.1),
            SVC(kernel="linear", class_weight="balanced"),
            SVC(kernel="poly", coef0=1.0, shrinking=False),
            SVC(kernel="sigmoid", gamma=0.05),
        ],
    )
    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_answers(self, svc, is_weighted):
        X, codes = clouds(240, spread=2.0)
        weight = np.random.default_rng(0).choice([0, 1, 2.5], 240) if is_weighted else None
        problems = all_problems(codes)
        binaries = share(svc, X, problems, seeds=[3, 4, 5, 6], sample_weight=weight)
        for seed, problem, binary in zip([3, 4, 5, 6], problems, binaries, strict=True):
            other = train_alone(svc, X, problem, seed=seed, sample_weight=weight)
            assert (binary.name, binary.output) == (other.name, other.output)
            assert type(binary.calibrator) is type(other.calibrator) is SigmoidCalibrator
            # The sigmoid is no positive definite kernel: there are several solutions.
            bound = 0.1 if svc.kernel == "sigmoid" else 0.01
            np.testing.assert_allclose(binary.scores(X), other.scores(X), rtol=0, atol=bound)
            np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=bound)

    @pytest.mark.parametrize(
        ("calibration", "kind"),
        [
            ("sigmoid", SigmoidCalibrator),
            ("isotonic", IsotonicCalibrator),
            (TemperatureCalibrator(), TemperatureCalibrator),
            (None, UncalibratedMap),
        ],
    )
    @pytest.mark.parametrize(
        "cv", [3, StratifiedKFold(4), ShuffleSplit(12, random_state=0), "rows"]
    )
    def test_calibrations_and_folds(self, calibration, kind, cv):
        X, codes = clouds(180, spread=2.0)
        if isinstance(cv, str):
            cv = [(np.arange(0, 120), np.arange(120, 180)), (np.arange(60, 180), np.arange(60))]
        problem = pair(codes, 0, 1)
        options = {"calibration": calibration, "cv": cv}
        (binary,) = share(SVC(), X, [problem], seeds=[1], **options)
        other = train_alone(SVC(), X, problem, seed=1, **options)
        assert type(binary.calibrator) is type(other.calibrator) is kind
        np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=0.02)

    def test_weights_that_balance_the_sides(self):
        X, codes = clouds(200, 5, spread=2.0)
        problem = rest(codes, 3)
        weight = np.random.default_rng(0).uniform(0.5, 2, 200)
        (binary,) = share(
            SVC(),
            X,
            [problem],
            seeds=[0],
            sample_weight=weight,
            class_weight="balanced-per-partition",
        )
        balanced = balance_sides(problem, weight, 200)
        other = train_alone(SVC(), X, problem, sample_weight=balanced)
        np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=0.01)

    @pytest.mark.parametrize(
        ("n_negative", "n_positive", "answer"), [(0, 5, 1.0), (5, 0, -1.0), (0, 0, 0.0)]
    )
    def test_empty_sides_have_constant_answers(self, n_negative, n_positive, answer):
        X = np.zeros((10, 2))
        is_positive = np.arange(n_negative + n_positive) >= n_negative
        problem = BinaryProblem("p", np.arange(n_negative + n_positive), is_positive)
        (binary,) = share(SVC(), X, [problem])
        assert binary.output is Output.CONSTANT
        np.testing.assert_array_equal(binary.decisions(X), answer)

    def test_a_side_without_weight_is_empty(self):
        X, codes = clouds(40, 2)
        (binary,) = share(SVC(), X, [rest(codes, 1)], sample_weight=(codes == 1).astype(float))
        assert binary.output is Output.CONSTANT
        assert binary.constant == 1.0

    @pytest.mark.parametrize("n_positive", [1, 2, 3])
    def test_small_sides(self, n_positive):
        X, _ = clouds(30, 2)
        problem = BinaryProblem("p", np.arange(30), np.arange(30) < n_positive)
        (binary,) = share(SVC(), X, [problem], seeds=[0])
        other = train_alone(SVC(), X, problem)
        assert binary.shortcoming == other.shortcoming
        assert not binary.shortcoming
        assert type(binary.calibrator) is type(other.calibrator)
        np.testing.assert_allclose(binary.decisions(X), other.decisions(X), rtol=0, atol=0.01)

    def test_folds_that_hold_out_one_side_only(self):
        X, codes = clouds(30, 2)
        cv = [(np.flatnonzero(codes == 1), np.flatnonzero(codes == 0))]
        problem = rest(codes, 1)
        (binary,) = share(SVC(), X, [problem], cv=cv)
        other = train_alone(SVC(), X, problem, cv=cv)
        assert binary.shortcoming == other.shortcoming
        assert "cv holds out no samples" in binary.shortcoming

    def test_calibrators_of_the_users_own_have_the_seed(self):
        X, codes = clouds(120, 2, spread=2.0)
        calibrator = RandomForestClassifier(5)
        problem = rest(codes, 1)
        (binary,) = share(SVC(), X, [problem], seeds=[3], calibration=calibrator)
        other = train_alone(SVC(), X, problem, seed=3, calibration=calibrator)
        assert binary.calibrator.calibrator.random_state == other.calibrator.calibrator.random_state


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
    def test_numbers_of_other_types_give_the_same(self, dtype):
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
            share(svc, X + 2e4, problems, seeds=[0, 1]),
            strict=True,
        ):
            np.testing.assert_allclose(near.scores(X), far.scores(X + 2e4), rtol=0, atol=0.005)

    def test_rows_outside_of_all_problems_do_not_matter(self):
        X, codes = clouds(90)
        other = X.copy()
        other[codes == 2] = 1e6
        (binary,) = share(SVC(gamma=0.2), X, [pair(codes, 0, 1)], seeds=[0])
        (same,) = share(SVC(gamma=0.2), other, [pair(codes, 0, 1)], seeds=[0])
        np.testing.assert_allclose(binary.decisions(X), same.decisions(X), rtol=0, atol=1e-9)


class TestSharing:
    def test_the_result_does_not_depend_on_the_budget_of_each_thread(self):
        """A problem that fits only without a second thread is trained here all the same."""
        X, codes = clouds(300)
        problems = [pair(codes, 0, 1), rest(codes, 2), pair(codes, 1, 2)]
        for subset in problems, problems[:1]:
            size = measure(X, subset, n_runs=6)
            budget = size.with_one_thread
            one, two = (
                train_shared(
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
        training = train_shared(svcs, X, [rest(codes, 1)] * 2)
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

    def test_machines_with_another_kernel_do_not_matter(self):
        X, codes = clouds(200, spread=2.0)
        problems = all_problems(codes)
        same = share(SVC(gamma=0.1), X, problems, seeds=[0, 1, 2, 3])
        svcs = [SVC(gamma=0.1)] * 4 + [SVC(gamma=0.2)]
        others = share(svcs, X, [*problems, problems[0]], seeds=[0, 1, 2, 3, 4])
        for first, second in zip(same, others[:4], strict=True):
            np.testing.assert_array_equal(first.decisions(X), second.decisions(X))

    def test_kernels_of_all_kinds_are_trained_together_as_alone(self):
        X, codes = clouds(120)
        svcs = [SVC(), SVC(kernel="linear"), SVC(kernel="poly"), SVC(kernel="sigmoid")]
        problem = pair(codes, 0, 1)
        training = train_shared(svcs, X, [problem] * 4, seeds=[0] * 4)
        for svc, binary in zip(svcs, training.binaries, strict=True):
            (alone,) = share(svc, X, [problem], seeds=[0])
            np.testing.assert_allclose(binary.decisions(X), alone.decisions(X), rtol=0, atol=1e-6)
        assert len({id(binary.estimator.pool) for binary in training.binaries}) == 1

    def test_values_of_C_are_trained_together_as_alone(self):
        """In any order, and not all of them for every problem."""
        X, codes = clouds(150, spread=2.0)
        svcs = [SVC(C=C, gamma=0.3, tol=1e-7) for C in (30.0, 0.02, 1.0)]
        one, other = pair(codes, 0, 1), rest(codes, 2)
        tasks = [*zip(svcs, [one] * 3, strict=True), (svcs[0], other), (svcs[1], other)]
        together = share([svc for svc, _ in tasks], X, [each for _, each in tasks], seeds=[0] * 5)
        for (svc, problem), binary in zip(tasks, together, strict=True):
            (alone,) = share(svc, X, [problem], seeds=[0])
            assert binary.name == alone.name
            np.testing.assert_allclose(binary.scores(X), alone.scores(X), rtol=0, atol=1e-5)
            np.testing.assert_allclose(binary.decisions(X), alone.decisions(X), rtol=0, atol=1e-5)

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

    def test_progress_is_reported_for_every_problem(self):
        X, codes = clouds()
        listener = Listener()
        problems = [*all_problems(codes), BinaryProblem("none", np.arange(0), np.zeros(0, bool))]
        share(SVC(), X, problems, listener=listener, n_jobs=2)
        assert sorted(listener.names) == sorted(problem.name for problem in problems)

    def test_the_given_estimators_are_not_fitted(self):
        X, codes = clouds()
        svc = SVC()
        share(svc, X, [rest(codes, 1)])
        assert not hasattr(svc, "support_")
