"""States of all kinds of parts: made again, or refused with the name of the wrong value."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from polytomy.calibration import IsotonicCalibrator, SigmoidCalibrator, TemperatureCalibrator
from polytomy.calibration.calibrators import ProvidedCalibrator, UncalibratedMap, VectorScaling
from polytomy.calibration.final import BiasMap, DecoderMap, ProvidedMap
from polytomy.calibration.reservoir import Reservoir, StreamedRows
from polytomy.errors import ModelFileError, PolytomyError
from polytomy.learners.borders import BorderMachine
from polytomy.learners.sides import SidesModel
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.decisions import ClassFrequencies, Costs, PriorShift
from polytomy.model.out_of_fold import FinalCalibration, OutOfFold
from polytomy.model.sets import ConformityRows
from polytomy.regression import CumulativeScaling, IntervalCorrection, TargetBins
from polytomy.states import State, find_kind, find_kind_of, is_plain, register_kind, stored_as
from remade import remake, state_of

VALUES, TARGET = np.linspace(-2, 2, 40), np.linspace(-2, 2, 40) + np.sin(np.arange(40)) > 0
POOL = VectorPool(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
MACHINE = KernelMachine(
    KernelFunction("rbf", 0.5), POOL, np.array([0, 2]), np.array([-1.0, 1.0]), 0.25
)
SIGMOID = SigmoidCalibrator.of(2.0, -0.5)
FITTED = LogisticRegression().fit(VALUES[:, None], TARGET)
BINS = TargetBins(
    np.array([0.0, 1.0]),
    np.array([-1.0, 0.0, 0.5, 1.0]),
    np.array([0, 1, 1]),
    np.array([1, 0.5, 0.5]),
)
ROWS = ConformityRows(np.full((2, 3), -1.0, np.float16), np.array([0, 2]), np.array([1.0, 2.0]))
SCORES = OutOfFold(
    np.zeros((2, 1), np.float32),
    np.array([0, 3]),
    5,
    np.array([1, 0]),
    np.array([1.0, 0.5]),
    np.array([0, 1]),
    "bias",
    7,
)
RESERVOIR = Reservoir.empty(2, 4, 0).take(
    StreamedRows(np.arange(400.0).reshape(200, 2), np.arange(200) % 2)
)[0]
BIAS = BiasMap(2.0, 0.1, np.array([0.0, 1.0]))
SIDED = SidesModel(
    "m", 3, FITTED, (0, 2), (False, True), Output.MARGIN, VectorScaling(np.ones(3), np.zeros(3))
)
ISOTONIC = IsotonicCalibrator().fit(VALUES, TARGET)
DECODER = DecoderMap(2.0, 0.1, np.array([0.0, 1.0]), np.ones((3, 2)))
PROVIDED = ProvidedMap(FITTED, 0.1, 2)
SCALING = VectorScaling(np.ones(2), np.zeros(2))
BORDERS = BorderMachine(np.ones((2, 3)), np.zeros((2, 3)))
BINARY = TrainedBinary("a", Output.MARGIN, MACHINE, SIGMOID, seconds=0.5, shortcoming="few")
PICKED = TrainedBinary(
    "a", Output.PROBABILITY, FITTED, None, (False, True), 0, columns=np.array([0])
)
CONSTANT = TrainedBinary("a", Output.CONSTANT, constant=-0.5)
SIDE = TrainedBinary("m/1", Output.SIDE, SIDED, positive_index=2)
FINAL = FinalCalibration(BIAS, {"accuracy": 0.5}, conformity=ROWS)
FREQUENCIES = ClassFrequencies(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
PRIOR = PriorShift(np.array([1.0, 0.0]), np.array([0.25, 0.75]))
COSTS = Costs(np.ones((2, 2)))
REJECTING = Costs(np.ones((2, 2)), 0.5, "?")
CUMULATIVE = CumulativeScaling(2.0, 0.5)
CORRECTION = IntervalCorrection(np.array([0.1, 0.2]), np.array([0.5, 1.0]), 12.5)
INSTANCES = [
    UncalibratedMap(),
    SIGMOID,
    SigmoidCalibrator(),
    TemperatureCalibrator().fit(VALUES, TARGET),
    ISOTONIC,
    IsotonicCalibrator(),
    BIAS,
    DECODER,
    PROVIDED,
    SCALING,
    POOL,
    VectorPool(csr_matrix(np.eye(3))),
    MACHINE,
    BORDERS,
    BINARY,
    PICKED,
    CONSTANT,
    SIDE,
    SIDED,
    SidesModel("m", 3, None, (1,)),
    ROWS,
    SCORES,
    FINAL,
    FREQUENCIES,
    PRIOR,
    COSTS,
    REJECTING,
    RESERVOIR,
    Reservoir.empty(2, 4, 0),
    BINS,
    CUMULATIVE,
    CORRECTION,
]


def assert_equal(one, other):
    """Assert that two states are the same, types included."""
    assert type(other) is type(one)
    if isinstance(one, dict):
        assert other.keys() == one.keys()
        for name in one:
            assert_equal(one[name], other[name])
    elif hasattr(one, "toarray"):
        assert_equal(one.toarray(), other.toarray())
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(other, one)
        assert other.dtype == one.dtype
    elif not dataclasses.is_dataclass(one):
        assert other == one


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda each: type(each).__name__)
def test_what_is_made_from_a_state_has_the_same_state(instance):
    again = remake(instance)
    assert type(again) is type(instance)
    assert_equal(state_of(instance), state_of(again))


@pytest.mark.parametrize("kind", [LogisticRegression(), IsotonicRegression(out_of_bounds="clip")])
def test_a_provided_calibrator_answers_the_same(kind):
    calibrator = ProvidedCalibrator(kind).fit(VALUES, TARGET)
    np.testing.assert_array_equal(remake(calibrator).predict(VALUES), calibrator.predict(VALUES))


TINY = np.array([1e-200, 1e-200])


@pytest.mark.parametrize(
    ("instance", "name", "value", "words"),
    [
        (SIGMOID, "slope", "1", "a number from"),
        (SIGMOID, "slope", 1e200, "a number from"),
        (SIGMOID, "intercept", None, "a number from"),
        (ISOTONIC, "knots", np.array([]), r"shape \(0,\)"),
        (ISOTONIC, "knots", ISOTONIC.knots_[::-1], "an array of ascending values"),
        (ISOTONIC, "probabilities", np.array([0.5]), "shape"),
        (ISOTONIC, "probabilities", ISOTONIC.knots_, "an array of numbers from 0 to 1"),
        (ProvidedCalibrator(FITTED), "calibrator", 3, "an object with predict"),
        (BIAS, "scale", -1.0, "a number from 0 to"),
        (BIAS, "floor", -1e-9, "a number from 0 to"),
        (BIAS, "bias", np.array([[1.0]]), r"an array of floats of shape \(any,\)"),
        (BIAS, "bias", np.array([1e200]), "an array of numbers from"),
        (BIAS, "bias", np.array([1]), "an array of floats"),
        (DECODER, "weights", np.ones((3, 3)), r"of shape \(any, 2\)"),
        (PROVIDED, "calibrator", BIAS, "an object with predict_proba"),
        (PROVIDED, "calibrator", None, "an object with predict_proba"),
        (PROVIDED, "floor", 0.0, "a number from"),
        (SCALING, "slopes", np.array([1.0, 0.0]), "an array of numbers from"),
        (SCALING, "intercepts", np.zeros(3), r"shape \(2,\)"),
        (POOL, "vectors", np.ones(3), "a matrix of floats"),
        (POOL, "vectors", np.ones((1, 1), np.float16), "a matrix of floats"),
        (MACHINE, "pool", SIGMOID, "a kind of vectors"),
        (MACHINE, "kernel", 3, "text"),
        (MACHINE, "degree", 2**31, "an integer from 0 to 1000"),
        (MACHINE, "gamma", np.nan, "a number from"),
        (MACHINE, "support", np.array([0, 3]), "an array of integers below 3"),
        (MACHINE, "support", np.array([0, -1]), "an array of integers below 3"),
        (MACHINE, "support", np.array([[0, 1]]), "an array of integers of shape"),
        (MACHINE, "coefficients", np.ones(3), r"shape \(2,\)"),
        (BINARY, "output", "pickle", "one of probability, log-odds"),
        (BINARY, "output", "probability", "a kind of estimator with predict_proba"),
        (BINARY, "estimator", SIGMOID, "a kind of estimator"),
        (BINARY, "estimator", LogisticRegression(), "fitted"),
        (BINARY, "calibrator", None, "a map of a margin to probabilities"),
        (BINARY, "calibrator", BIAS, "a kind of calibrator"),
        (BINARY, "classes", (1,), "two labels"),
        (BINARY, "positive_index", 2, "an integer from 0 to 1"),
        (BINARY, "seconds", -1.0, "a number from 0"),
        (PICKED, "columns", np.array([-1]), "an array of integers below"),
        (CONSTANT, "constant", 1.5, "a number from -1 to 1"),
        (SIDE, "positive_index", 3, "an integer from 0 to 2"),
        (SIDE, "estimator", MACHINE, "a kind of sided model"),
        (SIDED, "n_sides", 1, "an integer from 2"),
        (SIDED, "known_sides", (0, 3), "different numbers below 3"),
        (SIDED, "known_sides", (0, 0), "different numbers below 3"),
        (SIDED, "labels", (0,), "a label for each of 2 sides"),
        (SIDED, "output", "side", "one of probability, margin, label"),
        (SIDED, "estimator", None, "a classifier"),
        (SIDED, "scaling", None, "a map of decision values to probabilities"),
        (SIDED, "scaling", VectorScaling(np.ones(2), np.zeros(2)), "for 3 sides"),
        (ROWS, "log_proba", np.zeros((2, 3)), "an array of type float16"),
        (ROWS, "log_proba", np.zeros((0, 3), np.float16), "an array of one row or more"),
        (ROWS, "log_proba", np.ones((2, 3), np.float16), "an array of numbers from"),
        (ROWS, "class_indices", np.array([0, 3]), "an array of integers below 3"),
        (ROWS, "weight", np.array([1.0, 0.0]), "an array of numbers from"),
        (SCORES, "scores", np.zeros((2, 1)), "an array of type float32"),
        (SCORES, "rows", np.array([3, 0]), "an array of ascending numbers"),
        (SCORES, "rows", np.array([0, 5]), "an array of integers below 5"),
        (SCORES, "n_rows", 0, "an integer from 1"),
        (SCORES, "weight", np.array([1.0, 0.0]), "an array of positive numbers"),
        (SCORES, "weight", TINY, "an array of positive numbers"),
        (SCORES, "final_calibration", None, "a name or an object"),
        (SCORES, "seed", -1, "an integer from 0 to 4294967295"),
        (FINAL, "map", SIGMOID, "a kind of final calibration"),
        (FINAL, "score", 3, "a dict of values by name"),
        (FINAL, "score", {"accuracy": "x"}, "a number from"),
        (FINAL, "conformity", SIGMOID, "a kind of conformity"),
        (FREQUENCIES, "data", np.array([0.5, 0.6]), "probabilities that sum to one"),
        (FREQUENCIES, "model", np.array([1.5, -0.5]), "an array of numbers from 0"),
        (PRIOR, "prior", np.array([1.0]), "zero for the classes"),
        (PRIOR, "training", np.array([0.0, 1.0]), "zero for the classes"),
        (COSTS, "matrix", np.ones(4), r"shape \(any, any\)"),
        (REJECTING, "reject_label", None, "a label"),
        (REJECTING, "reject_cost", "x", "a number from"),
        (RESERVOIR, "size", 0, "an integer from 1"),
        (RESERVOIR, "n_rows", 3, "an array of integers below"),
        (RESERVOIR, "X", None, r"shape \(0,\)"),
        (RESERVOIR, "X", np.empty((0, 2)), "a matrix of one row or more"),
        (RESERVOIR, "keys", RESERVOIR.keys + 1, "an array of numbers from 0 to 1"),
        (RESERVOIR, "positions", RESERVOIR.positions[::-1], "an array of ascending numbers"),
        (RESERVOIR, "weight_of_class", np.zeros(2), "positive for the classes of the rows"),
        (RESERVOIR, "next_position", 10**9, "an integer from 0 to 200"),
        (RESERVOIR, "starts_late", 1, "true or false"),
        (BINS, "last_values", np.array([1.0, 0.0]), "an array of ascending numbers"),
        (BINS, "edges", BINS.edges[::-1], "an array of numbers that do not decrease"),
        (BINS, "bin_of", np.array([1, 1, 0]), "an array of bins in order"),
        (BINS, "shares", np.ones(3), "shares that sum to one in each bin"),
        (CUMULATIVE, "slope", 0.0, "a number from"),
        (CORRECTION, "distances", np.array([0.2, 0.1]), "an array of ascending numbers"),
        (CORRECTION, "reached", np.array([1.0, 0.5]), "an array of ascending numbers"),
        (CORRECTION, "n_effective", 0.0, "a number from"),
    ],
)
def test_a_wrong_value_is_named(instance, name, value, words):
    with pytest.raises(ModelFileError, match=rf"^it\.(\w+\.)?\w+ is not .*{words}"):
        remake(instance, **{name: value})


@pytest.mark.parametrize(
    ("instance", "changes"),
    [
        (MACHINE, {"kernel": "cosine"}),
        (BORDERS, {"borders": np.ones((3, 3))}),
        (SCORES, {"final_calibration": "magic"}),
        (BIAS, {"scale": 0.0, "floor": 0.0}),
    ],
)
def test_what_cannot_exist_is_not_made(instance, changes):
    with pytest.raises(PolytomyError):
        remake(instance, **changes)


# -- the registry --------------------------------------------------------------------------------


def test_only_the_class_itself_is_registered():
    class Derived(SigmoidCalibrator):
        pass

    assert find_kind_of(Derived()) is None
    assert find_kind_of(SIGMOID) is find_kind("calibrator/sigmoid")
    assert find_kind("calibrator/magic") is None
    assert find_kind(["calibrator/sigmoid"]) is None


def test_a_class_of_another_package_can_be_registered():
    register_kind(
        "test/slice", slice, lambda each: {"stop": each.stop}, lambda s: slice(s.value("stop"))
    )
    assert remake(slice(3)) == slice(3)
    assert find_kind_of(slice(3)).family == "test"


def test_a_registered_class_has_its_own_functions():
    @stored_as("test/point")
    class Point:
        def state(self):
            return {}

        @classmethod
        def from_state(cls, state):
            return cls()

    assert type(remake(Point())) is Point


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, True), ([1, (2.0, "x")], True), ({"a": np.int64(3)}, True), ([{1: object()}], False)],
)
def test_plain_values_are_numbers_text_and_collections_of_them(value, expected):
    assert is_plain(value) is expected


# -- values of a state ---------------------------------------------------------------------------

STATE = State(
    {"a": 3, "b": "x", "c": True, "d": [1], "e": np.array(["u", "v"]), "f": None, "g": 10**400},
    "it",
)


def test_values_are_read_by_type():
    assert (STATE.integer("a"), STATE.number("a"), STATE.text("b")) == (3, 3.0, "x")
    assert (STATE.boolean("c"), STATE.items("d")) == (True, [1])
    assert STATE.labels("e").tolist() == ["u", "v"]
    assert ("a" in STATE, "f" in STATE, "z" in STATE) == (True, False, False)
    assert set(STATE) == set("abcdefg")
    assert STATE.value("z") is None


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: STATE.integer("c"), "it.c is not an integer from 0 to 9007199254740992"),
        (lambda: STATE.integer("a", most=2), "it.a is not an integer from 0 to 2"),
        (lambda: STATE.number("c"), "it.c is not a number from"),
        (lambda: STATE.number("g"), "it.g is not a number from"),
        (lambda: STATE.text("a"), "it.a is not text"),
        (lambda: STATE.text("b", ["y", "z"]), "it.b is not one of y, z"),
        (lambda: STATE.boolean("a"), "it.a is not true or false"),
        (lambda: STATE.items("a"), "it.a is not a list"),
        (lambda: STATE.texts("d"), "it.d is not a list of texts"),
        (lambda: STATE.labels("e", 3), r"it.e is not an array of labels of shape \(3,\)"),
        (lambda: STATE.inner("a"), "it.a is not a dict of values by name"),
        (lambda: STATE.parts("d", "binary"), "it.d is not a kind of binary"),
        (lambda: State({"e": np.array([1, 1])}, "it").labels("e"), "an array of different labels"),
        (lambda: State({"m": np.ones((2, 2))}, "it").matrix("m", 3), "a matrix of 3 columns"),
    ],
)
def test_other_values_are_refused(read, words):
    with pytest.raises(ModelFileError, match=words):
        read()
