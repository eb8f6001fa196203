"""Nested values as JSON and a few long arrays, and the way back."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix, random_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

import polytomy as pt
from persistence.round_trips import LABELS, X, reload
from persistence.saved_archives import unpack as unpack_archive
from polytomy.calibration import SigmoidCalibrator
from polytomy.calibration.final import BiasMap
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence.packing import Packer, Unpacker, pack_labels
from polytomy.states import State, stored_as


def packed_and_unpacked(value, packer=None):
    packer = Packer() if packer is None else packer
    text = json.dumps(packer.pack(value), allow_nan=False)
    unpacker = Unpacker(packer.arrays(), packer.objects)
    again = unpacker.unpack(json.loads(text), "it")
    unpacker.check_all_used()
    return again


def assert_same(one, other):
    assert type(other) is type(one)
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(other, one)
        assert (other.dtype, other.shape) == (one.dtype, one.shape)
    elif isinstance(one, list | tuple):
        assert len(other) == len(one)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, dict):
        assert_same(list(one.items()), list(other.items()))
    else:
        assert other == one or (other != other and one != one)


finite = st.floats(allow_nan=False, allow_infinity=False)
shapes = st.lists(st.integers(0, 5), min_size=1, max_size=2).map(tuple)
number_arrays = st.one_of(
    arrays(np.float64, shapes, elements=finite),
    arrays(np.float32, shapes, elements=st.floats(-1024, 1024, width=32)),
    arrays(np.float16, shapes, elements=st.floats(-1000, 1000, width=16)),
    arrays(np.int64, shapes),
)
label_arrays = st.one_of(
    arrays(np.int8, st.integers(0, 5)),
    arrays(np.bool_, st.integers(0, 5)),
    st.lists(st.text(min_size=1).filter(lambda text: "\0" not in text), min_size=1).map(np.array),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
keys = st.one_of(st.none(), st.integers(), st.text())
values = st.recursive(
    st.one_of(scalars, number_arrays, label_arrays),
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(keys, inner)
    ),
    max_leaves=12,
)


@given(values)
def test_unpacking_what_was_packed_returns_the_same_value(value):
    assert_same(value, packed_and_unpacked(value))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_matrices_stay_sparse(dtype):
    matrix = csr_matrix(random_array((7, 5), density=0.3, rng=0).astype(dtype))
    again = packed_and_unpacked(matrix)
    assert isinstance(again, csr_matrix)
    np.testing.assert_array_equal(again.toarray(), matrix.toarray())


def test_scalars_of_numpy_become_those_of_python():
    assert_same([3, 0.5, True], packed_and_unpacked([np.int64(3), np.float32(0.5), np.bool_(True)]))


def test_integers_take_as_few_bytes_as_their_array_allows():
    packer = Packer()
    packer.pack([np.array([0, 255]), np.array([-1]), np.array([256]), np.array([2**40])])
    assert set(packer.arrays()) == {"uint8", "int8", "uint16", "uint64"}


def test_numbers_that_are_not_finite_are_not_packed():
    with pytest.raises(ModelFileError, match="values that are not finite, so it cannot be saved"):
        Packer().pack(np.array([1.0, np.nan]))


@pytest.mark.parametrize("label", [(1, 2), None, math.nan])
def test_labels_are_text_or_numbers(label):
    labels = np.empty(1, dtype=object)
    labels[0] = label
    with pytest.raises(ArgumentError, match=r"cannot be saved\. Use text or numbers"):
        pack_labels(labels)


# -- instances -----------------------------------------------------------------------------------


def test_an_instance_that_occurs_twice_is_packed_once():
    shared = BiasMap(1.0, 0.5, np.ones(3))
    packer = Packer()
    first, second, third = packed_and_unpacked([shared, SigmoidCalibrator(), shared], packer)
    assert first is third
    assert type(second) is SigmoidCalibrator
    assert len(packer.arrays()["float64"]) == 3


def test_another_object_can_be_packed_in_its_place():
    one, other = SigmoidCalibrator.of(1.0, 0.0), SigmoidCalibrator.of(2.0, 0.0)
    again = packed_and_unpacked([one, one], Packer({id(one): other}))
    assert again[0].slope_ == 2.0
    assert again[0] is again[1]


def test_objects_that_are_not_plain_are_collected():
    thing = object()
    packer = Packer()
    assert packer.pack([thing, thing]) == [{"object": 0}, {"object": 0}]
    assert packer.objects == [thing]


def test_an_instance_without_a_plain_state_is_collected():
    model = LogisticRegression(max_iter=500).fit(X, LABELS)  # of three classes
    packer = Packer()
    assert packer.pack(model) == {"object": 0}
    assert packer.objects == [model]


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        ({}, "it is not a value that polytomy writes"),
        ({"tuple": 3}, "it is not a value that polytomy writes"),
        ({"dict": [[1]]}, "it is not a value that polytomy writes"),
        ({"dict": [[[1], 2]]}, "it is not a value that polytomy writes"),
        ({"float": "1"}, "it is not a value that polytomy writes"),
        ({"same": 0}, "it is not a value that polytomy writes"),
        ({"same": -1}, "it is not a value that polytomy writes"),
        ({"object": 0}, "it is not a value that polytomy writes"),
        (1e999, "it is a number that is too large"),
        ({"array": ["float64", 3]}, "it has more numbers of type float64 than the file"),
        ({"array": ["float64", 2**62, 2**62]}, "it has more numbers of type float64"),
        ({"array": ["object", 1]}, "it has more numbers of type object than the file"),
        ({"array": ["float64", -1]}, "it does not have a valid shape"),
        ({"array": ["float64", 1, 1, 1]}, "it does not have a valid shape"),
        ({"array": ["float64", True]}, "it does not have a valid shape"),
        ({"array": ["float64"]}, "it does not have a valid shape"),
        ({"sparse": [1, 2]}, "it is not a value that polytomy writes"),
        ({"sparse": [1, 2, 3, 4]}, "it is not a sparse matrix in CSR format"),
        ({"labels": ["<i8", [0, "a"]]}, "it is not a list of labels of type <i8"),
        ({"labels": ["<c16", [0]]}, "it is not a list of labels of type <c16"),
        ({"labels": ["|i1", [300]]}, "it is not a list of labels of type |i1"),
        ({"labels": ["<f4", [1e300]]}, "it is not a list of labels of type <f4"),
        ({"kind": "magic"}, "it is of the kind magic, which is not known. If another package"),
        ({"kind": ["a"]}, "which is not known"),
        ({"kind": "calibrator/sigmoid", "slope": "x"}, "it.slope is not a number"),
        ([[{"kind": "calibrator/sigmoid", "slope": "x"}]], "it[0][0].slope is not a number"),
    ],
)
def test_other_json_is_refused(packed, words):
    with pytest.raises(ModelFileError) as caught:
        Unpacker({"float64": np.zeros(2)}).unpack(packed, "it")
    assert words in str(caught.value)


def test_values_that_are_nested_too_deeply_are_refused():
    value = 1
    for _ in range(50):
        value = [value]
    with pytest.raises(ModelFileError, match="is nested too deeply"):
        Unpacker({}).unpack(value, "it")


@pytest.mark.parametrize(
    ("columns", "ends"), [([0, 3], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [1, 1, 2])]
)
def test_indices_of_sparse_matrices_are_checked(columns, ends):
    stored = {"float64": np.ones(2), "int64": np.array([*columns, *ends])}
    reference = [
        {"tuple": [2, 3]},
        {"array": ["float64", 2]},
        {"array": ["int64", 2]},
        {"array": ["int64", 3]},
    ]
    with pytest.raises(ModelFileError, match="it"):
        Unpacker(stored).unpack({"sparse": reference}, "it")


@pytest.mark.parametrize(
    "array", [np.zeros((1, 2)), np.zeros(2, np.float32), np.zeros(2, ">f8"), np.array(["a"])]
)
def test_arrays_of_another_type_or_shape_are_refused(array):
    if array.dtype == ">f8":
        assert Unpacker({"float64": array})  # the same numbers in another order of bytes
        return
    with pytest.raises(ModelFileError, match="the array of float64 has another type or shape"):
        Unpacker({"float64": array})


def test_every_number_belongs_to_an_array():
    unpacker = Unpacker({"float64": np.zeros(3)})
    unpacker.unpack({"array": ["float64", 2]}, "it")
    with pytest.raises(ModelFileError, match="more numbers of type float64 than the model"):
        unpacker.check_all_used()


# -- kinds that are defined elsewhere --------------------------------------------------------------


@stored_as("calibrator/step")
class StepCalibrator:
    """P(+1) is one of two numbers; `src` does not know it."""

    def fit(self, decision_values, target, sample_weight=None):
        is_high = np.asarray(decision_values) > 0
        self.levels_ = np.array([np.mean(target[is_high == side]) for side in (False, True)])
        return self

    def predict(self, decision_values):
        return self.levels_[(np.asarray(decision_values) > 0).astype(int)]

    def state(self):
        return {"levels": self.levels_} if hasattr(self, "levels_") else {}

    @classmethod
    def from_state(cls, state: State):
        calibrator = cls()
        if "levels" in state:
            calibrator.levels_ = state.floats("levels", (2,), 0.0, 1.0)
        return calibrator


@stored_as("final calibrator/flattened")
class FlattenedCalibrator:
    """Probabilities half-way to even ones; `src` does not know it."""

    def fit(self, log_probabilities, y, sample_weight=None):
        self.share_ = 0.5
        return self

    def predict_proba(self, log_probabilities):
        proba = np.exp(log_probabilities)
        even = np.full_like(proba, 1 / proba.shape[1])
        return self.share_ * even + (1 - self.share_) * proba / proba.sum(axis=1, keepdims=True)

    def state(self):
        return {"share": getattr(self, "share_", None)}

    @classmethod
    def from_state(cls, state):
        calibrator = cls()
        if "share" in state:
            calibrator.share_ = state.number("share", 0.0, 1.0)
        return calibrator


def test_kinds_that_are_defined_here_are_saved_and_loaded(tmp_path):
    classifier = pt.PolytomyClassifier(
        LinearSVC(),
        calibration=StepCalibrator(),
        final_calibration=FlattenedCalibrator(),
        random_state=0,
    ).fit(X, LABELS)
    again = reload(classifier, tmp_path, out_of_fold=True)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert type(again.calibration) is StepCalibrator
    assert type(again.final_calibration) is FlattenedCalibrator
    description, members = unpack_archive((tmp_path / "m.polytomy").read_bytes())
    assert "others.skops" not in members
    assert '"calibrator/step"' in json.dumps(description)


def test_a_value_that_such_a_kind_does_not_expect_names_its_place(tmp_path):
    classifier = pt.PolytomyClassifier(SVC(), calibration=StepCalibrator(), random_state=0)
    classifier.fit(X, LABELS)
    first = classifier.binaries_[0].calibrator.calibrator
    first.levels_ = np.array([0.5, 2.0])
    words = r"binaries\[0\]\.calibrator\.calibrator\.levels is not an array of numbers from 0 to 1"
    with pytest.raises(ArgumentError, match=words):
        pt.save(classifier, tmp_path / "m.polytomy")
    assert not (tmp_path / "m.polytomy").exists()
