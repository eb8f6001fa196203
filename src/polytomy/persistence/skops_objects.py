"""Objects that are not plain, saved with skops.

skops only creates objects of types that it trusts: those of scikit-learn, NumPy and SciPy, and
those that the user names. It checks types, not numbers. LIBSVM, scikit-learn's trees and SciPy's
sparse matrices follow indices without checking them, so wrong ones would read or write outside the
memory of their arrays. They are checked here. Other types that do the same are created only if the
user trusts them.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.svm import SVC, NuSVC
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.files import read_array_header
from polytomy.persistence.archive import ZIP_ERRORS, find_size_problem, read_member


def dump_skops_objects(objects: Sequence[Any]) -> bytes:
    """Return objects serialised by skops; warn about types that must be trusted to load them."""
    import skops.io

    try:
        content = bytes(skops.io.dumps(list(objects), compression=zipfile.ZIP_DEFLATED))
        untrusted = sorted(skops.io.get_untrusted_types(data=content))
    except Exception as error:
        # The objects may be of any type and raise anything when they are written.
        raise ArgumentError(
            f"skops cannot save {_type_names(objects)}: {error}. Use joblib.dump instead, and load "
            "that file only if nobody else can have changed it."
        ) from error
    for name in untrusted:
        module, _, attribute = name.rpartition(".")
        if not hasattr(sys.modules.get(module), attribute):
            raise ArgumentError(
                f"{attribute} in {_type_names(objects)} could not be loaded again: module {module} "
                "has nothing of that name, because it is a lambda or was defined inside a "
                "function. Define it at the top level of a module."
            )
    if untrusted:
        warn_caller(
            PolytomyWarning(
                f"{_type_names(objects)} can only be loaded by naming the types to trust: ",
                Argument("trusted", untrusted),
            ),
            PolytomyWarning,
        )
    return content


def load_skops_objects(
    content: bytes, trusted: Sequence[str], source: str, saved_with: object = None
) -> list[Any]:
    """Return the objects that skops wrote; ModelFileError if a type is not trusted.

    Parameters
    ----------
    content : what `dump_skops_objects` returned
    trusted : names of types to trust, besides those that skops trusts itself
    source : name of the file, for messages
    saved_with : version of scikit-learn that wrote the file, for messages, or None
    """
    import skops.io

    content = _repack(content, source)
    try:
        untrusted = sorted(set(skops.io.get_untrusted_types(data=content)) - set(trusted))
        objects = [] if untrusted else skops.io.loads(content, trusted=list(trusted))
        check_skops_objects([objects])
    except Exception as error:
        # skops does not document what a damaged file raises, and it calls the types' own code.
        raise ModelFileError(
            f"{source}: skops cannot read its part of the file: {error}{_compare(saved_with)}"
        ) from error
    if untrusted:
        raise ModelFileError(
            f"{source}: the file contains types that are not trusted: {', '.join(untrusted)}. If "
            "you know that they are harmless, use ",
            Argument("trusted", untrusted),
            ".",
        )
    if not isinstance(objects, list):
        raise ModelFileError(f"{source}: skops' part of the file is not a list")
    return objects


def _repack(content: bytes, source: str) -> bytes:
    """Return an archive that is safe for skops to read: every size that it declares is true."""
    repacked = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(repacked, "w") as new:
            infos = archive.infolist()
            problem = find_size_problem(infos, len(content))
            if problem:
                raise ValueError(problem)
            for info in infos:
                member = read_member(archive, info)
                if info.filename.endswith(".npy"):
                    header = read_array_header(io.BytesIO(member))
                    if header.size != len(member):
                        raise ValueError(f"an array of shape {header.shape} has the wrong size")
                new.writestr(info.filename, member)
    except ZIP_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(
            f"{source}: skops cannot read its part of the file: {reason}"
        ) from error
    return repacked.getvalue()


def _compare(saved_with: object) -> str:
    """Return a sentence about the versions of scikit-learn, if they differ."""
    installed = sklearn.__version__
    if saved_with in (None, installed):
        return ""
    return (
        f". The file was saved with scikit-learn {saved_with!s:.20}, and {installed} is installed; "
        "estimators that skops saved may need the same version."
    )


def _type_names(objects: Sequence[Any]) -> str:
    return ", ".join(sorted({type(each).__name__ for each in objects}))


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
