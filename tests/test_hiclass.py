"""The same answers as hiclass, where both can give them: one model at each node of a hierarchy."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polytomy import PolytomyClassifier, designs, metrics

hiclass = pytest.importorskip("hiclass")
hiclass_metrics = pytest.importorskip("hiclass.metrics")

PATHS = [
    "field/corn",
    "field/rye",
    "field/wheat",
    "forest/oak",
    "forest/pine",
    "lake/deep",
    "lake/low",
]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    centres = random.normal(size=(len(PATHS), 5)) * 1.5
    y = np.arange(420) % len(PATHS)
    X = centres[y] + random.normal(size=(420, 5))
    labels = np.array(PATHS)[y]
    return X[:280], labels[:280], X[280:], labels[280:]


def levels_of(labels):
    return np.array([label.split("/") for label in labels])


@pytest.fixture(scope="module")
def both(data):
    X, y, _, _ = data
    model = LogisticRegression(max_iter=1000)
    theirs = hiclass.LocalClassifierPerParentNode(local_classifier=model).fit(X, levels_of(y))
    ours = PolytomyClassifier(model, "paths", solver="greedy").fit(X, y)
    return theirs, ours


def test_a_walk_down_the_hierarchy_ends_at_the_same_class(data, both):
    theirs, ours = both
    X_test = data[2]
    expected = ["/".join(path) for path in theirs.predict(X_test)]
    assert ours.predict(X_test).tolist() == expected


def test_nodes_are_predicted_alike(data, both):
    theirs, ours = both
    X_test = data[2]
    # hiclass decides at the root before it looks further down, as the products do at depth 1.
    nodes = ours.with_solver("least-squares").predict_nodes(X_test, max_depth=1)
    assert nodes.tolist() == theirs.predict(X_test)[:, 0].tolist()


def test_hierarchical_scores_are_the_same(data, both):
    _, ours = both
    _, _, X_test, y_test = data
    predicted = ours.predict(X_test)
    score = metrics.hierarchical_score(y_test, predicted, ours.scheme_)
    true, found = levels_of(y_test), levels_of(predicted)
    assert score.precision == pytest.approx(hiclass_metrics.precision(true, found))
    assert score.recall == pytest.approx(hiclass_metrics.recall(true, found))
    assert score.f_score == pytest.approx(hiclass_metrics.f1(true, found))


def test_the_tree_is_that_of_a_dict_of_dicts(both):
    hierarchy = {
        "field": ["corn", "rye", "wheat"],
        "forest": ["oak", "pine"],
        "lake": ["deep", "low"],
    }
    written = {node: [f"{node}/{leaf}" for leaf in leaves] for node, leaves in hierarchy.items()}
    assert both[1].scheme_ == designs.from_hierarchy(written, nodes="direct")
