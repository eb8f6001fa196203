"""How binaries make up a scheme, in saved models."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import polytomy as pt
from persistence.own.round_trips import LABELS, TREE, X, assert_same, reload
from persistence.own.round_trips import assert_same_after_reload as assert_kept
from polytomy import PolytomyClassifier
from polytomy.errors import PolytomyWarning
from polytomy.persistence import read_info


def test_binaries_put_together_in_another_way_are_kept(tmp_path):
    classifier = PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS)
    again = reload(classifier, tmp_path, out_of_fold=True)
    flat = classifier.with_scheme(classifier.scheme_.flatten())
    assert_same(flat, again.with_scheme(again.scheme_.flatten()))
    assert_kept(flat, tmp_path)
    assert_kept(classifier.with_scheme("b {c {virginica versicolor} setosa}"), tmp_path)
    np.testing.assert_array_equal(
        again.with_solver("voting").predict(X), classifier.with_solver("voting").predict(X)
    )


def test_an_ensemble_of_schemes_is_kept(tmp_path):
    ensemble = pt.designs.tree_ensemble(["setosa", "versicolor", "virginica"], 3, random_state=0)
    classifier = PolytomyClassifier(LinearSVC(), ensemble, random_state=0).fit(X, LABELS)
    again = assert_kept(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    texts = read_info(tmp_path / "m.polytomy").schemes
    assert tuple(map(pt.parse, texts)) == ensemble.schemes
    assert_kept(classifier.with_scheme(ensemble.schemes[1]), tmp_path)


def test_classes_without_data_are_not_warned_of_again(tmp_path):
    text = "a {setosa b {versicolor c {virginica elm}}}"
    with pytest.warns(PolytomyWarning, match="'elm' of the scheme has no samples"):
        classifier = PolytomyClassifier(scheme=text, random_state=0).fit(X, LABELS)
    assert_kept(classifier, tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("composition", "names"), ["a"], "is not a name for each of 2 binaries"),
        (("composition", "specifications"), [[]], "is not a list of integers from 0"),
        (("composition", "sides", "shape"), [1], "is not two sides for each binary"),
        (("composition", "models"), [], "models of composition of the model is not an object"),
        (
            ("composition", "places", 0, "columns", "shape"),
            [1],
            "the scheme has more partitions than the 1 of the model",
        ),
        (
            ("composition", "places", 0, "columns", "shape"),
            [3],
            "is not a binary for each of 2 partitions",
        ),
        (("composition", "places"), [], "there are 0 places for 1 schemes"),
        (("binaries",), [], "is not a name for each of 0 binaries"),
        (("feature_names",), ["a"], "there are 1 names for 4 features"),
    ],
)
def test_each_field_is_checked(svm_model, path, value, words, assert_field_is_checked):
    assert_field_is_checked(svm_model, path, value, words)
