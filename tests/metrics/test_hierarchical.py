"""Hierarchical precision and recall, against sets of ancestors written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import metrics, parse
from polytomy.errors import ArgumentError

LAND = parse("land {field {corn cereal {wheat rye}} forest {pine oak} lake}")
ABOVE = {
    "corn": {"corn", "field"},
    "wheat": {"wheat", "cereal", "field"},
    "rye": {"rye", "cereal", "field"},
    "pine": {"pine", "forest"},
    "oak": {"oak", "forest"},
    "lake": {"lake"},
}
labels = st.sampled_from(sorted(ABOVE))


@given(st.lists(st.tuples(labels, labels, st.integers(1, 3)), min_size=1, max_size=20))
def test_scores_are_shares_of_common_ancestors(samples):
    y, predicted, weight = zip(*samples, strict=True)
    score = metrics.hierarchical_score(y, predicted, LAND, sample_weight=weight)
    common = sum(w * len(ABOVE[t] & ABOVE[p]) for t, p, w in samples)
    assert score.precision == pytest.approx(common / sum(w * len(ABOVE[p]) for _, p, w in samples))
    assert score.recall == pytest.approx(common / sum(w * len(ABOVE[t]) for t, _, w in samples))
    if common:
        harmonic = 2 / (1 / score.precision + 1 / score.recall)
        assert score.f_score == pytest.approx(harmonic)
    else:
        assert score.f_score == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_without_inner_nodes_all_are_the_accuracy(samples):
    y, predicted = np.array(samples).T
    score = metrics.hierarchical_score(y, predicted, parse("@one-vs-one {0 1 2 3}"))
    assert list(score) == pytest.approx([np.mean(y == predicted)] * 3)


def test_a_label_that_is_not_in_the_hierarchy_is_named():
    with pytest.raises(ArgumentError, match="predicted has the label 'elm', which is not a class"):
        metrics.hierarchical_score(["oak"], ["elm"], LAND)


NODES = {"land": set(), "field": {"field"}, "cereal": {"cereal", "field"}, "forest": {"forest"}}


@given(
    st.lists(st.tuples(labels, st.sampled_from([*ABOVE, *NODES])), min_size=1, max_size=20).filter(
        lambda samples: any(predicted != "land" for _, predicted in samples)
    )
)
def test_a_predicted_node_counts_with_the_nodes_above_it(samples):
    y, predicted = zip(*samples, strict=True)
    score = metrics.hierarchical_score(y, predicted, LAND)
    sets = [(ABOVE[true], (ABOVE | NODES)[found]) for true, found in samples]
    common = sum(len(true & found) for true, found in sets)
    assert score.precision == pytest.approx(common / sum(len(found) for _, found in sets))
    assert score.recall == pytest.approx(common / sum(len(true) for true, _ in sets))


def test_the_root_alone_says_nothing_wrong_and_nothing_at_all():
    assert metrics.hierarchical_score(["oak", "rye"], ["land", "land"], LAND) == (1.0, 0.0, 0.0)


BELOW = {
    "land": [["corn", "wheat", "rye"], ["pine", "oak"], ["lake"]],
    "field": [["corn"], ["wheat", "rye"]],
    "cereal": [["wheat"], ["rye"]],
    "forest": [["pine"], ["oak"]],
}


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.permutations(sorted(ABOVE)))
def test_scores_of_nodes_count_the_samples_below_them(seed, n_samples, classes):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.full(6, 0.5), n_samples)
    y = random.choice(classes, n_samples).tolist()
    weight = random.integers(1, 4, n_samples)
    scores = metrics.node_scores(y, proba, LAND, classes=classes, sample_weight=weight)
    rows = [
        (w, true, dict(zip(classes, row, strict=True)))
        for w, true, row in zip(weight.tolist(), y, proba.tolist(), strict=True)
    ]
    for node, name in enumerate(LAND.node_names):
        members = [label for branch in BELOW[name] for label in branch]
        n_true = n_wrong = n_found = n_both = 0
        for w, true, p in rows:
            is_found = max(p, key=p.get) in members
            n_found += w * is_found
            if true in members:
                own = next(k for k, branch in enumerate(BELOW[name]) if true in branch)
                sums = [sum(p[label] for label in branch) for branch in BELOW[name]]
                n_true += w
                n_both += w * is_found
                n_wrong += w * (sums.index(max(sums)) != own)
        assert scores.n_samples[node] == n_true
        shares = [(n_wrong, n_true), (n_both, n_found), (n_both, n_true)]
        expected = [part / whole if whole else np.nan for part, whole in shares]
        found = [each[node] for each in scores[1:4]]
        assert found == pytest.approx(expected, nan_ok=True)
        if expected[1] and expected[2] and n_true and n_found:
            harmonic = 2 / (1 / expected[1] + 1 / expected[2])
            assert scores.f_score[node] == pytest.approx(harmonic)


def test_a_column_that_is_not_in_the_hierarchy_is_named():
    with pytest.raises(ArgumentError, match="classes has the label 'elm', which is not a class of"):
        metrics.node_scores(["oak"], [[0.5, 0.5]], LAND, classes=["oak", "elm"])
