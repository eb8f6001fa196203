from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from bank_machines import (
    PoolMachine,
    assert_same_scores,
    one_vs_one,
    own_scores,
    sums_rounding,
    three_classes,
)
from polytomy import PolytomyClassifier, decode
from polytomy.errors import DataError
from polytomy.learners.bank import Bank
from polytomy.learners.linear import evaluation as linear_models
from polytomy.learners.linear.evaluation import linear_member
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.trained import Output, TrainedBinary

MODELS = {
    "LinearSVC": LinearSVC(),
    "LinearSVC without intercept": LinearSVC(fit_intercept=False),
    "LogisticRegression": LogisticRegression(),
    "LogisticRegression by liblinear": LogisticRegression(solver="liblinear"),
    "SGD, hinge": SGDClassifier(random_state=0),
    "SGD, logistic": SGDClassifier(loss="log_loss", random_state=0),
    "RidgeClassifier": RidgeClassifier(),
    "Perceptron": Perceptron(random_state=0),
    "linear SVC": SVC(kernel="linear"),
    "linear NuSVC": NuSVC(nu=0.8, kernel="linear"),
}
SCALERS = {
    "standard": StandardScaler(),
    "range": MinMaxScaler((-1, 1)),
    "size": MaxAbsScaler(),
}
SPARSE_SCALERS = ["passthrough", StandardScaler(with_mean=False), MaxAbsScaler()]


def is_in_linear_bank(binary: TrainedBinary) -> bool:
    return linear_member(binary) is not None


def asked_for_margins(binaries):
    return [
        TrainedBinary(b.name, Output.MARGIN, b.estimator, positive_index=b.positive_index)
        for b in binaries
    ]


class TestScoresAreTheModelsOwn:
    @given(st.sampled_from(list(MODELS)), st.integers(0, 2**32), st.sampled_from([1, 2, 9]))
    @settings(max_examples=40, deadline=None)
    def test_on_dense_samples(self, name, seed, n_features):
        X, y = three_classes(np.random.default_rng(seed), 40, n_features)
        binaries = one_vs_one(MODELS[name], X, y)
        assert all(map(is_in_linear_bank, binaries))
        got, own = Bank(binaries).scores(X), own_scores(binaries, X)
        assert_same_scores(got, own, rounding=sums_rounding(binaries, X))

    @given(st.sampled_from(list(MODELS)), st.integers(0, 2**32), st.sampled_from(SPARSE_SCALERS))
    @settings(max_examples=40, deadline=None)
    def test_on_sparse_samples(self, name, seed, scaler):
        X, y = three_classes(np.random.default_rng(seed), 40, 6, sparse=True)
        X = csr_array(X)
        binaries = one_vs_one(make_pipeline(scaler, MODELS[name]), X, y)
        assert all(map(is_in_linear_bank, binaries))
        got, own = Bank(binaries).scores(X), own_scores(binaries, X)
        assert_same_scores(got, own, rounding=sums_rounding(binaries, X))

    @given(
        st.sampled_from(list(MODELS)),
        st.integers(0, 2**32),
        st.sampled_from(["standard", "range", "size", "two"]),
        st.sampled_from([0.0, 1e3, 1e5]),
    )
    @settings(max_examples=50, deadline=None)
    def test_with_scalers_folded_into_the_weights(self, name, seed, scaler, offset):
        X, y = three_classes(np.random.default_rng(seed), 40, 4)
        X = X * [1, 10, 0.1, 1]
        if scaler != "size":  # it leaves an offset where it is, and models of it lose their digits
            X = offset + X
        steps = [StandardScaler(), MinMaxScaler()] if scaler == "two" else [SCALERS[scaler]]
        binaries = one_vs_one(make_pipeline(*steps, MODELS[name]), X, y)
        assert all(map(is_in_linear_bank, binaries))
        got, own = Bank(binaries).scores(X), own_scores(binaries, X)
        assert_same_scores(got, own, rounding=sums_rounding(binaries, X))

    def test_of_decision_values_where_those_are_asked_for(self):
        X, y = three_classes(np.random.default_rng(1), 40, 3)
        binaries = asked_for_margins(one_vs_one(LogisticRegression(), X, y))
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_with_all_models_at_once(self):
        X, y = three_classes(np.random.default_rng(2), 40, 3)
        plain = [b for model in MODELS.values() for b in one_vs_one(model, X, y)]
        scaled = [
            b
            for model in MODELS.values()
            for b in one_vs_one(make_pipeline(StandardScaler(), model), X, y)
        ]
        binaries = plain + scaled + asked_for_margins(plain)
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    @pytest.mark.filterwarnings("ignore:.*PassiveAggressiveClassifier:FutureWarning")
    def test_of_passive_aggressive_models(self):
        X, y = three_classes(np.random.default_rng(10), 40, 3)
        binaries = one_vs_one(PassiveAggressiveClassifier(random_state=0), X, y)
        assert all(map(is_in_linear_bank, binaries))
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_with_hundreds_of_binaries(self):
        X, y = three_classes(np.random.default_rng(3), 40, 3)
        binaries = one_vs_one(RidgeClassifier(), X, y) * 200
        assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_with_sparse_weights(self):
        X, y = three_classes(np.random.default_rng(4), 40, 6, sparse=True)
        X = csr_array(X)
        binaries = one_vs_one(SGDClassifier(penalty="l1", random_state=0), X, y)
        for binary in binaries:
            binary.estimator.sparsify()
        for samples in (X, X.toarray()):
            got = Bank(binaries).scores(samples)
            assert_same_scores(got, own_scores(binaries, samples))

    def test_of_machines_that_share_a_pool(self):
        rng = np.random.default_rng(5)
        for vectors in (rng.normal(size=(9, 3)), csr_array(np.eye(3))):
            pool = SimpleNamespace(vectors=vectors)
            binaries = [
                TrainedBinary(
                    str(k), Output.MARGIN, PoolMachine(KernelFunction("linear"), pool, rng)
                )
                for k in range(4)
            ]
            assert all(map(is_in_linear_bank, binaries))
            X = rng.normal(size=(5, 3))
            assert_same_scores(Bank(binaries).scores(X), own_scores(binaries, X))

    def test_on_single_precision_samples_with_double_precision_weights(self):
        X, y = three_classes(np.random.default_rng(6), 40, 3)
        binaries = one_vs_one(LogisticRegression(), X, y)
        samples = X.astype(np.float32)
        assert_same_scores(Bank(binaries).scores(samples), own_scores(binaries, samples))

    def test_models_of_single_precision_are_evaluated_in_double(self):
        X, y = three_classes(np.random.default_rng(7), 40, 3)
        samples = X.astype(np.float32)
        binaries = one_vs_one(LogisticRegression(), samples, y)
        for binary in binaries:  # older versions of scikit-learn train in double precision
            binary.estimator.coef_ = binary.estimator.coef_.astype(np.float32)
            binary.estimator.intercept_ = binary.estimator.intercept_.astype(np.float32)
        got = Bank(binaries).scores(samples)
        assert_same_scores(got, own_scores(binaries, samples.astype(np.float64)))
        assert_same_scores(got, own_scores(binaries, samples), tolerance=1e-5)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_long_products_are_taken_in_blocks_of_rows(form, monkeypatch):
    X, y = three_classes(np.random.default_rng(0), 60, 4)
    bank = Bank(one_vs_one(LogisticRegression(), X, y))
    whole = bank.scores(form(X))
    monkeypatch.setattr(linear_models, "_LONGEST_PRODUCT", 7 * 3 * X.shape[1])
    sizes = []
    multiply_into = linear_models._multiply_into

    def note_size(products, rows, weights):
        sizes.append(len(products))
        multiply_into(products, rows, weights)

    monkeypatch.setattr(linear_models, "_multiply_into", note_size)
    np.testing.assert_allclose(bank.scores(form(X)), whole, rtol=1e-14, atol=1e-15)
    assert max(sizes) == 7
    assert sum(sizes) == len(X)


