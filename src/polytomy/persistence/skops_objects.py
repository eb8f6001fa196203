"""Objects that are not plain, saved with skops.

skops only creates objects of types that are trusted: most estimators of scikit-learn, arrays and
sparse matrices; the types in `TRUSTED`, which those estimators hold; and those that the user names.
It checks types, not numbers. LIBSVM, trees, splines, neighbours and sparse matrices follow indices
without checking them, so wrong ones would read or write outside the memory of their arrays. They
are checked here, after they are made and before anything uses them.

Nothing in `TRUSTED` runs code of a file: its classes keep what they are given as attributes, and
its functions compute numbers from arrays. A type that calls what it is given, such as
functools.partial, must never be in it.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from types import MethodType, ModuleType
from typing import Any

import numpy as np
import sklearn
from scipy.interpolate import BSpline
from scipy.sparse import issparse, sparray, spmatrix
from sklearn.base import BaseEstimator
from sklearn.ensemble._bagging import BaseBagging
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.svm import SVC, NuSVC
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.files import read_array_header
from polytomy.inputs.sparse import check_sparse
from polytomy.persistence.archive import ZIP_ERRORS, find_size_problem, read_member

#: Types and functions of scikit-learn and what it uses that are trusted besides those of skops.
TRUSTED = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": ("object",),
        "numpy": ("dtype", "mean"),
        "scipy._lib.array_api_compat.numpy._aliases": ("asarray",),
        "scipy.interpolate._bsplines": ("BSpline", "_BSpline"),
        "sklearn.calibration": (
            *("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling"),
        ),
        "sklearn.compose._column_transformer": ("_RemainderColsList", "make_column_selector"),
        "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
        "sklearn.feature_selection._mutual_info": (
            *("mutual_info_classif", "mutual_info_regression"),
        ),
        "sklearn.feature_selection._univariate_selection": (
            *("chi2", "f_classif", "f_oneway", "f_regression", "r_regression"),
        ),
        "sklearn.gaussian_process._gpc": ("_BinaryGaussianProcessClassifierLaplace",),
        "sklearn.gaussian_process.kernels": (
            *("CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation"),
            *("Matern", "PairwiseKernel", "Product", "RBF", "RationalQuadratic", "Sum"),
            "WhiteKernel",
        ),
        "sklearn.impute._iterative": ("IterativeImputer", "_ImputerTriplet"),
        "sklearn.metrics._classification": ("balanced_accuracy_score",),
        "sklearn.metrics._dist_metrics": (
            *("ChebyshevDistance64", "EuclideanDistance64", "ManhattanDistance64"),
            "MinkowskiDistance64",
        ),
        "sklearn.metrics._scorer": ("_CurveScorer", "_PassthroughScorer", "_Scorer"),
        "sklearn.model_selection._split": ("KFold", "StratifiedKFold"),
        "sklearn.multiclass": ("_ConstantPredictor",),
        "sklearn.neighbors._ball_tree": ("BallTree",),
        "sklearn.neighbors._kd_tree": ("KDTree",),
        "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
        "sklearn.tree._tree": ("Tree",),
        "sklearn.utils._bunch": ("Bunch",),
        "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
    }.items()
    for name in names
)


def dump_skops_objects(objects: Sequence[Any]) -> bytes:
    """Return objects serialised by skops; warn about types that must be trusted to load them."""
    import skops.io

    try:
        content = bytes(skops.io.dumps(list(objects), compression=zipfile.ZIP_DEFLATED))
        untrusted = sorted(set(skops.io.get_untrusted_types(data=content)) - TRUSTED)
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
    trusted : names of types to trust, besides those that skops trusts itself and `TRUSTED`
    source : name of the file, for messages
    saved_with : version of scikit-learn that wrote the file, for messages, or None
    """
    import skops.io

    content = _repack(content, source)
    try:
        found = set(skops.io.get_untrusted_types(data=content))
        untrusted = sorted(found - TRUSTED - set(trusted))
        objects = [] if untrusted else skops.io.loads(content, trusted=sorted(found))
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
        for types, check in _CHECKS:
            if isinstance(each, types):
                check(each)
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
    if issparse(value) or isinstance(value, ModuleType):
        return ()
    if isinstance(value, MethodType):
        return (value.__self__,)
    return list(getattr(value, "__dict__", {}).values())


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


def _check_tree(tree: Tree) -> None:
    """Raise ValueError unless every path through a tree of scikit-learn ends in a leaf."""
    if not 0 < tree.node_count <= tree.capacity:
        raise ValueError("the nodes of a tree do not fit together")
    nodes = tree.__getstate__()["nodes"]
    is_inner = nodes["left_child"] != -1
    _check_nodes(is_inner, nodes["left_child"], nodes["right_child"])
    _check_features(nodes["feature"][is_inner], tree.n_features)


