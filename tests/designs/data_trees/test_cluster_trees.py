"""Balanced trees over the means of classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from polytomy import PolytomyClassifier
from polytomy.designs import cluster_tree, design
from polytomy.designs.data_trees import _assign_evenly
from polytomy.errors import ArgumentError
from polytomy.scheme import ClassRef


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 60))
def test_clusters_have_equal_sizes_give_or_take_one(seed: int, n_centres: int, n_more: int) -> None:
    n_means = n_centres + n_more
    cluster_of = _assign_evenly(np.random.default_rng(seed).random((n_means, n_centres)))
    counts = np.bincount(cluster_of, minlength=n_centres)
    assert counts.sum() == n_means
    assert counts.max() - counts.min() <= 1


@given(st.integers(0, 2**32 - 1))
def test_two_clusters_are_the_best_of_all_even_ones(seed: int) -> None:
    between = np.random.default_rng(seed).random((7, 2))
    cost = between[np.arange(7), _assign_evenly(between)].sum()
    # The best even split gives the smallest differences to the first centre.
    differences = np.sort(between[:, 0] - between[:, 1])
    assert cost == pytest.approx(between[:, 1].sum() + differences[:4].sum())


@pytest.mark.parametrize("branches", [2, 3, 8])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 9, 50])
def test_the_tree_has_every_class_once_and_the_least_depth(n_classes: int, branches: int) -> None:
    X = np.random.default_rng(0).normal(size=(n_classes, 4))
    tree = cluster_tree(X, range(n_classes), branches=branches, random_state=0)
    assert sorted(tree.classes) == list(range(n_classes))
    assert branches**tree.depth >= n_classes
    assert tree.depth == 0 or branches ** (tree.depth - 1) < n_classes
    assert all(len(node.branches) <= branches for node in tree.nodes)


def test_near_classes_stay_together() -> None:
    rng = np.random.default_rng(0)
    centres = 100.0 * np.arange(8)
    X = (np.repeat(centres, 4) + rng.normal(size=32))[:, np.newaxis]
    tree = cluster_tree(X, range(32), random_state=0)
    groups = [
        [label // 4 for label in partition.side_classes[0] + partition.side_classes[1]]
        for partition in tree.partitions
        if all(isinstance(branch, ClassRef) for branch in tree.nodes[partition.node].branches)
    ]
    assert groups
    assert all(len(set(group)) == 1 for group in groups)


def test_the_same_seed_gives_the_same_tree() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 20
    one, other = (cluster_tree(X, y, random_state=7) for _ in range(2))
    assert one == other


def test_sparse_samples_give_the_tree_of_dense_ones_that_are_not_centred() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 6)) * (rng.random((40, 6)) < 0.5)
    y = np.arange(40) % 10
    tree = cluster_tree(csr_array(X), y, random_state=0)
    assert sorted(tree.classes) == list(range(10))
    assert tree.depth == 4


def test_scales_of_features_do_not_matter() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 20
    scaled = X * [1e-3, 1.0, 1e4] + [5.0, 0.0, -7.0]
    assert cluster_tree(X, y, random_state=0) == cluster_tree(scaled, y, random_state=0)


@pytest.mark.parametrize("branches", [1, 0, 2.5, True, "two"])
def test_too_few_branches_are_an_error(branches: object) -> None:
    with pytest.raises(ArgumentError, match=r"branches=.* Use 2 or more"):
        cluster_tree([[0.0], [1.0]], [0, 1], branches=branches)


def test_equal_means_are_divided_all_the_same() -> None:
    assert cluster_tree(np.zeros((9, 2)), range(9), random_state=0).n_partitions == 8


@pytest.mark.parametrize("name", ["cluster-tree", "@cluster-tree"])
def test_a_classifier_takes_the_design_by_name(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 6
    classifier = PolytomyClassifier("logistic-regression", scheme=name, random_state=0).fit(X, y)
    assert classifier.scheme_.is_tree
    assert classifier.scheme_ == design("cluster-tree", X=X, y=y, random_state=0)