def test_sparse_samples_that_a_scaler_shifts_are_refused():
    X, y = three_classes(np.random.default_rng(8), 40, 3)
    bank = Bank(one_vs_one(make_pipeline(StandardScaler(), LinearSVC()), X, y))
    with pytest.raises(
        DataError, match="X is sparse, but a scaler of the binaries shifts its zeros"
    ):
        bank.scores(csr_array(X))


class TestBinariesThatAreNotLinear:
    X, y = three_classes(np.random.default_rng(9), 40, 3)

    @pytest.mark.parametrize(
        "model",
        [
            SGDClassifier(loss="modified_huber", random_state=0),
            SVC(),
            SVC(kernel=lambda X, Y: X @ Y.T),
        ],
    )
    def test_other_links_and_other_kernels_are_not_members(self, model):
        binaries = one_vs_one(model, self.X, self.y)
        assert not any(map(is_in_linear_bank, binaries))
        assert_same_scores(Bank(binaries).scores(self.X), own_scores(binaries, self.X))

    def test_subclasses_that_override_their_answer_are_not_members(self):
        class Doubled(LinearSVC):
            def decision_function(self, X):
                return 2 * super().decision_function(X)

        class Halved(LogisticRegression):
            def predict_proba(self, X):
                return (super().predict_proba(X) + 0.5) / 2

        for model in (Doubled(), Halved()):
            binaries = one_vs_one(model, self.X, self.y)
            assert not any(map(is_in_linear_bank, binaries))
            assert_same_scores(Bank(binaries).scores(self.X), own_scores(binaries, self.X))

    def test_subclasses_that_override_only_fit_are_members(self):
        binaries = one_vs_one(RidgeClassifierCV(), self.X, self.y)
        assert all(map(is_in_linear_bank, binaries))
        assert_same_scores(Bank(binaries).scores(self.X), own_scores(binaries, self.X))


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), SGDClassifier(alpha=0.1)])
def test_votes_from_signs_alone_are_those_of_the_answers(estimator):
    X, y = load_iris(return_X_y=True)
    classifier = PolytomyClassifier(estimator, "one-vs-one", solver="hamming", random_state=0).fit(
        X, y
    )
    votes = classifier.decision_function(X)
    np.testing.assert_array_equal(
        votes, decode(classifier.scheme_, classifier.decisions(X), "hamming")
    )
    turned = classifier.with_scheme("a 1 / 0; b 0 / 2; c 1 / 2; {0 1 2}")
    np.testing.assert_array_equal(turned.decision_function(X), votes)