def _check_nodes(is_inner: Any, left: Any, right: Any) -> None:
    """Raise ValueError unless children come after their parents, so that no path has a cycle."""
    inner = np.flatnonzero(is_inner)
    children = np.stack([left[inner], right[inner]]).astype(np.int64)
    if not (np.all(children > inner) and np.all(children < len(left))):
        raise ValueError("the nodes of a tree do not fit together")


def _check_features(features: Any, n_features: int) -> None:
    if not (np.all(features >= 0) and np.all(features < n_features)):
        raise ValueError("the nodes of a tree do not fit together")


def _check_tree_features(model: Any) -> None:
    """Raise ValueError if a tree expects another number of features than its model."""
    n_features = getattr(model, "n_features_in_", None)
    trees = np.ravel(np.array(getattr(model, "estimators_", []), dtype=object)).tolist()
    subsets = getattr(model, "estimators_features_", None)
    expected = [n_features] * len(trees) if subsets is None else list(map(len, subsets))
    inner = [getattr(each, "tree_", None) for each in (model, *trees)]
    for tree, count in zip(inner, [n_features, *expected], strict=True):
        if tree is not None and tree.n_features != count:
            name = type(model).__name__
            raise ValueError(f"the trees of a {name} have other numbers of features")


def _check_boosting(model: Any) -> None:
    """Raise ValueError unless the first scores of a model have a column for each of its trees."""
    if hasattr(model, "estimators_"):
        check_skops_objects([model.init_])  # it is going to be used
        sample = np.zeros((1, model.n_features_in_), dtype=np.float32)
        if model._raw_predict_init(sample).shape != (1, *model.estimators_.shape[1:]):
            raise ValueError("the trees of a boosted model do not fit its classes")


def _check_histogram_trees(model: Any) -> None:
    """Raise ValueError unless all nodes of a model's trees use features that it has."""
    if not hasattr(model, "_predictors"):
        return
    is_categorical = np.asarray(model._bin_mapper.is_categorical_)
    if len(is_categorical) != model.n_features_in_:
        raise ValueError("the features of a boosted model do not fit together")
    for predictor in chain(*model._predictors):
        nodes, bitsets = predictor.nodes, predictor.raw_left_cat_bitsets
        inner = nodes[nodes["is_leaf"] == 0]
        _check_nodes(nodes["is_leaf"] == 0, nodes["left"], nodes["right"])
        _check_features(inner["feature_idx"], model.n_features_in_)
        divided = inner[inner["is_categorical"] != 0]
        fits = np.all(divided["bitset_idx"] < len(bitsets)) and bitsets.shape[1:] == (8,)
        if not len(nodes) or not fits or not is_categorical[divided["feature_idx"]].all():
            raise ValueError("the categories of a boosted model do not fit together")


def _check_neighbour_tree(tree: Any) -> None:
    """Raise ValueError unless a tree of neighbours is the one that its samples give."""
    state = tree.__getstate__()
    again = type(tree)(state[0], leaf_size=state[4], metric=state[11], sample_weight=state[12])
    # The samples, their order, the nodes and their bounds, and four numbers.
    for own, expected in zip(state[:7], again.__getstate__()[:7], strict=True):
        if not np.array_equal(own, expected):
            raise ValueError("the nodes of a tree of neighbours do not fit together")


def _check_neighbours(model: Any) -> None:
    """Raise ValueError unless each sample of a fitted classifier has one of its classes."""
    if not hasattr(model, "_fit_X"):
        return
    labels, classes = np.asarray(model._y), model.classes_
    several = isinstance(classes, list)
    counts = [len(each) for each in classes] if several else [len(classes)]
    columns = labels.reshape(len(labels), -1).T
    fits = len(labels) == model._fit_X.shape[0] and len(columns) == len(counts)
    if not fits or labels.dtype.kind not in "iu" or not labels.size:
        raise ValueError("the samples and labels of neighbours do not fit together")
    if any(own.min() < 0 or own.max() >= n for own, n in zip(columns, counts, strict=True)):
        raise ValueError("the samples and labels of neighbours do not fit together")


def _check_spline(spline: BSpline) -> None:
    """Raise ValueError unless SciPy accepts the knots and coefficients of a spline."""
    BSpline(spline.t, spline.c, spline.k, spline.extrapolate, spline.axis)


#: What follows indices without checking them, and what checks it.
_CHECKS: tuple[tuple[Any, Callable[[Any], object]], ...] = (
    ((spmatrix, sparray), check_sparse),
    (BaseLibSVM, _check_machine),
    (Tree, _check_tree),
    ((BaseDecisionTree, BaseForest, BaseBagging, BaseGradientBoosting), _check_tree_features),
    (BaseGradientBoosting, _check_boosting),
    (BaseHistGradientBoosting, _check_histogram_trees),
    ((KDTree, BallTree), _check_neighbour_tree),
    ((KNeighborsClassifier, RadiusNeighborsClassifier), _check_neighbours),
    (BSpline, _check_spline),
)
