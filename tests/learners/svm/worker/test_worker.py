import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from polytomy.learners.preparation import side_labels
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine
from polytomy.learners.svm.suitability import (
    fix_gamma,
)
from shared_kernel_cases import clouds, pair, rest, share


def dual_and_gap(machine, values, signs, bounds):
    """The dual of a machine, and how far it may be from its minimum: up to the primal."""
    vectors, b = machine.support_vectors_, np.ravel(machine.dual_coef_)
    kernel = machine.kernel if isinstance(machine, KernelMachine) else KernelFunction.of(machine)
    square = b @ kernel.matrix(vectors, vectors) @ b
    hinges = np.maximum(0, 1 - signs * values)
    return square / 2 - np.abs(b).sum(), square - np.abs(b).sum() + bounds @ hinges


def assert_same_machine(machine, svc, X, problem, bounds):
    """Two machines of one problem agree as far as the stopping rule fixes them.

    With w the normal vectors in feature space, ½|w − w*|² is at most the excess of the dual over
    its minimum, and that at most the duality gap. So |f(x) − g(x)|, apart from the intercepts, is
    at most (√2gap + √2gap')·√K(x, x), and the intercepts of both lie within the tolerance of what
    the decision values of free support vectors are. No sample violates its condition by more than
    the tolerance, so a gap is at most the tolerance times the sum of the bounds. The single
    precision of kernel values adds up to 2⁻²³·K·Σ|b| to a violation.
    """
    X, signs = X[problem.rows], problem.targets.astype(float)
    f, g = machine.decision_function(X), svc.decision_function(X)
    our_dual, our_gap = dual_and_gap(machine, f, signs, bounds)
    their_dual, their_gap = dual_and_gap(svc, g, signs, bounds)
    longest = np.sqrt(max(machine.kernel.matrix(x, x)[0, 0] for x in X[:, np.newaxis]))
    rounding = 1e-9 + 2.0**-23 * np.abs(svc.dual_coef_).sum() * longest**2
    reach = longest * sum(np.sqrt(2 * max(gap, 0.0)) for gap in (our_gap, their_gap))
    assert np.abs(f - g).max() <= 2 * reach + 2 * svc.tol + rounding
    assert our_gap <= (svc.tol + rounding) * bounds.sum()
    if rounding < svc.tol:
        # Sharper than that: at the same tolerance, the dual is LIBSVM's.
        assert our_dual == pytest.approx(their_dual, rel=1e-6, abs=svc.tol * bounds.max())


