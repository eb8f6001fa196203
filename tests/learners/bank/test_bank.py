import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from bank_machines import assert_same_scores, one_vs_one, own_scores, three_classes
from polytomy.calibration.folds import make_folds
from polytomy.errors import ArgumentError
from polytomy.learners.any_estimator import train_estimator
from polytomy.learners.bank import Bank
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.learners.workload import TrainingOptions

MODELS = [
    SVC(),
    SVC(kernel="poly"),
    SVC(kernel="linear"),
    NuSVC(nu=0.8),
    LinearSVC(),
    LogisticRegression(),
    SGDClassifier(loss="modified_huber", random_state=0),
    GaussianNB(),
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(StandardScaler(), LogisticRegression()),
]
CONSTANT = TrainedBinary("constant", Output.CONSTANT, constant=-1.0)


@given(
    st.lists(st.integers(0, len(MODELS) - 1), min_size=1, max_size=4),
    st.integers(0, 2**32),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_scores_are_in_the_order_of_the_binaries(chosen, seed, shuffled):
    rng = np.random.default_rng(seed)
    X, y = three_classes(rng, 30, 4)
    binaries = [CONSTANT] + [b for k in chosen for b in one_vs_one(MODELS[k], X, y)]
    if shuffled:
        binaries = [binaries[k] for k in rng.permutation(len(binaries))]
    assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature", None])
def test_decisions_are_calibrated_as_each_binary_would_be(calibration):
    X, y = three_classes(np.random.default_rng(0), 60, 3)
    options, folds = TrainingOptions(calibration=calibration), make_folds(X, y, 5, 0)
    binaries = []
    for positive, model in enumerate((SVC(), LinearSVC(), GaussianNB())):
        problem = BinaryProblem(str(positive), np.arange(60), y == positive)
        binaries.append(train_estimator(model, X, problem, options, folds=folds).binary)
    decisions = Bank(binaries).decisions(X)
    own = np.column_stack([binary.decisions(X) for binary in binaries])
    assert_same_scores(decisions, own)


class TestFrames:
    X, y = three_classes(np.random.default_rng(1), 40, 3)
    FRAME = pd.DataFrame(X, columns=["a", "b", "c"])

    @pytest.mark.parametrize("model", MODELS)
    def test_binaries_of_frames_take_frames(self, model):
        binaries = one_vs_one(model, self.FRAME, self.y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no warning of missing names
            got = Bank(binaries).scores(self.FRAME)
        assert_same_scores(got, own_scores(binaries, self.FRAME))

    def test_binaries_of_arrays_and_of_frames_can_be_in_one_bank(self):
        binaries = one_vs_one(SVC(), self.X, self.y) + one_vs_one(SVC(), self.FRAME, self.y)
        with pytest.warns(UserWarning, match="X has feature names, but SVC was fitted without"):
            got = Bank(binaries).scores(self.FRAME)
        assert_same_scores(got[:, :3], own_scores(binaries[3:], self.FRAME))
        assert_same_scores(got[:, 3:], got[:, :3])

    def test_renamed_columns_are_refused(self):
        bank = Bank(one_vs_one(LinearSVC(), self.FRAME, self.y))
        with pytest.raises(ValueError, match="feature names should match"):
            bank.scores(self.FRAME.rename(columns={"a": "z"}))


class TestPickling:
    X, y = three_classes(np.random.default_rng(2), 300, 8)

    def test_an_unpickled_bank_gives_the_same_scores(self):
        binaries = one_vs_one(SVC(), self.X, self.y) + one_vs_one(LinearSVC(), self.X, self.y)
        bank = Bank(binaries, np.float32)
        before = bank.scores(self.X)
        again = pickle.loads(pickle.dumps(bank))
        assert again.dtype == np.float32
        np.testing.assert_array_equal(again.scores(self.X), before)

    def test_only_the_binaries_are_pickled(self):
        binaries = one_vs_one(SVC(), self.X, self.y)
        bank = Bank(binaries)
        bank.scores(self.X)
        alone = len(pickle.dumps(binaries))
        assert len(pickle.dumps((binaries, bank))) < 1.01 * alone + 500


class TestMemory:
    def test_it_does_not_grow_with_the_product_of_samples_and_vectors(self):
        # 20,000 samples by some 500 vectors would be 80 MB of kernel values.
        for n_features in (4, 40):
            rng = np.random.default_rng(3)
            X, y = three_classes(rng, 600, n_features)
            binaries = one_vs_one(SVC(C=0.1), X, y)
            assert sum(len(b.estimator.support_) for b in binaries) > 500
            bank = Bank(binaries)
            samples = rng.normal(size=(20_000, n_features))
            bank.scores(samples[:10])
            tracemalloc.start()
            bank.scores(samples)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 60e6

    def test_a_pool_is_not_copied_for_narrow_data(self):
        from types import SimpleNamespace

        from bank_machines import PoolMachine
        from polytomy.learners.svm.kernels import KernelFunction

        rng = np.random.default_rng(4)
        pool = SimpleNamespace(vectors=rng.normal(size=(100_000, 10)))  # 8 MB
        machines = [PoolMachine(KernelFunction("rbf", 0.1), pool, rng) for _ in range(2)]
        for machine in machines:
            machine.support_ = np.arange(100_000)[::100]
            machine.dual_coef_ = np.ones(1000)
        bank = Bank([TrainedBinary("p", Output.MARGIN, each) for each in machines])
        bank.scores(rng.normal(size=(2, 10)))
        bank = Bank(bank.binaries)
        tracemalloc.start()
        bank.scores(rng.normal(size=(2, 10)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4e6


class TestArguments:
    def test_an_unknown_precision_is_refused(self):
        with pytest.raises(ArgumentError) as error:
            Bank([], dtype=np.int32)
        assert str(error.value) == ('dtype must be "float64" or "float32"; got \'int32\'.')

    def test_no_binaries_give_no_columns(self):
        bank = Bank([])
        assert bank.scores(np.ones((3, 2))).shape == (3, 0)
        assert bank.decisions(np.ones((3, 2))).shape == (3, 0)
        assert repr(bank) == "<Bank of 0 binaries>"

    def test_no_samples_are_refused_as_the_binaries_do(self):
        X, y = three_classes(np.random.default_rng(5), 30, 2)
        for model in (SVC(), LinearSVC()):
            with pytest.raises(ValueError, match="Found array with 0 sample"):
                Bank(one_vs_one(model, X, y)).scores(X[:0])
