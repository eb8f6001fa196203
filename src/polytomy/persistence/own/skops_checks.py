"""Checks of objects that skops created, before code that trusts their arrays uses them.

skops checks types, not numbers. LIBSVM, scikit-learn's trees and SciPy's sparse matrices follow
indices without checking them, so wrong ones would read or write outside the memory of their
arrays. Other types that do the same are created only if the user trusts them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.svm import SVC, NuSVC
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

__all__ = ["check_skops_objects"]


def check_skops_objects(objects: Iterable[Any]) -> None:
    """Raise ValueError if an object, or anything inside it, has inconsistent arrays."""
    waiting, seen = list(objects), set()
    kept = []  # temporary objects must stay alive, or their ids would be reused
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        kept.append(each)
        if issparse(each):
            _check_sparse(each)
        elif isinstance(each, BaseLibSVM):
            _check_machine(each)
        elif isinstance(each, Tree):
            _check_tree(each)
        elif isinstance(each, BaseDecisionTree | BaseForest | BaseGradientBoosting):
            _check_tree_features(each)
        if isinstance(each, BaseEstimator):
            each.get_params(deep=False)  # raises if a parameter is missing
        waiting.extend(_parts_of(each))


def _parts_of(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else ()
    if issparse(value):
        return ()
    return list(getattr(value, "__dict__", {}).values())


def _check_sparse(matrix: Any) -> None:
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
    else:
        # The other formats are checked when they are converted.
        csr_matrix(matrix).check_format(full_check=True)


def _check_machine(machine: Any) -> None:
    """Raise ValueError unless LIBSVM can use the arrays of a fitted machine."""
    if not hasattr(machine, "support_"):
        return  # not fitted
    names = ("_n_support", "_dual_coef_", "_intercept_", "support_vectors_", "_probA", "_probB")
    missing = [name for name in (*names, "kernel", "shape_fit_") if not hasattr(machine, name)]
    if missing:
        raise ValueError(f"a {type(machine).__name__} has no {missing[0]}")
    machine._validate_params()
    counts, coefficients = np.asarray(machine._n_support), machine._dual_coef_
    n_classes, n_vectors = len(counts), len(machine.support_)
    is_classifier = isinstance(machine, SVC | NuSVC)
    if not is_classifier:
        counts = counts[:1]  # LIBSVM does not set the second count of its other machines
    n_pairs = n_classes * (n_classes - 1) // 2
    # The values of a kernel that is a function are handed to LIBSVM as a precomputed kernel.
    is_precomputed = callable(machine.kernel) or machine.kernel == "precomputed"
    support = np.asarray(machine.support_)
    fits = (
        n_classes >= 2
        and counts.min() >= 0
        and int(counts.sum(dtype=np.int64)) == n_vectors
        and tuple(coefficients.shape) == (n_classes - 1, n_vectors)
        and np.shape(machine._intercept_) == (n_pairs,)
        and all(np.shape(each) in ((0,), (n_pairs,)) for each in (machine._probA, machine._probB))
        and np.shape(machine._probA) == np.shape(machine._probB)
        and bool(issparse(machine.support_vectors_)) == bool(issparse(coefficients))
        and bool(issparse(coefficients)) == bool(machine._sparse)
        and machine.support_vectors_.shape[0] == (0 if is_precomputed else n_vectors)
    )
    if is_classifier:
        fits = fits and len(machine.classes_) == n_classes
    if is_precomputed:
        n_columns = machine.shape_fit_[0]
        fits = fits and (callable(machine.kernel) or n_columns == machine.n_features_in_)
        fits = fits and (not n_vectors or 0 <= support.min() <= support.max() < n_columns)
    else:
        fits = fits and machine.support_vectors_.shape[1] == machine.n_features_in_
    if not fits:
        raise ValueError(f"the arrays of a {type(machine).__name__} do not fit together")


def _check_tree(tree: Any) -> None:
    """Raise ValueError unless every path through a tree of scikit-learn ends in a leaf."""
    state = tree.__getstate__()
    nodes = state["nodes"]
    inner = np.flatnonzero(nodes["left_child"] != -1)
    children = np.stack([nodes["left_child"][inner], nodes["right_child"][inner]])
    features = nodes["feature"][inner]
    # Children come after their parents, so that no path has a cycle.
    fits = (
        state["node_count"] == len(nodes)
        and len(nodes) > 0
        and bool(np.all(children > inner) and np.all(children < len(nodes)))
        and bool(np.all(features >= 0) and np.all(features < tree.n_features))
    )
    if not fits:
        raise ValueError("the nodes of a tree do not fit together")


def _check_tree_features(model: Any) -> None:
    """Raise ValueError if a tree expects another number of features than its model."""
    n_features = getattr(model, "n_features_in_", None)
    trees = np.ravel(np.array(getattr(model, "estimators_", []), dtype=object)).tolist()
    inner = [getattr(model, "tree_", None), *(getattr(each, "tree_", None) for each in trees)]
    if any(tree is not None and tree.n_features != n_features for tree in inner):
        raise ValueError(f"the trees of a {type(model).__name__} have other numbers of features")
