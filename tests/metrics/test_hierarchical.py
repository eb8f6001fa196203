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
