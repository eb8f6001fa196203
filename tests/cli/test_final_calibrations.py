"""The option --final-calibration of train and search, and the out-of-fold score."""

import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polytomy as pt
from polytomy.cli.final_calibrations import find_score, parse_final_calibration, score_to_text
from polytomy.errors import ArgumentError


def test_none_is_no_calibration_and_other_names_stay():
    names = ["auto", "bias", "decoder", "none"]
    assert list(map(parse_final_calibration, names)) == ["auto", "bias", "decoder", None]


def test_an_unknown_name_is_an_error_with_the_allowed_ones():
    words = '--final-calibration must be auto, bias, decoder or none; got "None"'
    with pytest.raises(ArgumentError, match=words):
        parse_final_calibration("None")


def test_the_score_is_that_of_the_classifier_also_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    classifier = pt.PolytomyClassifier(random_state=0)
    pipeline = make_pipeline(StandardScaler(), classifier).fit(X, y)
    assert find_score(classifier) == find_score(pipeline) == classifier.out_of_fold_score_
    assert find_score(pt.PolytomyClassifier(final_calibration=None).fit(X, y)) is None
    assert find_score(pt.PolytomyClassifier(solver="voting").fit(X, y)) is None


def test_every_value_of_a_score_is_shown_with_its_name():
    X, y = load_iris(return_X_y=True)
    score = pt.PolytomyClassifier(random_state=0).fit(X, y).out_of_fold_score_
    parts = [part.rsplit(" ", 1) for part in score_to_text(score).split(", ")]
    names = ["log-loss", "Brier score", "accuracy", "uncertainty coefficient"]
    assert [name for name, _ in parts] == names
    assert [float(value) for _, value in parts] == pytest.approx(list(score.values()), abs=6e-5)
