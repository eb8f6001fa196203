"""Conformity, class frequencies, priors and costs in saved models."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from persistence.own.round_trips import LABELS, X, assert_same, reload
from persistence.own.saved_archives import array_to_bytes, pack, replace_field, unpack
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence import load, read_info, save

LEVELS = [0.8, 0.9, 0.95]
PRIOR = [0.1, 0.7, 0.2]
COSTS = [[0, 1, 1], [1, 0, 1], [9, 9, 0]]


@pytest.fixture(scope="module")
def classifier():
    weight = np.where(LABELS == "setosa", 2.0, 1.0)
    return PolytomyClassifier(LogisticRegression(max_iter=500), random_state=0).fit(
        X, LABELS, weight
    )


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
@pytest.mark.parametrize("per_class", [False, True])
def test_sets_are_the_same_after_loading(classifier, score, per_class, tmp_path):
    again = reload(classifier, tmp_path)
    expected = classifier.predict_set(X, LEVELS, score, per_class=per_class)
    np.testing.assert_array_equal(
        again.predict_set(X, LEVELS, score, per_class=per_class), expected
    )


def test_prior_and_costs_are_the_same_after_loading(classifier, tmp_path):
    careful = classifier.with_prior(PRIOR).with_cost(COSTS, 0.25, "?")
    again = reload(careful, tmp_path)
    assert_same(careful, again)
    np.testing.assert_array_equal(again.predict_proba(X), careful.predict_proba(X))
    np.testing.assert_array_equal(again.predict_cost(X), careful.predict_cost(X))
    np.testing.assert_array_equal(again.predict_set(X), careful.predict_set(X))
    np.testing.assert_array_equal(again.prior_, careful.prior_)
    back = again.with_prior(None).with_cost()
    np.testing.assert_array_equal(back.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(back.prior_, classifier.prior_)
    np.testing.assert_array_equal(again.estimate_prior(X), classifier.estimate_prior(X))
    assert str(again.explain(X[:3])) == str(careful.explain(X[:3]))


@pytest.mark.parametrize("label", ["?", -1, float("nan"), 0.5])
def test_a_label_for_no_prediction_keeps_its_type(classifier, label, tmp_path):
    again = reload(classifier.with_cost(reject_cost=0.05, reject_label=label), tmp_path)
    kept = again.composition_.costs.reject_label
    assert type(kept) is type(label)
    assert kept == label or kept != kept


def test_only_files_that_older_versions_would_misread_have_a_new_format(classifier, tmp_path):
    path = tmp_path / "m.polytomy"
    for model, expected in (
        (classifier, 2),
        (classifier.with_prior(PRIOR), 4),
        (classifier.with_cost(COSTS), 4),
    ):
        save(model, path)
        info = read_info(path)
        assert info.format_version == expected
        assert info.has_sets
        assert info.has_prior == (model.composition_.prior is not None)
        assert info.has_costs == (model.composition_.costs is not None)


def test_models_without_conformity_say_what_to_do(classifier, tmp_path):
    # As written by an earlier version.
    path = tmp_path / "m.polytomy"
    save(classifier, path)
    description, members = unpack(path.read_bytes())
    del description["conformity"], description["frequencies"], members["conformity.npy"]
    path.write_bytes(pack(description, members))
    old = load(path)
    np.testing.assert_array_equal(old.predict_proba(X), classifier.predict_proba(X))
    with pytest.raises(ArgumentError, match="prediction sets need out-of-fold probabilities"):
        old.predict_set(X)
    with pytest.raises(ArgumentError, match=r"or by partial_fit. Pass them as train"):
        old.with_prior(PRIOR)
    shifted = old.with_prior(PRIOR, training_prior=classifier.prior_)
    expected = classifier.with_prior(PRIOR)
    np.testing.assert_allclose(shifted.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    again = reload(shifted, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), shifted.predict_proba(X))


def test_a_million_rows_would_take_a_megabyte(tmp_path):
    random = np.random.default_rng(0)
    samples, labels = random.normal(size=(60_000, 1)), random.integers(0, 20, 60_000)
    estimator = LogisticRegression(max_iter=2, tol=1.0)
    classifier = PolytomyClassifier(
        estimator, "one-vs-rest", final_calibration="bias", cv=2, random_state=0
    ).fit(samples, labels)
    save(classifier, tmp_path / "m.polytomy")
    members = unpack((tmp_path / "m.polytomy").read_bytes())[1]
    assert len(members["conformity.npy"]) <= 2**20 + 1000


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("costs", "matrix", "shape"), [9], "matrix of costs of the model is not moderate numbers"),
        (("costs", "reject_label"), "setosa", "reject_label of costs of the model is not a label"),
        (("costs", "reject_label"), None, "reject_label of costs of the model is not a label"),
        (("costs", "reject_cost"), "x", "reject_cost of costs of the model is not a finite number"),
        (("prior", "prior", "start"), 0, "prior of prior of the model is not probabilities"),
        (
            ("prior", "training", "shape"),
            [2],
            "training of prior of the model is not probabilities",
        ),
        (("frequencies", "data", "shape"), [1], "data of frequencies of the model is not prob"),
        (
            ("conformity", "weight", "shape"),
            [7],
            "weight of conformity of the model is not a number",
        ),
        (("conformity", "class_indices", "shape"), [7], "class_indices of conformity of the model"),
    ],
)
def test_damaged_fields_are_refused(classifier, path, value, words, tmp_path):
    file = tmp_path / "m.polytomy"
    save(classifier.with_prior(PRIOR).with_cost(COSTS, 0.25, "?"), file)
    description, members = unpack(file.read_bytes())
    replace_field(description, path, value)
    file.write_bytes(pack(json.loads(json.dumps(description)), members))
    with pytest.raises(ModelFileError, match=words):
        load(file)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((150, 3)),
        np.zeros((150, 2), np.float16),
        np.zeros((0, 3), np.float16),
        np.ones((150, 3), np.float16),
        np.full((150, 3), np.nan, np.float16),
    ],
    ids=["double", "classes", "empty", "positive", "nan"],
)
def test_damaged_conformity_is_refused(classifier, array, tmp_path):
    file = tmp_path / "m.polytomy"
    save(classifier, file)
    description, members = unpack(file.read_bytes())
    members["conformity.npy"] = array_to_bytes(array)
    file.write_bytes(pack(description, members))
    with pytest.raises(ModelFileError, match="conformity"):
        load(file)