class TestAgainstScikitLearn:
    @given(
        n=st.integers(4, 120),
        kernel=st.sampled_from(["linear", "rbf", "poly", "sigmoid"]),
        C=st.sampled_from([1e-9, 1e-3, 1.0, 1e3]),
        spread=st.sampled_from([0.1, 1.0, 4.0]),
        gamma=st.sampled_from(["scale", "auto", 0.3]),
        has_weights=st.booleans(),
        has_duplicates=st.booleans(),
        seed=st.integers(0, 10**6),
    )
    @settings(max_examples=40)
    def test_machines_are_those_of_svc(
        self, n, kernel, C, spread, gamma, has_weights, has_duplicates, seed
    ):
        X, codes = clouds(n, 2, 3, spread, seed)
        rng = np.random.default_rng(seed)
        if has_duplicates:
            X = X[rng.integers(0, n // 2 + 1, n)]
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if has_weights else np.ones(n)
        weight[:4] = 1.0  # both sides weigh something
        codes[:4] = 0, 0, 1, 1
        # So that LIBSVM ends on data it was not made for.
        svc = SVC(C=C, kernel=kernel, gamma=gamma, coef0=0.5, degree=2, max_iter=20_000)
        problem = rest(codes, 1)
        with warnings.catch_warnings(record=True) as early_stops:
            warnings.simplefilter("always", ConvergenceWarning)
            (binary,) = share(svc, X, [problem], calibration=None, sample_weight=weight)
            kept = problem.keep(weight > 0)
            (svc,) = fix_gamma([svc], X)
            svc.fit(X[kept.rows], kept.targets, weight[kept.rows])
        machine = binary.estimator
        assert machine.kernel.kind == kernel
        assert machine.kernel.gamma == pytest.approx(KernelFunction.of(svc).gamma, rel=1e-12)
        # The sigmoid is no positive definite kernel: there are several solutions.
        if not early_stops and kernel != "sigmoid":
            assert_same_machine(machine, svc, X, kept, C * weight[kept.rows])

    @pytest.mark.parametrize("C", [1e8, np.inf])
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_hard_margins(self, C, kernel):
        X, codes = clouds(200, 2, spread=0.3)
        problem = rest(codes, 1)
        svc = SVC(C=C, kernel=kernel)
        (binary,) = share(svc, X, [problem], calibration=None)
        svc.fit(X, problem.targets)
        f, signs = binary.scores(X), problem.targets
        assert np.min(signs * f) == pytest.approx(1.0, abs=1e-3)
        np.testing.assert_allclose(f, svc.decision_function(X), rtol=0, atol=2e-3)

    def test_all_points_the_same(self):
        X = np.full((12, 2), 3.0)
        problem = BinaryProblem("p", np.arange(12), np.arange(12) >= 5)
        (binary,) = share(SVC(gamma=1.0), X, [problem], calibration=None)
        expected = SVC(gamma=1.0).fit(X, problem.targets).decision_function(X)
        np.testing.assert_allclose(binary.scores(X), expected, rtol=0, atol=1e-9)

    def test_libsvm_agrees_with_it_better_than_with_itself(self):
        """The dual is only as certain as the stopping rule leaves it.

        LIBSVM's own changes by more than a millionth with the order of the rows, now and then.
        """
        n_other, n_reordered = 0, 0
        for seed in range(100):
            rng = np.random.default_rng(seed)
            X, codes = clouds(150, 2, 3, rng.choice([0.1, 1.0, 4.0]), seed)
            problem, order = rest(codes, 1), rng.permutation(150)
            C, kernel = rng.choice([0.01, 1.0, 20.0]), rng.choice(["linear", "rbf"])
            svc = SVC(C=C, kernel=kernel, gamma=rng.choice(["auto", "scale"]))
            (binary,) = share(svc, X, [problem], calibration=None)
            signs, bounds = problem.targets, np.full(150, svc.C)
            svc.fit(X, signs)
            reordered = clone(svc).fit(X[order], signs[order])
            ours, theirs, again = (
                dual_and_gap(each, each.decision_function(X), signs, bounds)[0]
                for each in (binary.estimator, svc, reordered)
            )
            n_other += abs(ours - theirs) > 1e-6 * abs(theirs)
            n_reordered += abs(again - theirs) > 1e-6 * abs(theirs)
        assert 3 * n_other < n_reordered

    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
    @pytest.mark.parametrize("class_weight", [None, "balanced", {-1: 3.0}, {0: 2.0, 1: 0.5}])
    def test_class_weights(self, kernel, class_weight):
        X, codes = clouds(200, 4, spread=2.5)
        svc = SVC(kernel=kernel, class_weight=class_weight, C=2.0)
        problem = rest(codes, 1)
        (binary,) = share(svc, X, [problem], calibration=None)
        svc.fit(X, problem.labelled(side_labels(svc)))
        bounds = 2.0 * svc.class_weight_[problem.is_positive.astype(int)]
        assert_same_machine(binary.estimator, svc, X, problem, bounds)

    @pytest.mark.parametrize("svc", [SVC(), SVC(kernel="linear"), SVC(gamma=0.2, C=10)])
    def test_support_vectors_are_the_same(self, svc):
        X, codes = clouds(300, spread=2.0)
        problem = pair(codes, 0, 2)
        # Another problem, so that the matrix has more rows than this one.
        binary, _ = share(svc, X, [problem, rest(codes, 1)], calibration=None)
        (svc,) = fix_gamma([svc], X)
        svc.fit(X[problem.rows], problem.targets)
        ours = {tuple(vector) for vector in binary.estimator.support_vectors_}
        theirs = {tuple(vector) for vector in svc.support_vectors_}
        assert ours == theirs
        np.testing.assert_array_equal(binary.estimator.n_support_, svc.n_support_)

    def test_early_stops_are_told(self):
        X, codes = clouds(200, 2, spread=4.0)
        message = 'of the machines of partition "1" stopped early, after max_iter=10 steps'
        with pytest.warns(ConvergenceWarning, match=message):
            share(SVC(C=100, max_iter=10), X, [rest(codes, 1)])
