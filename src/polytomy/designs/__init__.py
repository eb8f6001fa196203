"""Schemes from classes, matrices, hierarchies and data."""

from polytomy.designs.data_codes import data_driven_code
from polytomy.designs.discriminant import decoc
from polytomy.designs.empirical import empirical_tree
from polytomy.designs.ensembles import random_pair_trees, tree_ensemble
from polytomy.designs.flat import (
    adjacent,
    exhaustive,
    from_matrix,
    one_vs_one,
    one_vs_rest,
    orthogonal,
    random_code,
)
from polytomy.designs.nested_dichotomies import (
    class_balanced_tree,
    furthest_centroid_tree,
    random_pair_tree,
)
from polytomy.designs.orders import ClassOrder, detect_order, ordered_adjacent
from polytomy.designs.registry import (
    DATA_DESIGNS,
    DESIGNS,
    ENSEMBLES,
    SCHEME_NAMES,
    design,
    find_design,
)
from polytomy.designs.searched_trees import best_random_tree, evolved_tree
from polytomy.designs.trees import balanced_tree, from_tree, random_tree

__all__ = [
    "DATA_DESIGNS",
    "DESIGNS",
    "ENSEMBLES",
    "SCHEME_NAMES",
    "ClassOrder",
    "adjacent",
    "balanced_tree",
    "best_random_tree",
    "class_balanced_tree",
    "data_driven_code",
    "decoc",
    "design",
    "detect_order",
    "empirical_tree",
    "evolved_tree",
    "exhaustive",
    "find_design",
    "from_matrix",
    "from_tree",
    "furthest_centroid_tree",
    "one_vs_one",
    "one_vs_rest",
    "ordered_adjacent",
    "orthogonal",
    "random_code",
    "random_pair_tree",
    "random_pair_trees",
    "random_tree",
    "tree_ensemble",
]
