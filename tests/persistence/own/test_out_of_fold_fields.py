"""Out-of-fold scores in saved models."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from persistence.own.round_trips import LABELS, X, Y, assert_same, reload
from persistence.own.saved_archives import array_to_bytes, pack, peak_memory, unpack
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, CalibrationWarning, ModelFileError
from polytomy.persistence import load, read_info, save
from polytomy.persistence.own import out_of_fold_fields

TREE = "a {setosa b {versicolor virginica}}"


def _fitted(**parameters):
    return PolytomyClassifier(random_state=0, **parameters).fit(X, LABELS)


@pytest.mark.parametrize("option", ["bias", "decoder"])
@pytest.mark.parametrize("weight", [None, np.random.default_rng(0).uniform(0.1, 3, 150)])
def test_out_of_fold_scores_are_kept_if_asked_for(option, weight, tmp_path):
    classifier = PolytomyClassifier(
        SVC(), final_calibration=option, keep_out_of_fold=True, random_state=0
    ).fit(X, LABELS, weight)
    again = reload(classifier, tmp_path, out_of_fold=True)
    first, second = classifier.composition_.out_of_fold, again.composition_.out_of_fold
    for name in ("scores", "rows", "class_indices", "weight", "fold_of"):
        one, other = getattr(first, name), getattr(second, name)
        np.testing.assert_array_equal(other, one)
        assert other.dtype == one.dtype
    for name in ("n_rows", "final_calibration", "seed", "keeps_probabilities"):
        assert getattr(second, name) == getattr(first, name)
    np.testing.assert_array_equal(again.out_of_fold_proba_, classifier.out_of_fold_proba_)


def test_a_loaded_classifier_learns_its_final_calibration_again(tmp_path):
    classifier = _fitted(scheme="one-vs-rest")
    again = reload(classifier, tmp_path, out_of_fold=True)
    for changed, other in [
        (classifier.with_solver("least-squares"), again.with_solver("least-squares")),
        (classifier.with_solver("voting"), again.with_solver("voting")),
        (
            classifier.with_solver("voting").with_solver("least-squares"),
            again.with_solver("voting").with_solver("least-squares"),
        ),
    ]:
        assert_same(changed, other)
    assert again.with_solver("least-squares").out_of_fold_score_ != again.out_of_fold_score_


def test_votes_keep_the_scores_for_another_solver(tmp_path):
    classifier = _fitted(estimator=LinearSVC(), solver="voting")
    again = reload(classifier, tmp_path, out_of_fold=True)
    assert_same(classifier.with_solver("least-squares"), again.with_solver("least-squares"))


def test_a_row_that_is_never_held_out_has_no_out_of_fold_probabilities(tmp_path):
    rows = np.random.default_rng(0).permutation(len(X))
    splits = [(rows[40:].tolist(), rows[:40].tolist()), (rows[:110].tolist(), rows[110:].tolist())]
    classifier = _fitted(cv=splits, keep_out_of_fold=True)
    again = reload(classifier, tmp_path, out_of_fold=True)
    assert np.isnan(again.out_of_fold_proba_[rows[40:110]]).all()
    np.testing.assert_array_equal(again.out_of_fold_proba_, classifier.out_of_fold_proba_)


@pytest.mark.parametrize(
    "change",
    [lambda each: each.with_solver("divergence"), lambda each: each.with_scheme("one-vs-one")],
)
def test_without_them_a_changed_classifier_has_no_final_calibration(change, tmp_path):
    again = reload(_fitted(), tmp_path)
    words = r"which the model was saved without\. Fit it again and save it with out_of_fold=True\."
    with pytest.warns(CalibrationWarning, match=words) as caught:
        changed = change(again)
    assert len(caught) == 1
    assert changed.composition_.final is None
    shown = caught[0].message.worded(str)
    assert shown.endswith("which the model was saved without. Fit it again.")


def test_without_them_votes_are_not_warned_of(tmp_path):
    again = reload(_fitted(), tmp_path).with_solver("voting")
    assert again.composition_.final is None


def test_without_them_the_score_is_there_and_the_probabilities_say_why_not(tmp_path):
    classifier = _fitted(keep_out_of_fold=True)
    again = reload(classifier, tmp_path)
    assert again.out_of_fold_score_ == classifier.out_of_fold_score_
    words = r"without it\. Fit it with keep_out_of_fold=True, and save it with out_of_fold=True"
    with pytest.raises(AttributeError, match=words):
        _ = again.out_of_fold_proba_
    kept = reload(_fitted(), tmp_path, out_of_fold=True)
    with pytest.raises(AttributeError, match=r"Fit it with keep_out_of_fold=True\.$"):
        _ = kept.out_of_fold_proba_


def test_a_classifier_that_was_trained_further_has_no_scores_to_save(tmp_path):
    classifier = _fitted(estimator=SGDClassifier(), reservoir_size=0)
    with pytest.warns(CalibrationWarning, match="no longer calibrated"):
        classifier.partial_fit(X, LABELS)
    again = reload(classifier, tmp_path)
    assert again.composition_.final is None
    with pytest.raises(ArgumentError, match="has no out-of-fold scores"):
        save(classifier, tmp_path / "m.polytomy", out_of_fold=True)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("n_rows",), 0, "n_rows of out_of_fold of the model is not an integer from 1"),
        (("n_rows",), 149, "rows of out_of_fold of the model has values out of range"),
        (("n_rows",), 2**52, "probabilities of 150 samples for 4503599627370496 training samples"),
        (("rows", "shape"), [149], "rows of .* is not a number for each of 150 samples"),
        (("rows", "shape"), [10**9], "rows of .* points beyond the numbers of the model"),
        (("class_indices", "shape"), [149], "class_indices of .* is not a number for each of 150"),
        (("fold_of", "shape"), [], "fold_of of out_of_fold of the model is not one-dimensional"),
        (("fold_of", "shape"), [0], "fold_of of .* is not a number for each of 150 samples"),
        (("weight", "shape"), [75, 2], "weight of .* has 2 dimensions instead of 1"),
        (("weight", "shape"), [149], "weight of .* is not a number for each of 150 samples"),
        (("final_calibration",), None, "final_calibration of .* is not a name or an object"),
        (("final_calibration",), "magic", 'final_calibration="magic" is not known'),
        (("final_calibration",), {"number": 0}, "number of .* is not an integer from 0"),
        (("seed",), -1, "seed of out_of_fold of the model is not an integer from 0 to 4294967295"),
        (("keeps_probabilities",), 1, "keeps_probabilities of .* is not true or false"),
        (("probabilities", "shape"), [3, 150], r"is not probabilities of shape \(150, 3\)"),
        (("probabilities", "shape"), [450], "has 1 dimensions instead of 2"),
        (("probabilities", "start"), 0, r"is not probabilities of shape \(150, 3\)"),
    ],
)
def test_each_field_is_checked(decoder_model, path, value, words, assert_field_is_checked):
    assert_field_is_checked(decoder_model, ("out_of_fold", *path), value, words)


def _changed_scores(content, change):
    description, members = unpack(content)
    scores = np.load(io.BytesIO(members["out_of_fold.npy"]))
    return pack(description, {**members, "out_of_fold.npy": array_to_bytes(change(scores))})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda scores: scores.astype(np.float64), "are not a float32 array for 2 binaries"),
        (lambda scores: scores[:, :1], "are not a float32 array for 2 binaries"),
        (lambda scores: scores.ravel(), "are not a float32 array for 2 binaries"),
        (lambda scores: scores * np.float32(np.nan), "does not hold finite numbers"),
        (lambda scores: scores[1:], "rows of .* is not a number for each of 149 samples"),
        (lambda scores: scores[:0], "rows of .* is not a number for each of 0 samples"),
        (lambda scores: scores.astype(object), "holds objects, which are not read"),
    ],
)
def test_scores_of_another_kind_are_refused(decoder_model, change, words, refusal):
    assert re.search(words, refusal(_changed_scores(decoder_model, change)))


def test_missing_scores_are_refused(decoder_model, refusal):
    description, members = unpack(decoder_model)
    del members["out_of_fold.npy"]
    assert refusal(pack(description, members)) == "member 'out_of_fold.npy' is missing"


def test_rows_must_ascend(decoder_model, refusal):
    description, members = unpack(decoder_model)
    integers = np.load(io.BytesIO(members["integers.npy"]))
    start = description["out_of_fold"]["rows"]["start"]
    integers[start : start + 150] = integers[start : start + 150][::-1]
    members["integers.npy"] = array_to_bytes(integers)
    words = "rows of out_of_fold of the model is not a list of ascending numbers"
    assert refusal(pack(description, members)) == words


def test_a_few_bytes_do_not_become_a_large_array(decoder_model, refusal):
    description, members = unpack(decoder_model)
    description["out_of_fold"]["n_rows"] = 2**40
    content = pack(description, members)
    peak, words = peak_memory(refusal, content)
    assert "which are too many" in words
    assert peak < 2**26


def test_probabilities_of_few_samples_among_very_many_are_not_saved(tmp_path, monkeypatch):
    classifier = _fitted(keep_out_of_fold=True)
    monkeypatch.setattr(out_of_fold_fields, "_FREE_VALUES", 3 * 150 - 1)
    monkeypatch.setattr(out_of_fold_fields, "_LARGEST_RATIO", 0)
    with pytest.raises(ArgumentError, match="probabilities of 150 samples among 150 training"):
        save(classifier, tmp_path / "m.polytomy", out_of_fold=True)
    assert list(tmp_path.iterdir()) == []


def test_scores_are_saved_in_single_precision(tmp_path):
    save(_fitted(scheme=TREE), tmp_path / "m.polytomy", out_of_fold=True)
    assert read_info(tmp_path / "m.polytomy").has_out_of_fold
    _, members = unpack((tmp_path / "m.polytomy").read_bytes())
    assert np.load(io.BytesIO(members["out_of_fold.npy"])).dtype == np.float32
    assert load(tmp_path / "m.polytomy").composition_.out_of_fold.scores.shape == (len(Y), 2)


def test_weights_that_are_not_positive_are_refused(tmp_path):
    classifier = _fitted()
    composition = classifier.composition_.with_conformity()  # before its source is damaged
    damaged = replace(composition.out_of_fold, weight=-composition.out_of_fold.weight)
    classifier.composition_ = replace(composition, out_of_fold=damaged)
    save(classifier, tmp_path / "m.polytomy", out_of_fold=True)
    with pytest.raises(ModelFileError, match=r"weight of .* is not a list of positive, moderate"):
        load(tmp_path / "m.polytomy")
