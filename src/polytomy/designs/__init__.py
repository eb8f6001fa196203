"""Schemes from classes, matrices, hierarchies and data.

Every design is also a function, with underscores for hyphens: ``one_vs_one`` is the design
"one-vs-one".
"""

from polytomy.designs.data_codes import data_driven_code, decoc
from polytomy.designs.data_trees import (
    best_random_tree,
    class_balanced_tree,
    cluster_tree,
    cluster_trees,
    empirical_tree,
    evolved_tree,
    furthest_centroid_tree,
    random_pair_tree,
    random_pair_trees,
    random_trees,
    separability_tree,
    tree_ensemble,
)
from polytomy.designs.flat import (
    adjacent,
    blocks,
    chain,
    chain_backward,
    cover,
    direct,
    exhaustive,
    from_matrix,
    n_ary_code,
    one_vs_one,
    one_vs_rest,
    orthogonal,
    random_code,
    random_ternary,
)
from polytomy.designs.orders import ClassOrder, detect_order, ordered_adjacent
from polytomy.designs.registry import (
    DATA_DESIGNS,
    DESIGNS,
    ENSEMBLES,
    LABEL_DESIGNS,
    SCHEME_NAMES,
    Design,
    design,
    find_design,
    pool,
    register,
)
from polytomy.designs.trees import balanced_tree, from_hierarchy, from_paths, from_tree, random_tree

# These six functions also have the shorter names of their designs.
random = random_code
n_ary = n_ary_code
paths = from_paths
tree = balanced_tree
centroid_tree = furthest_centroid_tree
data_driven = data_driven_code

__all__ = [
    "DATA_DESIGNS",
    "DESIGNS",
    "ENSEMBLES",
    "LABEL_DESIGNS",
    "SCHEME_NAMES",
    "ClassOrder",
    "Design",
    "adjacent",
    "balanced_tree",
    "best_random_tree",
    "blocks",
    "centroid_tree",
    "chain",
    "chain_backward",
    "class_balanced_tree",
    "cluster_tree",
    "cluster_trees",
    "cover",
    "data_driven",
    "data_driven_code",
    "decoc",
    "design",
    "detect_order",
    "direct",
    "empirical_tree",
    "evolved_tree",
    "exhaustive",
    "find_design",
    "from_hierarchy",
    "from_matrix",
    "from_paths",
    "from_tree",
    "furthest_centroid_tree",
    "n_ary",
    "n_ary_code",
    "one_vs_one",
    "one_vs_rest",
    "ordered_adjacent",
    "orthogonal",
    "paths",
    "pool",
    "random",
    "random_code",
    "random_pair_tree",
    "random_pair_trees",
    "random_ternary",
    "random_tree",
    "random_trees",
    "register",
    "separability_tree",
    "tree",
    "tree_ensemble",
]
