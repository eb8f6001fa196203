"""Out-of-fold scores in saved models."""

import io

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from persistence.round_trips import LABELS, X, Y, assert_same, reload
from persistence.saved_archives import unpack
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, CalibrationWarning
from polytomy.persistence import load, read_info, save

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
    for name in ("n_rows", "final_calibration", "seed"):
        assert getattr(second, name) == getattr(first, name)


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


def test_the_score_is_saved_and_the_probabilities_are_not(tmp_path):
    classifier = _fitted(keep_out_of_fold=True)
    for out_of_fold in (False, True):
        again = reload(classifier, tmp_path, out_of_fold=out_of_fold)
        assert again.out_of_fold_score_ == classifier.out_of_fold_score_
        with pytest.raises(AttributeError, match="Fit it with keep_out_of_fold=True; it is not sa"):
            _ = again.out_of_fold_proba_
    # Nor are they made again: a file could name any number of rows.
    assert again.with_solver("least-squares").composition_.final.probabilities is None


def test_a_classifier_that_was_trained_further_has_no_scores_to_save(tmp_path):
    classifier = _fitted(estimator=SGDClassifier(), reservoir_size=0)
    with pytest.warns(CalibrationWarning, match="no longer calibrated"):
        classifier.partial_fit(X, LABELS)
    again = reload(classifier, tmp_path)
    assert again.composition_.final is None
    with pytest.raises(ArgumentError, match="has no out-of-fold scores"):
        save(classifier, tmp_path / "m.polytomy", out_of_fold=True)


def test_scores_are_saved_in_single_precision(tmp_path):
    save(_fitted(scheme=TREE), tmp_path / "m.polytomy", out_of_fold=True)
    assert read_info(tmp_path / "m.polytomy").has_out_of_fold
    _, members = unpack((tmp_path / "m.polytomy").read_bytes())
    assert np.load(io.BytesIO(members["float32.npy"])).dtype == np.float32
    assert load(tmp_path / "m.polytomy").composition_.out_of_fold.scores.shape == (len(Y), 2)
