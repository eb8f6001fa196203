"""Fitted estimators as ONNX graphs, converted by skl2onnx and onnxmltools.

skl2onnx converts scikit-learn's estimators; onnxmltools those of XGBoost, LightGBM and CatBoost.
Trees and a few others, such as imputers, are in single precision there, and the rest in double.
What they convert is run and compared with the estimator, because some of their models are wrong.
Histogram boosting is converted here, because its thresholds are in double precision, and so are
transformers that skl2onnx's models apply otherwise to zeros, to large numbers or to new categories.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, Normalizer, OneHotEncoder, PolynomialFeatures
from sklearn.svm import SVC, NuSVC

from polytomy.errors import PolytomyError
from polytomy.onnx_graph import OPSET_VERSION, TREES, Graph, Value, import_onnx

# Newer operators are not known to onnxmltools. Those that it writes have not changed since.
_OPSET_OF_BOOSTERS = 15

# Operators of the domain of trees that runtimes do not limit to single precision.
_OF_ANY_TYPE = {"ArrayFeatureExtractor", "LabelEncoder"}

# Random samples that a converted model is compared on, and the difference that is accepted.
_N_COMPARED, _TOLERANCE = 8, 1e-5

Floats = NDArray[np.float64]


class ConversionError(PolytomyError):
    """Raised if an estimator cannot be converted; the message is the reason, as a clause."""


def export_estimator(graph: Graph, X: Value, estimator: Any, method: str) -> Value:
    """Return the result of a method of a fitted estimator as a graph, in double precision.

    A decision function of two classes has one column or two; the last is positive for the second
    class. The steps of pipelines and of column transformers are converted one by one, so that only
    the trees at the end are in single precision.

    Parameters
    ----------
    graph : Graph to add nodes to
    X : samples, in double precision
    estimator : fitted estimator or pipeline
    method : "predict_proba", "decision_function" or "transform"

    Raises
    ------
    ConversionError
        If no converter takes the estimator.
    """
    # Here, because these take a while.
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier

    while isinstance(estimator, Pipeline):
        *steps, (_, estimator) = estimator.steps
        for _, step in steps:
            if not (step is None or isinstance(step, str)):
                X = export_estimator(graph, X, step, "transform")
    package = type(estimator).__module__.partition(".")[0]
    if package == "polytomy" and hasattr(estimator, "to_onnx"):
        value: Value = estimator.to_onnx(graph, X)
        return value
    if isinstance(estimator, HistGradientBoostingClassifier):
        return _export_histograms(graph, X, estimator, method)
    if isinstance(estimator, ColumnTransformer):
        return _export_columns(graph, X, estimator)
    if type(estimator) in _TRANSFORMERS:
        return _TRANSFORMERS[type(estimator)](graph, X, estimator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, is_double = _CONVERTERS.get(package, _convert_sklearn)(estimator, method)
            if further := {node.domain for node in model.graph.node} - {"", TREES}:
                raise ConversionError(f"it would need operators of {', '.join(further)}")
            _compare(model, is_double, estimator, method)
    except ImportError as error:
        raise ConversionError(
            f'{error.name} is not installed: pip install "polytomy[onnx]"'
        ) from error
    except ConversionError:
        raise
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "")[:200] or type(error).__name__
        raise ConversionError(f"its converter says: {reason.rstrip('.')}") from error
    return _embed(graph, X, model, is_double, method)


def _embed(graph: Graph, X: Value, model: Any, is_double: bool, method: str) -> Value:
    samples = X if is_double else graph.cast(X, np.float32)
    number = 0 if method == "transform" else 1  # the first output of a classifier has the labels
    return graph.cast(graph.embed(model, samples, number), np.float64)


def _compare(model: Any, is_double: bool, estimator: Any, method: str) -> None:
    """Raise a ConversionError if a converted model answers otherwise than the estimator.

    Some converters ignore parameters, such as `boosting_type` of LightGBM. Single samples may
    differ: nearest neighbours can be equally far away.
    """
    from onnxruntime import InferenceSession, SessionOptions

    n_features = estimator.n_features_in_
    new = np.random.default_rng(0).normal(size=(_N_COMPARED, n_features))
    new = new.astype(np.float32).astype(np.float64)
    try:
        answers = getattr(estimator, method)(new)
    except ValueError:
        return  # it takes only certain values, such as categories
    expected = np.asarray(answers.toarray() if hasattr(answers, "toarray") else answers)
    expected = expected.reshape(len(new), -1)
    graph, options = Graph(), SessionOptions()
    X = graph.input("X", np.float64, ["n_samples", n_features])
    converted = _embed(graph, X, model, is_double, method)
    graph.output("Y", converted, np.float64, ["n_samples", "n_columns"])
    options.log_severity_level = 4  # the error is raised as well
    file = graph.to_model("compared", {}).SerializeToString()
    session = InferenceSession(file, options, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": new})[0][:, -expected.shape[1] :]
    if found.shape != expected.shape or np.mean(_are_close(found, expected)) < 0.5:
        raise ConversionError("its converted model gives other answers")


def _are_close(found: Floats, expected: Floats) -> NDArray[np.bool_]:
    size = np.maximum(1.0, np.abs(expected).max(axis=1))
    close: NDArray[np.bool_] = np.abs(found - expected).max(axis=1) <= _TOLERANCE * size
    return close


def _convert_sklearn(estimator: Any, method: str) -> tuple[Any, bool]:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

    if isinstance(estimator, SVC | NuSVC):  # those of the usual kernels have graphs of their own
        raise ConversionError("its kernel, or its own probabilities, cannot be converted")
    is_weighted = isinstance(estimator, KNeighborsClassifier) and estimator.weights != "uniform"
    if is_weighted or isinstance(estimator, RadiusNeighborsClassifier):
        # skl2onnx's models give wrong probabilities, or fail.
        raise ConversionError("only neighbours of equal weight can be converted")
    options = None if method == "transform" else {id(estimator): {"zipmap": False}}
    if method == "decision_function":
        options = {id(estimator): {"zipmap": False, "raw_scores": True}}

    def convert(tensor: Any) -> Any:
        shape = [None, estimator.n_features_in_]
        opset = {"": OPSET_VERSION, TREES: 3}
        model = convert_sklearn(
            estimator, initial_types=[("X", tensor(shape))], options=options, target_opset=opset
        )
        import_onnx().checker.check_model(model, full_check=True)
        return model

    try:
        model = convert(DoubleTensorType)
    except Exception:  # some converters fail, or mix types
        return convert(FloatTensorType), False
    used = {node.op_type for node in model.graph.node if node.domain == TREES}
    return (model, True) if used <= _OF_ANY_TYPE else (convert(FloatTensorType), False)


def _convert_booster(name: str) -> Callable[[Any, str], tuple[Any, bool]]:
    def convert(estimator: Any, method: str) -> tuple[Any, bool]:
        if method == "decision_function":
            raise ConversionError('only its probabilities can; use calibration="auto" or None')
        if name == "lightgbm" and estimator.get_params().get("zero_as_missing"):
            # The samples of _compare have no zeros.
            raise ConversionError("zeros that are missing values cannot be converted")
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        given: dict[str, Any] = {"name": "booster"}
        if name != "catboost":  # it knows its features itself
            shape = [None, estimator.n_features_in_]
            given["initial_types"] = [("X", FloatTensorType(shape))]
            given["target_opset"] = _OPSET_OF_BOOSTERS
        return getattr(onnxmltools, f"convert_{name}")(estimator, **given), False

    return convert


_CONVERTERS: dict[str, Callable[[Any, str], tuple[Any, bool]]] = {
    name: _convert_booster(name) for name in ("xgboost", "lightgbm", "catboost")
}
"""Converters by the package of an estimator; skl2onnx is for all others."""


def _export_histograms(graph: Graph, X: Value, model: Any, method: str) -> Value:
    """Return the sums of the trees of histogram boosting, or the probabilities."""
    if model.is_categorical_ is not None:
        raise ConversionError("categorical features cannot be converted")
    from_array = import_onnx().numpy_helper.from_array
    trees = [(side, tree.nodes) for each in model._predictors for side, tree in enumerate(each)]
    sizes = [len(nodes) for _, nodes in trees]
    nodes = np.concatenate([nodes for _, nodes in trees])
    is_leaf = nodes["is_leaf"].astype(bool)
    places = np.repeat(np.arange(len(trees)), sizes), np.concatenate(list(map(np.arange, sizes)))
    links = {name: np.where(is_leaf, 0, nodes[name]).tolist() for name in ("left", "right")}
    sums = graph.add(
        "TreeEnsembleRegressor",
        X,
        domain=TREES,
        n_targets=model.n_trees_per_iteration_,
        nodes_treeids=places[0].tolist(),
        nodes_nodeids=places[1].tolist(),
        nodes_featureids=nodes["feature_idx"].tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=links["left"],
        nodes_falsenodeids=links["right"],
        nodes_missing_value_tracks_true=nodes["missing_go_to_left"].astype(int).tolist(),
        nodes_values_as_tensor=from_array(nodes["num_threshold"].astype(np.float64), "thresholds"),
        target_treeids=places[0][is_leaf].tolist(),
        target_nodeids=places[1][is_leaf].tolist(),
        target_ids=np.repeat([side for side, _ in trees], sizes)[is_leaf].tolist(),
        target_weights_as_tensor=from_array(nodes["value"][is_leaf].astype(np.float64), "values"),
    )
    values = graph.cast(sums, np.float64) + np.ravel(model._baseline_prediction)
    if method == "decision_function":
        return values
    if model.n_trees_per_iteration_ == 1:
        values = values * np.array([-0.5, 0.5])
    return graph.add("Softmax", values, axis=1)


def _export_normalizer(graph: Graph, X: Value, step: Any) -> Value:
    if step.norm == "l2":
        size = graph.add("Sqrt", (X * X).sum(axis=1))
    else:
        sizes = graph.add("Abs", X)
        size = sizes.sum(axis=1) if step.norm == "l1" else sizes.max(axis=1)
    # Samples of zeros, or nearly so, stay as they are.
    is_zero = graph.add("Less", size, 10 * float(np.finfo(np.float64).eps))
    return X / graph.add("Where", is_zero, 1.0, size)


def _export_binarizer(graph: Graph, X: Value, step: Any) -> Value:
    return graph.cast(graph.add("Greater", X, float(step.threshold)), np.float64)


def _export_polynomials(graph: Graph, X: Value, step: Any) -> Value:
    powers = step.powers_
    degree = max(1, int(powers.sum(axis=1).max()))
    # The factors of each product, filled up with a column of ones.
    factors = np.full((len(powers), degree), step.n_features_in_)
    for row, own in zip(factors, powers, strict=True):
        own = np.repeat(np.arange(len(own)), own)
        row[: len(own)] = own
    columns = graph.join([X, graph.repeat(np.ones(1), X)])
    product = columns.take(factors[:, 0], axis=1)
    for own in factors.T[1:]:
        product = product * columns.take(own, axis=1)
    return product


def _export_one_hot(graph: Graph, X: Value, step: Any) -> Value:
    if step.min_frequency is not None or step.max_categories is not None:
        raise ConversionError("infrequent categories cannot be converted")
    values = np.concatenate(step.categories_)
    if values.dtype.kind not in "iuf" or np.isnan(values).any():
        raise ConversionError("only categories that are numbers can be converted")
    features = np.repeat(np.arange(len(step.categories_)), list(map(len, step.categories_)))
    numbers = np.concatenate([np.arange(len(own)) for own in step.categories_])
    if step.drop_idx_ is not None:
        is_kept = numbers != step.drop_idx_[features]  # None drops nothing
        features, values = features[is_kept], values[is_kept]
    is_one = graph.add("Equal", X.take(features, axis=1), values.astype(np.float64))
    return graph.cast(is_one, np.float64)


def _export_columns(graph: Graph, X: Value, transformer: Any) -> Value:
    places, parts = transformer._transformer_to_input_indices, []
    for name, step, _ in transformer.transformers_:
        if len(places[name]) and not (isinstance(step, str) and step == "drop"):
            own = X.take(np.array(places[name]), axis=1)
            is_same = isinstance(step, str) or getattr(step, "func", own) is None
            parts.append(own if is_same else export_estimator(graph, own, step, "transform"))
    return graph.join(parts)


_TRANSFORMERS: dict[type, Callable[[Graph, Value, Any], Value]] = {
    Binarizer: _export_binarizer,
    Normalizer: _export_normalizer,
    OneHotEncoder: _export_one_hot,
    PolynomialFeatures: _export_polynomials,
}
