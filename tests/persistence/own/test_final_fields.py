"""Final calibrations in saved models."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from final_maps import with_decoder
from persistence.own.round_trips import LABELS, X, Y, assert_same, reload
from persistence.own.saved_archives import pack, unpack
from polytomy import PolytomyClassifier
from polytomy.calibration.final import BiasMap, DecoderMap
from polytomy.errors import ModelFileError, PolytomyWarning
from polytomy.model.out_of_fold import FinalCalibration
from polytomy.persistence import load, save
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.final_fields import read_final, write_final
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.persistence.own.vector_pools import SupportPools

SCHEMES = ["one-vs-one", "one-vs-rest", "a {setosa b {versicolor virginica}}"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("option", ["bias", "decoder", "auto"])
def test_a_final_calibration_is_kept(scheme, option, tmp_path):
    classifier = PolytomyClassifier(scheme=scheme, final_calibration=option, random_state=0)
    again = reload(classifier.fit(X, LABELS), tmp_path)
    assert_same(classifier, again)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.out_of_fold_score_ == classifier.out_of_fold_score_


def test_the_final_calibration_of_an_ensemble_is_kept(tmp_path):
    ensemble = pt.designs.tree_ensemble(["setosa", "versicolor", "virginica"], 3, random_state=0)
    classifier = with_decoder(PolytomyClassifier(SVC(), ensemble, random_state=0).fit(X, LABELS))
    assert_same(classifier, reload(classifier, tmp_path))


def test_a_calibrator_of_the_user_is_kept(tmp_path):
    pytest.importorskip("skops")
    calibrator = LogisticRegression(C=7.0)
    classifier = PolytomyClassifier(final_calibration=calibrator, random_state=0).fit(X, LABELS)
    again = reload(classifier, tmp_path, out_of_fold=True)
    assert_same(classifier, again)
    assert again.final_calibration.C == 7.0
    assert not hasattr(again.final_calibration, "coef_")
    expected = classifier.with_solver("divergence").predict_proba(X)
    np.testing.assert_array_equal(again.with_solver("divergence").predict_proba(X), expected)


def test_a_calibrator_is_loaded_only_if_its_types_are_trusted(tmp_path):
    pytest.importorskip("skops")
    calibrator = DecisionTreeClassifier(max_depth=3)
    classifier = PolytomyClassifier(final_calibration=calibrator, random_state=0).fit(X, LABELS)
    with pytest.warns(PolytomyWarning, match=r"can only be loaded by naming the types to trust"):
        save(classifier, tmp_path / "m.polytomy")
    with pytest.raises(ModelFileError, match=r"types that are not trusted: sklearn\.tree"):
        load(tmp_path / "m.polytomy")
    assert_same(classifier, load(tmp_path / "m.polytomy", trusted=["sklearn.tree._tree.Tree"]))


moderate = st.floats(-1e50, 1e50)
positive = st.floats(1e-300, 1e50)


@given(st.data(), st.integers(2, 5), st.integers(1, 6), st.booleans())
def test_reading_what_was_written_returns_the_same_map(data, n_classes, n_binaries, is_decoder):
    bias = data.draw(arrays(np.float64, n_classes, elements=moderate))
    map_ = BiasMap(data.draw(positive), data.draw(positive), bias)
    if is_decoder:
        weights = data.draw(arrays(np.float64, (n_binaries, n_classes), elements=moderate))
        map_ = DecoderMap(map_, weights)
    names = st.sampled_from(["log_loss", "brier_score", "accuracy"])
    final = FinalCalibration(map_, data.draw(st.dictionaries(names, moderate)))
    again = _written_and_read(final, n_classes, n_binaries)
    assert again.score == final.score
    assert type(again.map) is type(map_)
    base, expected = (again.map.base, map_.base) if is_decoder else (again.map, map_)
    assert (base.scale, base.floor) == (expected.scale, expected.floor)
    np.testing.assert_array_equal(base.bias, expected.bias)
    if is_decoder:
        np.testing.assert_array_equal(again.map.weights, map_.weights)


@given(st.integers(2, 5), st.integers(1, 6), st.sampled_from([(1, 0), (0, 1), (1, 1)]))
def test_a_map_for_other_classes_or_binaries_is_refused(n_classes, n_binaries, change):
    map_ = DecoderMap(BiasMap(1.0, 0.1, np.zeros(n_classes)), np.zeros((n_binaries, n_classes)))
    with pytest.raises(ModelFileError, match=r"(bias|weights) of the map is not"):
        _written_and_read(FinalCalibration(map_, {}), n_classes + change[0], n_binaries + change[1])


def _written_and_read(final, n_classes, n_binaries):
    numbers = NumberWriter()
    writer = EstimatorWriter(numbers, SupportPools([]))
    written = json.loads(json.dumps(write_final(final, writer, numbers)))
    stored = NumberReader(numbers.all_floats(), numbers.all_integers())
    reader = EstimatorReader(stored, [], [])
    return read_final(Fields(written, "the map"), stored, reader, n_classes, n_binaries)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("kind",), "magic", "kind of final of the model is not one of bias, decoder, provided"),
        (("scale",), -1.0, r"scale of final of the model is not a number from 0 to 1e\+100"),
        (("scale",), 1e300, r"scale of final of the model is not a number from 0 to 1e\+100"),
        (("scale",), None, "scale of final of the model is not a finite number"),
        (("floor",), -1e-9, "floor of final of the model is not a number from 0"),
        (("floor",), "0", "floor of final of the model is not a finite number"),
        (("bias", "shape"), [2], "bias of final .* is not a moderate number for each of 3 classes"),
        (("bias", "shape"), [3, 1], "bias of final of the model is not a moderate number"),
        (("bias", "shape"), [10**9], "bias of final of the model points beyond the numbers"),
        (("weights", "shape"), [3, 2], "is not moderate numbers for 2 binaries and 3 classes"),
        (("weights", "shape"), [6], "is not moderate numbers for 2 binaries and 3 classes"),
        (("weights", "shape"), [10**9, 10**9], "weights .* points beyond the numbers"),
        (("weights",), None, "weights of final of the model is not an object"),
        (("score",), 3, "score of final of the model is not an object"),
        (("score", "log_loss"), "x", "log_loss of score of final of the model is not a finite"),
    ],
)
def test_each_field_is_checked(decoder_model, path, value, words, assert_field_is_checked):
    assert_field_is_checked(decoder_model, ("final", *path), value, words)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("number",), 9, "number of final of the model is not an integer from 0 to"),
        (("floor",), 0, "floor of final of the model is not a positive number"),
    ],
)
def test_each_field_of_a_provided_map_is_checked(
    provided_model, path, value, words, assert_field_is_checked
):
    assert_field_is_checked(provided_model, ("final", *path), value, words)


def test_an_object_that_gives_no_probabilities_is_refused(save_to_bytes, refusal):
    pytest.importorskip("skops")
    calibrator = LogisticRegression()
    classifier = PolytomyClassifier(final_calibration=calibrator, random_state=0).fit(X, Y)
    object.__setattr__(classifier.composition_.final.map, "calibrator", SVC())
    words = "number of final of the model is not that of an object with predict_proba"
    assert refusal(save_to_bytes(classifier)) == words


@pytest.mark.parametrize("change", [{"scale": 0}, {"scale": 0.0, "floor": 0.0}])
def test_a_zero_is_not_multiplied_by_the_logarithm_of_zero(
    decoder_model, change, refusal, tmp_path
):
    description, members = unpack(decoder_model)
    description["final"] |= change
    content = pack(description, members)
    if "floor" in change:
        assert refusal(content) == "floor of final of the model is not a positive number"
    else:
        (tmp_path / "m.polytomy").write_bytes(content)
        assert np.isfinite(pt.load(tmp_path / "m.polytomy").predict_proba(X)).all()


def test_votes_have_no_final_calibration(decoder_model, assert_field_is_checked):
    words = 'final of the model is not for the solver "voting"'
    assert_field_is_checked(decoder_model, ("parameters", "solver"), "voting", words)
