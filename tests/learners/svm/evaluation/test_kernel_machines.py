from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, NuSVC

from bank_machines import (
    PoolMachine,
    assert_same_scores,
    one_vs_one,
    own_scores,
    sums_rounding,
    three_classes,
)
from polytomy.learners.bank import Bank
from polytomy.learners.svm.evaluation import is_exact, kernel_member
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.trained import Output, TrainedBinary, adopt_fitted

KINDS = ["rbf", "poly", "sigmoid", "linear"]
SCALERS = [StandardScaler(), MinMaxScaler(), MaxAbsScaler()]

machines = st.builds(
    lambda kind, nu, gamma, C, degree, coef0: (
        NuSVC(nu=0.8, kernel=kind, gamma=gamma, degree=degree, coef0=coef0)
        if nu
        else SVC(C=C, kernel=kind, gamma=gamma, degree=degree, coef0=coef0)
    ),
    st.sampled_from(KINDS),
    st.booleans(),
    st.sampled_from(["scale", "auto", 0.01, 1.0]),
    st.sampled_from([0.01, 1.0, 100.0]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5]),
)
feature_counts = st.sampled_from([1, 2, 4, 5, 40])
sample_counts = st.sampled_from([1, 2, 64, 70])


def is_in_kernel_bank(binary: TrainedBinary) -> bool:
    return kernel_member(binary) is not None


class TestScoresAreTheMachinesOwn:
    @given(machines, st.integers(0, 2**32), feature_counts, sample_counts)
    @settings(max_examples=60, deadline=None)
    def test_on_dense_samples(self, machine, seed, n_features, n_samples):
        rng = np.random.default_rng(seed)
        X, y = three_classes(rng, 30, n_features)
        binaries = one_vs_one(machine, X, y)
        assert all(map(is_in_kernel_bank, binaries))
        samples = three_classes(rng, n_samples + 3, n_features)[0][:n_samples]
        got, own = Bank(binaries).scores(samples), own_scores(binaries, samples)
        assert_same_scores(got, own, rounding=sums_rounding(binaries, samples))

    @given(machines, st.integers(0, 2**32), feature_counts, sample_counts, st.booleans())
    @settings(max_examples=40, deadline=None)
    def test_on_sparse_vectors(self, machine, seed, n_features, n_samples, dense):
        rng = np.random.default_rng(seed)
        X, y = three_classes(rng, 30, n_features, sparse=True)
        binaries = one_vs_one(machine, csr_array(X), y)
        samples = three_classes(rng, n_samples + 3, n_features, sparse=True)[0][:n_samples]
        samples = samples if dense else csc_array(samples)
        got, own = Bank(binaries).scores(samples), own_scores(binaries, samples)
        assert_same_scores(got, own, rounding=sums_rounding(binaries, samples))

    @given(machines, st.integers(0, 2**32), st.sampled_from(SCALERS), st.sampled_from([3, 40]))
    @settings(max_examples=30, deadline=None)
    def test_after_scalers(self, machine, seed, scaler, n_features):
        rng = np.random.default_rng(seed)
        X, y = three_classes(rng, 30, n_features)
        X = 1000 + X
        binaries = one_vs_one(make_pipeline(scaler, machine), X, y)
        assert all(map(is_in_kernel_bank, binaries))
        got, own = Bank(binaries).scores(X), own_scores(binaries, X)
        assert_same_scores(got, own, rounding=sums_rounding(binaries, X))

    @pytest.mark.parametrize("n_features", [3, 40])
    @pytest.mark.parametrize("offset", [1e3, 1e6])
    def test_far_from_the_origin(self, n_features, offset):
        X, y = three_classes(np.random.default_rng(0), 60, n_features)
        X = offset + X
        binaries = one_vs_one(SVC(), X, y)
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    @pytest.mark.parametrize("n_features", [3, 40])
    def test_with_outliers_among_the_vectors(self, n_features):
        X, y = three_classes(np.random.default_rng(1), 60, n_features)
        X[::5] += 1e5
        binaries = one_vs_one(SVC(gamma=0.5), X, y)
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_on_single_precision_samples(self):
        X, y = three_classes(np.random.default_rng(2), 40, 4)
        binaries = one_vs_one(SVC(), X, y)
        samples = X.astype(np.float32)
        assert_same_scores(Bank(binaries).scores(samples), own_scores(binaries, samples))

    def test_with_a_single_vector_on_each_side(self):
        X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), np.arange(3)
        binaries = one_vs_one(SVC(), X, y)
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_with_all_kernels_at_once(self):
        X, y = three_classes(np.random.default_rng(3), 40, 4)
        binaries = [
            binary
            for kind in KINDS
            for gamma in (0.1, 0.2)
            for binary in one_vs_one(SVC(kernel=kind, gamma=gamma), X, y)
        ]
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_with_labels_of_the_users_own(self):
        X, y = three_classes(np.random.default_rng(4), 30, 3)
        rows = y < 2
        model = SVC().fit(X[rows], np.array(["corn", "wheat"])[y[rows]])
        binaries = [
            adopt_fitted(model, ["corn"], ["wheat"], name="c-w"),
            adopt_fitted(model, ["wheat"], ["corn"], name="w-c"),
        ]
        scores = Bank(binaries).scores(X)
        assert_same_scores(scores[:, 0], model.decision_function(X))
        np.testing.assert_array_equal(scores[:, 0], -scores[:, 1])

    def test_dense_vectors_take_sparse_samples_in_blocks(self):
        # More generous than SVC, which refuses them.
        for n_features in (3, 40):
            X, y = three_classes(np.random.default_rng(5), 40, n_features, sparse=True)
            binaries = one_vs_one(SVC(), X, y)
            assert_same_scores(Bank(binaries).scores(csr_array(X)), own_scores(binaries, X))


