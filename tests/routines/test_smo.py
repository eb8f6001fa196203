"""The compiled and the reference training take the same steps, which are LIBSVM's."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from kernel_cases import KERNELS, LINEAR, RBF, entries_of, kernel_matrix
from polytomy.learners.svm.worker import find_sources
from polytomy.routines.compiled import smo as compiled
from polytomy.routines.reference import smo as reference
from polytomy.routines.reference.kernels import matrix_on_demand, whole_matrix
from polytomy.routines.reference.smo import Problems

TWINS = pytest.mark.parametrize("twin", [reference, compiled])


def from_zero(n_runs):
    return np.full((n_runs, 2), -1)


def from_first_run(n_runs):
    """Each run but the first is a part of it."""
    sources = from_zero(n_runs)
    sources[1:, 1] = 0
    return sources


def from_previous_run(n_runs):
    """Each run has a larger C than the one before."""
    sources = from_zero(n_runs)
    sources[:, 0] = np.arange(n_runs) - 1
    return sources


def samples(n, *, noise=0.5, duplicates=False, seed=0):
    """Points of two overlapping classes, each with one sample or more, and their signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if duplicates:
        X = X[rng.integers(0, (n + 1) // 2, n)]
    signs = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    signs[:2] = -1.0, 1.0
    return X, signs


def fold_bounds(bounds, n_folds):
    """Bounds of a problem and of its folds, which leave out every n-th sample."""
    n = len(bounds)
    runs = np.tile(bounds, (n_folds + 1, 1))
    for fold in range(n_folds):
        runs[fold + 1, np.arange(n) % n_folds == fold] = 0.0
    return runs


def train(twin, X, signs, bounds, *, form=RBF, parameters=(0.4, 0, 0.0), **options):
    """Train on points; `bounds` are those of one run or of several."""
    K = kernel_matrix(entries_of(X, form), form, parameters)
    columns = options.get("columns", np.arange(len(signs)))
    ends = options.get("ends", np.array([len(signs)]))
    problems = Problems(
        columns,
        ends,
        signs,
        np.asarray(np.atleast_2d(bounds), dtype=np.float64),
        np.diag(K)[columns],
        np.full(len(ends), options.get("tolerance", 1e-3)),
        np.full(len(ends), options.get("most_steps", -1)),
        np.full(len(ends), options.get("shrinks", True)),
    )
    start = options.get("start", from_first_run)
    return twin.train_machines(
        problems,
        options.get("matrix", whole_matrix(K.astype(np.float32))),
        start(len(problems.bounds)),
        np.empty(options.get("n_cached", len(signs)) * len(signs), dtype=np.float32),
    )


def dual(K, b, signs):
    return 0.5 * b @ K @ b - signs @ b


class TestAgreement:
    @pytest.mark.parametrize(("form", "parameters"), KERNELS)
    @pytest.mark.parametrize("duplicates", [False, True])
    @pytest.mark.parametrize("n", [8, 63, 128, 150])
    def test_twins_take_the_same_steps(self, form, parameters, duplicates, n):
        X, signs = samples(n, duplicates=duplicates, seed=n)
        rng = np.random.default_rng(n)
        bounds = fold_bounds(rng.choice([0.5, 5.0], n), 3)
        options = {"form": form, "parameters": parameters, "most_steps": 3000}
        expected = train(reference, X, signs, bounds, **options)
        for n_cached in 2, n:
            found = train(compiled, X, signs, bounds, n_cached=n_cached, **options)
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)

    @TWINS
    @pytest.mark.parametrize("start", [from_zero, from_first_run, from_previous_run])
    def test_problems_trained_together_have_the_machines_of_each(self, twin, start):
        X, signs = samples(90, noise=1.5, seed=4)
        ends = np.array([30, 32, 90])
        signs[[0, 30, 32]], signs[[1, 31, 33]] = -1.0, 1.0
        bounds = np.abs(np.random.default_rng(4).normal(size=(3, 90))) + 0.5
        if start == from_previous_run:
            bounds = bounds[:1] * np.array([[1.0], [2.0], [8.0]])
        together = train(twin, X, signs, bounds, ends=ends, start=start)
        for k, (first, last) in enumerate(pairwise([0, *ends])):
            own = np.arange(first, last)
            options = {"columns": own, "start": start}
            alone = train(twin, X, signs[own], bounds[:, own], **options)
            np.testing.assert_array_equal(together[0][:, own], alone[0])
            np.testing.assert_array_equal(together[1][:, own], alone[1])
            np.testing.assert_array_equal(together[2][:, k], alone[2][:, 0])
            np.testing.assert_array_equal(together[3][:, k], alone[3][:, 0])

    @pytest.mark.parametrize("shrinks", [False, True])
    def test_twins_take_the_same_steps_on_a_part_of_the_matrix(self, shrinks):
        X, signs = samples(150, noise=1.0)
        columns = np.random.default_rng(1).permutation(150)[:110]
        for form, parameters in KERNELS:
            bounds = fold_bounds(np.full(110, 20.0), 2)
            options = {"form": form, "parameters": parameters, "shrinks": shrinks}
            options |= {"columns": columns, "most_steps": 2000}
            first, second = (
                train(twin, X, signs[columns], bounds, **options) for twin in (reference, compiled)
            )
            for ours, theirs in zip(second, first, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)

    def test_twins_take_the_same_steps_on_the_whole_matrix_in_another_order(self):
        X, signs = samples(90, noise=1.0)
        columns = np.random.default_rng(2).permutation(90)
        for form, parameters in KERNELS:
            bounds = fold_bounds(np.full(90, 20.0), 2)
            options = {"form": form, "parameters": parameters, "most_steps": 2000}
            options |= {"columns": columns}
            first, second = (
                train(twin, X, signs[columns], bounds, **options) for twin in (reference, compiled)
            )
            for ours, theirs in zip(second, first, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("bound", [1.0, 1000.0])
    def test_a_tolerance_that_cannot_be_reached_ends_at_a_standstill(self, bound):
        for seed in range(5):
            X, signs = samples(20, seed=seed)
            K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
            results = [
                train(twin, X, signs, np.full(20, bound), tolerance=tolerance)
                for twin, tolerance in (
                    (reference, 1e-30),
                    (compiled, 1e-30),
                    (compiled, 1e-9),
                )
            ]
            duals = [dual(K, b[0], signs) for b, *_ in results]
            np.testing.assert_allclose(duals, duals[2], rtol=1e-9)


class TestOptimality:
    @TWINS
    @given(
        n=st.integers(2, 40),
        bound=st.sampled_from([1e-3, 1.0, 30.0]),
        seed=st.integers(0, 1000),
        duplicates=st.booleans(),
        is_weighted=st.booleans(),
        shrinks=st.booleans(),
    )
    @settings(max_examples=40, deadline=None)
    def test_the_conditions_of_karush_kuhn_and_tucker_hold(
        self, twin, n, bound, seed, duplicates, is_weighted, shrinks
    ):
        X, signs = samples(n, duplicates=duplicates, seed=seed)
        rng = np.random.default_rng(seed)
        bounds = bound * (rng.uniform(0.1, 3, n) if is_weighted else np.ones(n))
        b, values, offsets, _ = (each[0] for each in train(twin, X, signs, bounds, shrinks=shrinks))
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        assert np.all(signs * b >= 0)
        assert np.all(np.abs(b) <= bounds)
        assert abs(b.sum()) <= 1e-12 * n * bound
        np.testing.assert_allclose(K @ b - offsets, values, rtol=0, atol=1e-9 * (1 + n * bound))
        # The largest violation is below the tolerance.
        slope = K @ b - signs
        rise = np.max(-slope[np.where(signs > 0, b < bounds, b < 0)], initial=-np.inf)
        fall = np.max(slope[np.where(signs > 0, b > 0, b > -bounds)], initial=-np.inf)
        assert rise + fall < 1e-3 + 1e-9 * (1 + n * bound)
        # The offset is between them.
        assert -rise - 1e-9 <= offsets <= fall + 1e-9 or rise + fall < 1e-3

    @TWINS
    def test_two_points_worked_by_hand(self, twin):
        # By hand: f(±1) = ±1 with K = [[1, -1], [-1, 1]] needs b = ±1/2, if the bound allows it.
        X, signs = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
        for bound, expected in (10.0, 0.5), (0.125, 0.125):
            b, values, offsets, steps = train(
                twin, X, signs, [bound, bound], form=LINEAR, parameters=(0.0, 0, 0.0)
            )
            np.testing.assert_allclose(b[0], [-expected, expected])
            np.testing.assert_allclose(values[0], [-2 * expected, 2 * expected])
            assert offsets[0, 0] == 0
            assert steps[0, 0] == 1

    @TWINS
    def test_the_limit_of_steps_is_respected(self, twin):
        X, signs = samples(60, noise=2.0)
        steps = train(twin, X, signs, fold_bounds(np.full(60, 100.0), 2), most_steps=7)[3]
        np.testing.assert_array_equal(steps, 7)
        assert train(twin, X, signs, np.full(60, 100.0), most_steps=0)[3].tolist() == [[0]]


class TestAgainstLibsvm:
    @pytest.mark.filterwarnings("ignore:Solver terminated early")
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("bound", [1e-3, 1.0, 100.0])
    def test_its_steps_are_libsvms(self, seed, bound):
        """With the same matrix, LIBSVM's order and its signs, without shrinking."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 200))
        X, signs = samples(n, noise=float(rng.choice([0.0, 0.5])), seed=seed)
        order = np.argsort(signs, kind="stable")
        X, signs = X[order], signs[order]
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        weight = rng.uniform(0.5, 2, n)
        svc = SVC(kernel="precomputed", C=bound, shrinking=False, max_iter=1000)
        svc.fit(K, signs, sample_weight=weight)
        options = {"shrinks": False, "most_steps": 1000}
        b, values, _, steps = train(compiled, X, -signs, bound * weight, **options)
        assert steps[0, 0] == svc.n_iter_[0]
        np.testing.assert_array_equal(np.flatnonzero(b[0]), np.sort(svc.support_))
        np.testing.assert_allclose(-b[0][svc.support_], svc.dual_coef_[0], rtol=1e-9)
        np.testing.assert_allclose(-values[0], svc.decision_function(K), rtol=0, atol=1e-9 * bound)

    @pytest.mark.parametrize("bound", [1.0, 50.0])
    @pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
    def test_the_dual_is_libsvms_after_many_shrinks(self, bound, noise):
        X, signs = samples(300, noise=noise, seed=5)
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        svc = SVC(kernel="precomputed", C=bound).fit(K, signs)
        theirs = np.zeros(300)
        theirs[svc.support_] = svc.dual_coef_[0]
        ours = train(compiled, X, signs, np.full(300, bound))[0][0]
        np.testing.assert_allclose(dual(K, ours, signs), dual(K, theirs, signs), rtol=1e-6)


class TestFolds:
    @pytest.mark.parametrize("bound", [1.0, 50.0])
    def test_a_warm_start_ends_where_a_cold_one_does(self, bound):
        X, signs = samples(200, noise=1.0, seed=1)
        bounds = fold_bounds(np.full(200, bound), 2)[:2]
        warm = train(compiled, X, signs, bounds)
        cold = train(compiled, X, signs, bounds[1:])
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        warm_dual, cold_dual = (dual(K, b, signs) for b in (warm[0][1], cold[0][0]))
        np.testing.assert_allclose(warm_dual, cold_dual, rtol=1e-6)
        assert np.all(warm[0][1][bounds[1] == 0] == 0)
        assert abs(warm[0][1].sum()) < 1e-9
        # Samples outside the fold have decision values too.
        for b, values, offset in (
            (warm[0][1], warm[1][1], warm[2][1]),
            (cold[0][0], cold[1][0], cold[2][0]),
        ):
            np.testing.assert_allclose(values, K @ b - offset, rtol=0, atol=1e-8)
        np.testing.assert_allclose(warm[1][1], cold[1][0], rtol=0, atol=0.01)

    @TWINS
    def test_a_cold_start_is_that_of_the_fold_alone(self, twin):
        X, signs = samples(90, noise=1.0)
        bounds = fold_bounds(np.full(90, 5.0), 2)
        together = train(twin, X, signs, bounds, start=from_zero)
        for run in range(3):
            alone = train(twin, X, signs, bounds[run])
            for ours, theirs in zip(together, alone, strict=True):
                np.testing.assert_array_equal(ours[run], theirs[0])

    def test_smaller_bounds_of_a_later_run_are_respected(self):
        X, signs = samples(60, noise=1.0)
        bounds = np.vstack([np.full(60, 10.0), np.full(60, 0.1)])
        b = train(compiled, X, signs, bounds)[0]
        assert np.all(np.abs(b[1]) <= 0.1)
        assert np.any(np.abs(b[0]) > 0.1)
        alone = train(compiled, X, signs, bounds[1:])[0]
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        np.testing.assert_allclose(dual(K, b[1], signs), dual(K, alone[0], signs), rtol=1e-5)


class TestPathsOfC:
    """Runs of the same problem whose bounds are multiples of each other."""

    @given(
        n=st.integers(2, 60),
        seed=st.integers(0, 1000),
        noise=st.sampled_from([0.0, 0.5, 2.0]),
        factors=st.lists(st.sampled_from([0.01, 0.3, 1.0, 7.0, 500.0]), min_size=2, max_size=5),
        is_weighted=st.booleans(),
    )
    @settings(max_examples=60, deadline=None)
    def test_twins_take_the_same_steps(self, n, seed, noise, factors, is_weighted):
        X, signs = samples(n, noise=noise, seed=seed)
        rng = np.random.default_rng(seed)
        bounds = np.outer(factors, rng.uniform(0.1, 3, n) if is_weighted else np.ones(n))
        options = {"start": from_previous_run, "most_steps": 3000}
        expected = train(reference, X, signs, bounds, **options)
        found = train(compiled, X, signs, bounds, **options)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, *factors))

    @TWINS
    @given(
        seed=st.integers(0, 1000),
        noise=st.sampled_from([0.0, 0.5, 2.0]),
        factors=st.permutations([0.02, 1.0, 30.0]),
    )
    @settings(max_examples=25, deadline=None)
    def test_a_run_that_starts_from_its_neighbour_ends_where_a_cold_one_does(
        self, twin, seed, noise, factors
    ):
        X, signs = samples(50, noise=noise, seed=seed)
        bounds = np.outer(factors, np.ones(50))
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        warm, cold = (
            train(twin, X, signs, bounds, start=start, tolerance=1e-6)
            for start in (from_previous_run, from_zero)
        )
        for ours, theirs, bound in zip(warm[0], cold[0], bounds, strict=True):
            assert np.all(signs * ours >= 0)
            assert np.all(np.abs(ours) <= bound)
            assert abs(ours.sum()) <= 1e-10 * bound[0]
            np.testing.assert_allclose(dual(K, ours, signs), dual(K, theirs, signs), rtol=1e-6)
        np.testing.assert_allclose(warm[1] + warm[2], cold[1] + cold[2], rtol=0, atol=0.01)

    @TWINS
    def test_a_solution_that_meets_no_bound_is_that_of_every_larger_bound(self, twin):
        X, signs = samples(80, noise=0.0)
        bounds = np.outer([1e4, 1e5, 1e6], np.ones(80))
        b, values, _, steps = train(twin, X, signs, bounds, start=from_previous_run, tolerance=1e-9)
        assert np.all(np.abs(b[0]) < 1e4)
        assert steps[0, 0] > 0
        assert steps[1, 0] <= 2  # rounding may take a step
        np.testing.assert_allclose(b[2], b[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(values[2], values[0], atol=1e-6)

    @TWINS
    def test_a_run_starts_from_zero_if_most_coefficients_of_the_other_are_at_their_bounds(
        self, twin
    ):
        X, signs = samples(40, noise=2.0)
        bounds = np.outer([1e-4, 1.0], np.ones(40))
        warm, cold = (
            train(twin, X, signs, bounds, start=start) for start in (from_previous_run, from_zero)
        )
        assert np.count_nonzero(np.abs(warm[0][0]) == 1e-4) > 20
        for ours, theirs in zip(warm, cold, strict=True):
            np.testing.assert_array_equal(ours, theirs)


class TestPathsOfFolds:
    """Runs of a problem and of its folds, for several values of C."""

    @staticmethod
    def both(n_runs):
        """The sources of runs with three folds."""
        return find_sources(n_runs // 4, 4)

    @given(
        n=st.integers(8, 60),
        seed=st.integers(0, 1000),
        noise=st.sampled_from([0.0, 0.5, 2.0]),
        factors=st.lists(st.sampled_from([0.01, 0.3, 1.0, 7.0, 500.0]), min_size=2, max_size=4),
    )
    @settings(max_examples=40, deadline=None)
    def test_twins_take_the_same_steps(self, n, seed, noise, factors):
        X, signs = samples(n, noise=noise, seed=seed)
        signs[2:8] = np.tile([-1.0, 1.0], 3)  # so that each fold has both
        bounds = np.vstack([fold_bounds(np.full(n, factor), 3) for factor in sorted(factors)])
        options = {"start": self.both, "most_steps": 3000}
        expected = train(reference, X, signs, bounds, **options)
        found = train(compiled, X, signs, bounds, **options)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, *factors))

    @TWINS
    @given(seed=st.integers(0, 1000), noise=st.sampled_from([0.0, 0.5, 2.0]))
    @settings(max_examples=25, deadline=None)
    def test_every_run_ends_where_a_cold_one_does(self, twin, seed, noise):
        X, signs = samples(50, noise=noise, seed=seed)
        signs[2:8] = np.tile([-1.0, 1.0], 3)
        bounds = np.vstack([fold_bounds(np.full(50, C), 3) for C in (0.02, 1.0, 30.0)])
        K = kernel_matrix(entries_of(X, RBF), RBF, (0.4, 0, 0.0))
        warm, cold = (
            train(twin, X, signs, bounds, start=start, tolerance=1e-6)
            for start in (self.both, from_zero)
        )
        for ours, theirs, bound in zip(warm[0], cold[0], bounds, strict=True):
            assert np.all(signs * ours >= 0)
            assert np.all(np.abs(ours) <= bound)
            assert abs(ours.sum()) <= 1e-10 * bound.max()
            np.testing.assert_allclose(dual(K, ours, signs), dual(K, theirs, signs), rtol=1e-6)
        np.testing.assert_allclose(
            warm[1] + warm[2].repeat(50, axis=1),
            cold[1] + cold[2].repeat(50, axis=1),
            rtol=0,
            atol=0.01,
        )


class TestRowsOnDemand:
    @pytest.mark.parametrize(("form", "parameters"), KERNELS)
    @pytest.mark.parametrize("n_kept", [1, 7, 18])
    def test_rows_computed_on_demand_give_the_same_machines(self, form, parameters, n_kept):
        # Whole numbers, so that no order of additions makes a difference.
        X, signs = samples(18, noise=2.0, seed=3)
        X = np.round(2 * X)
        columns = np.random.default_rng(1).permutation(18)
        bounds = fold_bounds(np.full(18, 4.0), 3)[:, columns]
        options = {"form": form, "parameters": parameters, "columns": columns, "n_cached": 2}
        expected = train(reference, X, signs[columns], bounds, **options)
        for twin in reference, compiled:
            features, squares = np.ascontiguousarray(X.T), np.sum(X**2, axis=1)
            for matrix in (
                {},
                {"matrix": matrix_on_demand(features, squares, (form, *parameters), n_kept)},
            ):
                found = train(twin, X, signs[columns], bounds, **options, **matrix)
                for one, other in zip(expected, found, strict=True):
                    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
