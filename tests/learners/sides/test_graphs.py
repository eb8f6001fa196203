"""Models with more than two sides answer the same in onnxruntime."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.calibration.folds import Folds
from polytomy.errors import ArgumentError
from polytomy.learners.problems import SidesProblem
from polytomy.learners.sides import SidesModel, export_sides, train_sides
from polytomy.learners.trained import Output
from polytomy.learners.workload import TrainingOptions
from polytomy.onnx_graph import Graph

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

RANDOM = np.random.default_rng(0)
N_SIDES = 4
SIDES = np.arange(200) % N_SIDES
X = RANDOM.normal(size=(200, 3)) + RANDOM.normal(size=(N_SIDES, 3))[SIDES] * 2 + 50.0
NEW = RANDOM.normal(size=(60, 3)) * RANDOM.choice([1.0, 8.0], (60, 1)) + 50.0


def train(estimator, sides=SIDES, samples=X, **options):
    problem = SidesProblem("m", np.arange(len(sides)), sides, N_SIDES)
    folds = Folds.from_numbers(np.arange(len(sides)) // N_SIDES % 5)
    trained = train_sides(
        estimator, samples, problem, TrainingOptions(**options), folds=folds, seed=0
    )
    return trained[0].binary.estimator


def assert_same(compute, model, new=NEW):
    found = compute(lambda graph, x: export_sides(graph, x, model), new)
    np.testing.assert_allclose(found, 2 * model.predict_proba(new) - 1, rtol=0, atol=1e-9)


MODELS = [
    LogisticRegression(max_iter=500),
    LogisticRegressionCV(Cs=2, cv=2, max_iter=500, scoring="accuracy"),
    LinearDiscriminantAnalysis(),
    SGDClassifier(loss="log_loss", random_state=0),
    SGDClassifier(random_state=0),
    LinearSVC(),
    RidgeClassifier(),
    Perceptron(),
    SVC(gamma=0.3),
    SVC(kernel="linear"),
    SVC(kernel="poly", degree=2, gamma=0.1, coef0=1),
    SVC(kernel="sigmoid", gamma=0.01),
    NuSVC(nu=0.2),
]


@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_every_model_answers_the_same(compute, estimator):
    assert_same(compute, train(make_pipeline(StandardScaler(), MinMaxScaler(), estimator)))


def test_a_model_after_a_converted_step_answers_the_same(compute):
    assert_same(compute, train(make_pipeline(StandardScaler(), PCA(2), LinearSVC())))


@pytest.mark.parametrize(
    "estimator", [SVC(), LinearSVC(), LogisticRegression(max_iter=900)], ids=str
)
@pytest.mark.parametrize("calibration", ["auto", "sigmoid", "temperature", None])
def test_every_calibration_is_applied(compute, estimator, calibration):
    assert_same(compute, train(make_pipeline(StandardScaler(), estimator), calibration=calibration))


@pytest.mark.parametrize("known", [(0, 2, 3), (1, 3)], ids=str)
@pytest.mark.parametrize(
    "estimator",
    [SVC(), LinearSVC(), LogisticRegression(max_iter=900), SGDClassifier("log_loss")],
    ids=str,
)
def test_sides_without_samples_have_no_probability(compute, estimator, known):
    is_known = np.isin(SIDES, known)
    model = train(make_pipeline(StandardScaler(), estimator), SIDES[is_known], X[is_known])
    assert model.known_sides == known
    assert_same(compute, model)


@pytest.mark.parametrize("known", [(), (2,)], ids=str)
def test_a_model_of_one_side_is_certain(compute, known):
    assert_same(compute, SidesModel("m", 3, None, known))


def test_classes_of_the_model_may_be_in_another_order_than_the_sides(compute):
    model = LogisticRegression(max_iter=900).fit(X, SIDES)
    assert_same(compute, SidesModel("m", N_SIDES, model, (2, 0, 3, 1), (0, 1, 2, 3)))


@pytest.mark.parametrize("estimator", [SVC(), LinearSVC()], ids=str)
def test_models_trained_on_sparse_samples_answer_dense_ones(compute, estimator):
    sparse = csr_matrix(np.where(X > 50, X - 50, 0.0))
    assert_same(compute, train(estimator, samples=sparse), NEW - 50)


def test_values_so_low_that_no_side_is_left_are_shared_evenly(compute):
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X, SIDES)
    model.coef_[:], model.intercept_[:] = 0.0, [-800.0, -900.0, -1000.0, -800.0]
    sides = SidesModel("m", N_SIDES, model, (0, 1, 2, 3), (0, 1, 2, 3))
    # scikit-learn answers the same from version 1.9 on; before, its probabilities are NaN.
    found = compute(lambda graph, x: export_sides(graph, x, sides), NEW)
    np.testing.assert_allclose(found, 2 / N_SIDES - 1, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (RadiusNeighborsClassifier(9.0), "RadiusNeighborsClassifier"),
        (SVC(kernel=lambda A, B: A @ B.T), "SVC"),
        (make_pipeline(Nystroem(), LinearSVC()), "Pipeline of Nystroem, LinearSVC"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_models_that_cannot_be_exported_are_refused_by_name(estimator, kind):
    graph = Graph()
    samples = graph.input("X", np.float64, ["n", 3])
    with pytest.raises(ArgumentError) as caught:
        export_sides(graph, samples, train(estimator))
    assert str(caught.value).startswith(
        f'the model of partition "m" is a {kind} for 4 sides, which cannot be exported: '
    )
    assert str(caught.value).endswith("such as @one-vs-one, in its place.")


def test_predictions_alone_cannot_be_exported():
    model = SidesModel("m", N_SIDES, LinearSVC().fit(X, SIDES), (0, 1, 2, 3), output=Output.LABEL)
    graph = Graph()
    with pytest.raises(ArgumentError, match="is a LinearSVC for 4 sides, which cannot be exported"):
        export_sides(graph, graph.input("X", np.float64, ["n", 3]), model)
