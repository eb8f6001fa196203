"""Dendrograms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from polytomy.designs import empirical_tree
from polytomy.report.figures import draw_dendrogram
from report.pages import titles_of


@given(st.integers(2, 12), st.integers(0, 1000))
def test_nodes_are_drawn_where_single_linkage_joins_their_sides(n_classes, seed):
    random = np.random.default_rng(seed)
    # Classes of one sample: their Hausdorff distances are those of the samples.
    X = random.normal(size=(n_classes, 3))
    tree = empirical_tree(X, np.arange(n_classes))
    order = np.array(tree.classes, dtype=int)
    between = squareform(pdist(X))
    drawn = draw_dendrogram(tree, between[np.ix_(order, order)], [str(k) for k in order], "tree")
    joined = squareform(cophenet(linkage(pdist(X), "single")))
    titles = titles_of(drawn, "branch")
    assert len(titles) == n_classes - 1
    for title in titles:
        distance, sides = title.split(": ")
        left, right = ([int(k) for k in side.split(", ")] for side in sides.split(" / "))
        for one in left:
            for other in right:
                assert float(distance) == pytest.approx(joined[one, other], rel=0.006)
