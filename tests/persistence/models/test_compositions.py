"""How binaries make up a scheme, in saved models."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import polytomy as pt
from persistence.round_trips import LABELS, TREE, X, assert_same, reload
from persistence.round_trips import assert_same_after_reload as assert_kept
from polytomy import PolytomyClassifier
from polytomy.calibration.calibrators import UncalibratedMap
from polytomy.calibration.final import BiasMap, DecoderMap
from polytomy.calibration.pooling import PoolMap
from polytomy.errors import PolytomyError, PolytomyWarning
from polytomy.model.decisions import ClassFrequencies, Costs, PriorShift
from polytomy.model.sets import collect_conformity
from polytomy.persistence import read_info
from remade import remake


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


@pytest.fixture(scope="module")
def composition():
    return PolytomyClassifier(scheme=TREE, random_state=0).fit(X, LABELS).composition_


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("classes", np.array([]), "it.classes is not one label or more"),
        ("names", ["a"], "it.names is not a name for each of 2 binaries"),
        ("specifications", [], "it.specifications is not an array of integers"),
        ("given", np.array([2]), "it.given is not an array of integers below 2"),
        ("models", [], "it.models is not a dict of names"),
        ("models", {0: 3}, "it.models is not a dict of names"),
        ("estimators", [3], "it.estimators is not a list of estimators"),
        ("estimator_of", np.array([0, 1]), "it.estimator_of is not an array of integers below 1"),
        ("schemes", [], "it.columns is not an array for each of 0 schemes"),
        ("columns", [np.array([0, 2])], "it.columns.0 is not an array of integers below 2"),
        ("swapped", [], "it.swapped is not a list of 1 arrays or more"),
        ("sides", np.array([0, 1]), "it.sides is not two sides for each binary"),
        ("sides", np.array([0, 1, 2, 1, 3]), "it.sides is not an array of integers below 3"),
        ("side_lengths", np.array([5]), "it.side_lengths is not an array of integers of shape"),
        ("is_ensemble", 1, "it.is_ensemble is not true or false"),
        ("solvers", ["magic"], "magic"),
        ("solvers", [3], "it.solvers is not a list of texts"),
        ("solvers", [], "it.solvers is not a name for each of 1 schemes"),
        ("solvers", ["voting"], 'it.final is not for the solver "voting"'),
        ("dtype", "float16", "it.dtype is not one of float64, float32"),
        ("tie_order", [0, 1], "the tie order .* does not have each class once"),
        ("final", UncalibratedMap(), "it.final is not a kind of final"),
        ("preprocessing", UncalibratedMap(), "it.preprocessing is not a kind of estimator"),
        ("binaries", [], "it.columns.0 is not an array of integers below 0"),
        ("binaries", [UncalibratedMap()], "it.binaries is not a kind of binary"),
    ],
)
def test_each_value_is_checked(composition, name, value, words):
    with pytest.raises(PolytomyError, match=words):
        remake(composition, **{name: value})


def test_each_side_of_a_partition_has_a_binary():
    estimator = LogisticRegression(max_iter=500)
    text = "m {setosa versicolor virginica}"
    classifier = PolytomyClassifier(estimator, text, random_state=0).fit(X, LABELS)
    first, second, _ = classifier.binaries_
    words = "it.binaries is not a binary for each of the 3 sides"
    with pytest.raises(PolytomyError, match=words):
        remake(classifier.composition_, binaries=[first, second, second])


FOUR = np.full(4, 0.25)
TWO = collect_conformity(np.eye(2), np.arange(2), np.ones(2))
DECODER = DecoderMap(1.0, 0.1, np.zeros(3), np.zeros((3, 3)))
PLAIN = BiasMap(1.0, 0.1, np.zeros(3))
POOL = PoolMap([PLAIN] * 2, np.full(2, 0.5))


@pytest.mark.parametrize(
    ("map_", "words"),
    [
        (PLAIN, "it.final is not for 3 schemes"),
        (POOL, "it.final is not for 3 schemes"),
        (PoolMap([PLAIN, PLAIN, DECODER], np.ones(3)), "mismatch in its core"),
    ],
)
def test_the_final_calibration_of_a_pool_fits_its_members(map_, words):
    pool = PolytomyClassifier(scheme="pool", random_state=0).fit(X, LABELS).composition_
    with pytest.raises((PolytomyError, ValueError), match=words):
        remake(pool, final=replace(pool.final, map=map_))


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("frequencies", lambda _: ClassFrequencies(FOUR, FOUR), "it.frequencies is not for 3"),
        ("prior", lambda _: PriorShift(FOUR, FOUR), "it.prior is not for 3 classes"),
        ("costs", lambda _: Costs(np.ones((3, 4))), "it.costs is not for 3 classes"),
        (
            "costs",
            lambda _: Costs(np.ones((3, 3)), 0.1, "setosa"),
            "a reject_label that is a class",
        ),
        (
            "final",
            lambda final: replace(final, map=BiasMap(1.0, 0.1, np.zeros(2))),
            "could not be broadcast",
        ),
        ("final", lambda final: replace(final, map=POOL), "it.final is not for 1 scheme"),
        (
            "final",
            lambda final: replace(final, map=DECODER),
            "mismatch in its core dimension",
        ),
        (
            "final",
            lambda final: replace(final, conformity=TWO),
            "it.final is not for 3 classes",
        ),
        (
            "out_of_fold",
            lambda scores: scores.take_binaries([0]),
            "it.out_of_fold is not for 3 classes and 2 binaries",
        ),
        (
            "out_of_fold",
            lambda scores: replace(scores, class_indices=scores.class_indices + 1),
            "it.out_of_fold is not for 3 classes and 2 binaries",
        ),
    ],
)
def test_parts_for_other_classes_or_binaries_are_refused(composition, name, wrong, words):
    part = wrong(getattr(composition, name))
    with pytest.raises((PolytomyError, ValueError), match=words):
        remake(composition, **{name: part})
