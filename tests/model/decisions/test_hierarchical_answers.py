"""Probabilities of nodes, and predictions that stop at one."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from polytomy import PolytomyClassifier, designs, parse
from polytomy.errors import ArgumentError, SchemeError
from polytomy.model.decisions import descend_nodes, sum_below_nodes

LAND = parse("land {field {corn cereal {wheat rye}} forest {pine oak} lake}")
# The columns are in the order of the labels: corn, lake, oak, pine, rye, wheat.
POSITIONS = np.array([0, 5, 4, 3, 2, 1])
PROBA = np.array([[0.1, 0.05, 0.2, 0.15, 0.3, 0.2], [0.0, 0.9, 0.1, 0.0, 0.0, 0.0]])


def test_a_node_has_the_probability_of_its_classes():
    # land, field, cereal and forest
    expected = [[1.0, 0.6, 0.5, 0.35], [1.0, 0.0, 0.0, 0.1]]
    np.testing.assert_allclose(sum_below_nodes(LAND, POSITIONS, PROBA), expected)


@pytest.mark.parametrize(
    ("max_depth", "min_probability", "expected"),
    [
        (None, 0.0, ["rye", "lake"]),
        (0, 0.0, ["land", "land"]),
        (1, 0.0, ["field", "lake"]),
        (2, 0.0, ["cereal", "lake"]),
        (None, 0.5, ["cereal", "lake"]),
        (None, 0.55, ["field", "lake"]),
        (None, 0.95, ["land", "land"]),
    ],
)
def test_a_walk_ends_at_a_depth_or_where_it_gets_unsure(max_depth, min_probability, expected):
    found = descend_nodes(LAND, POSITIONS, PROBA, max_depth, min_probability)
    assert found.tolist() == expected


def test_a_classifier_tells_nodes_by_their_names():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    labels = np.array(["corn", "oak", "pine", "wheat"])[y]
    hierarchy = {"field": ["corn", "wheat"], "forest": ["pine", "oak"]}
    scheme = designs.from_hierarchy(hierarchy, name="land")
    classifier = PolytomyClassifier(LogisticRegression(), scheme, random_state=0).fit(X, labels)
    assert classifier.scheme_.node_names == ("land", "field", "forest")
    proba, nodes = classifier.predict_proba(X), classifier.node_probabilities(X)
    np.testing.assert_allclose(nodes[:, 1], proba[:, [0, 3]].sum(axis=1))
    first = classifier.predict_nodes(X, max_depth=1)
    np.testing.assert_array_equal(first, np.where(nodes[:, 1] >= 0.5, "field", "forest"))


def test_an_ensemble_has_no_nodes_of_its_own():
    X, y = make_blobs(60, centers=3, random_state=0)
    classifier = PolytomyClassifier(LogisticRegression(), "random-trees", random_state=0).fit(X, y)
    with pytest.raises(SchemeError, match="an ensemble has several schemes"):
        classifier.node_probabilities(X)


@pytest.mark.parametrize(
    ("max_depth", "min_probability", "words"),
    [
        (-1, 0.0, "max_depth must be a non-negative integer or None; got -1."),
        (1.5, 0.0, "max_depth must be a non-negative integer or None; got 1.5."),
        (None, 80, "min_probability must be a number from 0 to 1; got 80."),
        (None, np.nan, "min_probability must be a number from 0 to 1; got nan."),
        (None, None, "min_probability must be a number from 0 to 1; got None."),
    ],
)
def test_depths_and_probabilities_that_make_no_sense_are_refused(max_depth, min_probability, words):
    with pytest.raises(ArgumentError) as caught:
        descend_nodes(LAND, POSITIONS, PROBA, max_depth, min_probability)
    assert str(caught.value) == words


def test_a_flat_classifier_can_answer_by_a_hierarchy_of_the_user():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    labels = np.array(["corn", "oak", "pine", "wheat"])[y]
    classifier = PolytomyClassifier(LogisticRegression(), "direct", random_state=0).fit(X, labels)
    hierarchy = {"field": ["corn", "wheat"], "forest": ["pine", "oak"]}
    proba = classifier.predict_proba(X)
    nodes = classifier.node_probabilities(X, hierarchy=hierarchy)
    np.testing.assert_allclose(nodes[:, 2], proba[:, [1, 2]].sum(axis=1))
    found = classifier.predict_nodes(X, max_depth=1, hierarchy="land {f {corn wheat} g {pine oak}}")
    np.testing.assert_array_equal(found, np.where(nodes[:, 1] >= 0.5, "f", "g"))
    with pytest.raises(SchemeError, match="wheat"):
        classifier.predict_nodes(X, hierarchy={"field": ["corn"], "forest": ["pine", "oak"]})
