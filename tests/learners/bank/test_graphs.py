"""Graphs of binaries give the same answers as the binaries."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from bank_machines import one_vs_one, three_classes
from polytomy.calibration.calibrators import (
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.errors import ArgumentError
from polytomy.learners.bank import Bank
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.onnx_graph import Graph

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

MODELS = [
    SVC(gamma=0.3),
    SVC(kernel="linear", C=5),
    SVC(kernel="poly", degree=2, gamma=0.2, coef0=1),
    SVC(kernel="sigmoid", gamma=0.1, coef0=-0.5),
    SVC(),  # every pair has its own gamma
    NuSVC(nu=0.3),
    LinearSVC(),
    LogisticRegression(),
    RidgeClassifier(),
    Perceptron(),
    SGDClassifier(loss="log_loss", random_state=0),
    make_pipeline(StandardScaler(), SVC(gamma=0.3)),
    make_pipeline(MinMaxScaler((-1, 2)), LogisticRegression()),
    make_pipeline(StandardScaler(with_mean=False), MaxAbsScaler(), LinearSVC()),
]


def data(seed=0, *, shift=0.0, sparse=False):
    rng = np.random.default_rng(seed)
    X, y = three_classes(rng, 90, 4, sparse=sparse)
    return X + shift, y, rng.normal(size=(40, 4)) * 2 + shift


def assert_same(compute, binaries, X):
    found = compute(lambda graph, x: Bank(binaries).to_onnx(graph, x), X)
    expected = np.column_stack([binary.decisions(X) for binary in binaries])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def calibrated(binary, calibrator, X, y):
    """Return the binary with a calibrator fitted to its own decision values."""
    raw = TrainedBinary(
        binary.name,
        Output.MARGIN,
        binary.estimator,
        classes=binary.classes,
        positive_index=binary.positive_index,
    )
    learnt = calibrator.fit(raw.scores(X), y > 0)
    return TrainedBinary(
        raw.name,
        raw.output,
        raw.estimator,
        learnt,
        classes=raw.classes,
        positive_index=raw.positive_index,
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_model_answers_the_same(compute, model):
    X, y, new = data()
    assert_same(compute, one_vs_one(model, X, y), new)


@pytest.mark.parametrize(
    "model", [SVC(gamma=0.3), make_pipeline(StandardScaler(), LinearSVC())], ids=str
)
def test_samples_far_from_the_origin_lose_no_digits(compute, model):
    X, y, new = data(shift=3000.0)
    assert_same(compute, one_vs_one(model, X, y), new)


@pytest.mark.parametrize("model", [SVC(gamma=0.3), LinearSVC(), SVC(kernel="linear")], ids=str)
def test_models_trained_on_sparse_samples_answer_dense_ones(compute, model):
    X, y, new = data(sparse=True)
    assert_same(compute, one_vs_one(model, csr_matrix(X), y), new)


@pytest.mark.parametrize(
    "calibrator",
    [UncalibratedMap(), SigmoidCalibrator(), TemperatureCalibrator(), IsotonicCalibrator()],
    ids=repr,
)
def test_every_calibrator_is_applied(compute, calibrator):
    X, y, new = data(1)
    binaries = one_vs_one(SVC(gamma=0.3), X, y)
    assert_same(compute, [calibrated(binaries[0], calibrator, X, y)], new)


def test_binaries_of_all_kinds_answer_in_their_own_order(compute):
    X, y, new = data(2)
    (a, b, c), (d, e, f) = (one_vs_one(model, X, y) for model in (SVC(), LogisticRegression()))
    constant = TrainedBinary("always", Output.CONSTANT, constant=-0.25)
    sure = TrainedBinary("sure", Output.CONSTANT, None, UncalibratedMap(), constant=np.log(3))
    binaries = [
        d,
        calibrated(a, IsotonicCalibrator(), X, y),
        constant,
        calibrated(b, SigmoidCalibrator(), X, y),
        calibrated(e, IsotonicCalibrator(), X, y),
        sure,
        calibrated(c, IsotonicCalibrator(), X, y),
        f,
    ]
    assert_same(compute, binaries, new)
    assert_same(compute, [constant, sure], new)


def test_machines_share_a_pool(compute):
    rng = np.random.default_rng(3)
    pool = VectorPool(rng.normal(size=(9, 4)))
    binaries = [
        TrainedBinary(
            f"m{k}",
            Output.MARGIN,
            KernelMachine(KernelFunction("rbf", gamma=0.5), pool, support, coefficients, 0.1 * k),
            UncalibratedMap(),
            positive_index=k % 2,
        )
        for k, (support, coefficients) in enumerate(
            [
                (np.array([0, 3, 5]), rng.normal(size=3)),
                (np.array([5, 1, 5]), rng.normal(size=3)),  # one vector twice
                (np.array([], dtype=np.intp), np.array([])),
            ]
        )
    ]
    new = rng.normal(size=(20, 4))
    assert_same(compute, binaries, new)
    assert_same(compute, binaries[2:], new)


def test_an_isotonic_map_of_one_knot_is_constant(compute):
    X, y, new = data(4)
    binary = one_vs_one(LinearSVC(), X, y)[0]
    flat = IsotonicCalibrator()
    flat.knots_, flat.probabilities_ = np.array([0.5]), np.array([0.75])
    binary = TrainedBinary("flat", Output.MARGIN, binary.estimator, flat)
    found = compute(lambda graph, x: Bank([binary]).to_onnx(graph, x), new)
    np.testing.assert_allclose(found, np.full((40, 1), 0.5), atol=1e-15)


class OwnCalibrator(SigmoidCalibrator):
    def predict(self, decision_values):
        return super().predict(decision_values) ** 2


def own_kernel(X, Y):
    return X @ Y.T


def refused(binaries, words):
    graph = Graph()
    with pytest.raises(ArgumentError, match=re.escape(words)):
        Bank(binaries).to_onnx(graph, graph.input("X", np.float64, ["n", 4]))


def test_binaries_that_cannot_be_exported_are_refused_by_name():
    X, y, _ = data()
    neighbours = KNeighborsClassifier(3, weights="distance")
    refused(
        one_vs_one(neighbours, X, y),
        'binary "0-1" is a KNeighborsClassifier with the output probability, which cannot be '
        "exported: only neighbours of equal weight can be converted. Fit with SVC or NuSVC",
    )
    asked = TrainedBinary(
        "f", Output.LOG_ODDS, neighbours.fit(X, y == 0), SigmoidCalibrator(), classes=(False, True)
    )
    refused([asked], 'binary "f" is a KNeighborsClassifier with the output log-odds, which cannot')
    refused(
        one_vs_one(make_pipeline(Nystroem(), SVC()), X, y),
        'binary "0-1" is a Pipeline of Nystroem, SVC, which cannot be exported: Nystroem has no '
        "graph (its converter says: Unable to find a shape calculator for type",
    )
    refused(
        one_vs_one(SVC(kernel=own_kernel), X, y),
        'binary "0-1" is a SVC with kernel own_kernel, which cannot be exported: its kernel',
    )
    machines = one_vs_one(SVC(), X, y)
    refused(
        [calibrated(machines[0], OwnCalibrator(), X, y)],
        'binary "0-1" is calibrated by OwnCalibrator(), which cannot be exported. Fit with '
        'calibration="sigmoid", "isotonic" or "temperature".',
    )
    refused(one_vs_one(SVC(gamma=1e5), X, y), "Scale the features, or choose a smaller gamma.")