class TestSharedPools:
    @given(
        st.integers(0, 2**32),
        st.sampled_from(KINDS),
        st.sampled_from([2, 40]),
        st.booleans(),
        st.booleans(),
    )
    @settings(max_examples=40, deadline=None)
    def test_machines_of_one_pool_answer_as_they_do_alone(
        self, seed, kind, n_features, sparse, two_pools
    ):
        rng = np.random.default_rng(seed)
        X, _ = three_classes(rng, 40, n_features, sparse=sparse)
        pools = [
            SimpleNamespace(vectors=csr_array(X) if sparse else X.copy())
            for _ in range(1 + two_pools)
        ]
        kernel = KernelFunction(kind, 0.1, 2, 0.5)
        estimators = [PoolMachine(kernel, pools[k % len(pools)], rng) for k in range(5)]
        binaries = [
            TrainedBinary(str(k), Output.MARGIN, each, positive_index=k % 2)
            for k, each in enumerate(estimators)
        ]
        samples = rng.normal(size=(9, n_features))
        assert_same_scores(Bank(binaries).scores(samples), own_scores(binaries, samples))

    def test_a_wrong_number_of_features_is_told(self):
        pool = SimpleNamespace(vectors=np.eye(3))
        machine = PoolMachine(KernelFunction("rbf", 1.0), pool, np.random.default_rng(0))
        bank = Bank([TrainedBinary("p", Output.MARGIN, machine)])
        with pytest.raises(ValueError, match="X has 2 features; the binaries were fitted to 3"):
            bank.scores(np.ones((1, 2)))


class TestSinglePrecision:
    @pytest.mark.parametrize("kind", ["rbf", "poly", "sigmoid"])
    @pytest.mark.parametrize(("n_features", "sparse"), [(4, False), (40, False), (40, True)])
    def test_it_is_off_by_a_small_part_of_the_coefficients(self, kind, n_features, sparse):
        X, y = three_classes(np.random.default_rng(6), 90, n_features, sparse=sparse)
        X = X if not sparse else csr_array(X)
        binaries = one_vs_one(SVC(kernel=kind), X, y)
        sizes = [np.abs(binary.estimator.dual_coef_).sum() for binary in binaries]
        error = Bank(binaries, np.float32).scores(X) - own_scores(binaries, X)
        assert np.all(np.abs(error) <= 1e-5 * np.array(sizes))
        assert np.any(error != 0)

    @pytest.mark.parametrize("n_features", [3, 40])
    def test_it_keeps_the_digits_that_differ_far_from_the_origin(self, n_features):
        X, y = three_classes(np.random.default_rng(7), 60, n_features)
        X = 1e6 + X
        binaries = one_vs_one(SVC(), X, y)
        got = Bank(binaries, np.float32).scores(X)
        assert_same_scores(got, own_scores(binaries, X), tolerance=1e-4)


class TestWhoIsNotInIt:
    X, y = three_classes(np.random.default_rng(8), 30, 3)

    @pytest.mark.parametrize(
        "model",
        [
            SVC(kernel=lambda X, Y: X @ Y.T),
            RandomForestClassifier(n_estimators=2, random_state=0),
            make_pipeline(PCA(), SVC()),
        ],
    )
    def test_other_kernels_other_models_and_other_steps(self, model):
        assert not any(map(is_in_kernel_bank, one_vs_one(model, self.X, self.y)))

    def test_subclasses_that_may_answer_in_their_own_way(self):
        class Doubled(SVC):
            def decision_function(self, X):
                return 2 * super().decision_function(X)

        binaries = one_vs_one(Doubled(), self.X, self.y)
        assert not any(map(is_in_kernel_bank, binaries))
        assert_same_scores(Bank(binaries).scores(self.X), own_scores(binaries, self.X))

    def test_machines_that_are_asked_for_something_else(self):
        model = SVC().fit(self.X, self.y > 0)
        assert kernel_member(TrainedBinary("p", Output.LABEL, model)) is None

    def test_sparse_vectors_too_long_for_products(self):
        X = csr_array(1e5 * self.X)
        binaries = one_vs_one(SVC(gamma=1.0), X, self.y)
        assert not is_exact([kernel_member(binary) for binary in binaries])
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))
