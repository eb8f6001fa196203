import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from polytomy.calibration.calibrators import VectorScaling
from polytomy.learners.bank import Bank
from polytomy.learners.sides import SidesModel, adopt_model, side_binaries
from polytomy.learners.trained import Output

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 20, axis=0)


class Counting(LogisticRegression):
    """Counts how often it is asked."""

    n_calls = 0

    def predict_proba(self, X):
        self.n_calls += 1
        return super().predict_proba(X)


def test_the_model_of_several_sides_is_asked_once():
    models = [Counting().fit(X, np.repeat(["a", "b", "c"], 20)) for _ in range(2)]
    first, second = (adopt_model(each, [("a",), ("c",), ("b",)], name="m") for each in models)
    bank = Bank([first[2], second[0], first[0], first[1], second[2]])
    scores = bank.scores(X)
    assert [model.n_calls for model in models] == [1, 1]
    for column, binary in enumerate(bank.binaries):
        np.testing.assert_array_equal(scores[:, column], binary.scores(X))
    np.testing.assert_allclose(scores[:, [0, 2, 3]].sum(axis=1), -1.0)


def sides_of(model, n_sides, known, scaling=None):
    """Return the sides of a model that was fitted to the numbers 0, 1, …"""
    has_probabilities = hasattr(model, "predict_proba")
    output = Output.PROBABILITY if has_probabilities else Output.MARGIN
    if scaling is None and not has_probabilities:
        scaling = VectorScaling(np.ones(n_sides), np.zeros(n_sides))
    labels = tuple(range(len(known)))
    return side_binaries(SidesModel("m", n_sides, model, known, labels, output, scaling))


SCALING = VectorScaling(np.array([0.5, 2.0, 1.0, 1.5]), np.array([0.1, -0.2, 0.0, 0.3]))
LINEAR = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LinearSVC(),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MaxAbsScaler(), LinearSVC()),
]
OTHERS = [SGDClassifier(loss="log_loss", random_state=0), SVC(kernel="linear"), SVC()]


@pytest.mark.parametrize("scaling", [None, SCALING])
@pytest.mark.parametrize("known", [(2, 0), (3, 0, 1), (0, 1, 2, 3)])
def test_linear_models_of_several_sides_answer_together_as_each_alone(known, scaling):
    rng = np.random.default_rng(1)
    y = np.arange(80) % len(known)
    samples = 3 * rng.normal(size=(len(known), 5))[y] + rng.normal(size=(80, 5)) + 10
    binaries = [
        side
        for each in [*LINEAR, *OTHERS]
        for side in sides_of(each.fit(samples, y), 4, known, scaling)
    ]
    order = rng.permutation(len(binaries))
    bank = Bank([binaries[k] for k in order])
    own = np.column_stack([binary.scores(samples) for binary in bank.binaries])
    np.testing.assert_allclose(bank.scores(samples), own, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bank.scores(samples[:1]), own[:1], rtol=0, atol=1e-12)


def test_sparse_samples_and_sparse_weights_answer_together_as_each_alone():
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    samples = csr_array(np.where(rng.uniform(size=(90, 8)) < 0.4, rng.normal(size=(90, 8)), 0.0))
    models = [each.fit(samples, y) for each in (LogisticRegression(), LinearSVC(C=0.1))]
    models.append(LogisticRegression(C=0.1).fit(samples, y).sparsify())
    binaries = [side for each in models for side in sides_of(each, 3, (0, 1, 2))]
    own = np.column_stack([binary.scores(samples) for binary in binaries])
    np.testing.assert_allclose(Bank(binaries).scores(samples), own, rtol=0, atol=1e-12)
