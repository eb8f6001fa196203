"""Export of fitted classifiers to ONNX, to run them without Python.

Each part of a classifier writes its own formula: the bank of binaries, calibrators, solver, final
calibration, prior and costs. This module asks them in the order of a prediction.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import check_export, export_clipping
from polytomy.classifier import PolytomyClassifier
from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.arguments import PRECISIONS, Parameter
from polytomy.learners.preparation import list_steps, split_pipeline
from polytomy.learners.scaling import export_steps
from polytomy.model.composition import Composition
from polytomy.onnx_conversion import ConversionError
from polytomy.onnx_graph import Graph, Value, import_onnx
from polytomy.solvers import METHODS

_DTYPE = Parameter("dtype", choices=PRECISIONS)


def to_onnx(classifier: Any, *, dtype: str = "float32") -> Any:
    """Return a fitted classifier as an ONNX model, which runs without Python.

    Binaries, and models with more than two sides, can be support vector machines, linear
    classifiers, and all that skl2onnx or onnxmltools converts, such as forests, boosted trees and
    nearest neighbours; alone or in a pipeline. The solver can be "voting" or "hamming" for any
    scheme, and "least-squares" for one-vs-one, for trees, for codes without zeros, and for nested
    schemes of these. The final calibration can be any of polytomy's own, a calibrator that skl2onnx
    converts, or None. The model includes the prior and the costs of the classifier.

    The model has one input, `X` of shape (n_samples, n_features), and two outputs, `label` and
    `probabilities` of shape (n_samples, n_classes) in the order of ``classes_``. If the solver does
    not give probabilities, the second output is called `scores`. All arithmetic but that of trees
    is in double precision. The probabilities are those of the classifier to 1e-5; see "ONNX export"
    in the documentation.

    Parameters
    ----------
    classifier : fitted PolytomyClassifier, or a pipeline of transformers that ends in one
    dtype : "float32" or "float64", default="float32"
        Type of the input and of the probabilities or scores.

    Returns
    -------
    onnx.ModelProto, checked by onnx

    Raises
    ------
    ArgumentError
        If onnx is not installed, or a part of the classifier cannot be exported.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = PolytomyClassifier(random_state=0).fit(X, y)
    >>> model = to_onnx(classifier)
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    _DTYPE.check(dtype)
    import_onnx()
    before, core = _split_steps(classifier)
    composition: Composition = core.composition_
    if composition.cascade is not None:
        raise ArgumentError(
            "a cascade cannot be exported, because a graph would evaluate all machines. Export the "
            "exact classifier, or compress it with ",
            Argument("method", "fourier"),
            ".",
        )
    _check_solver(composition)
    final: Any = None if composition.final is None else composition.final.map
    if final is not None:
        check_export(final)
    classes = _exported_labels(composition.classes)
    graph = Graph()
    # Pipelines ask their first step, which may be "passthrough".
    n_features = [*before, core][0].n_features_in_
    X = graph.input("X", dtype, ["n_samples", n_features])
    try:
        samples = export_steps(graph, _cast(graph, X, dtype, "float64"), before)
    except ConversionError as error:
        raise ArgumentError(
            f"the steps before the binaries cannot be exported: {error}. Export the last step of "
            "the pipeline alone, or a classifier that was fitted to transformed samples, and "
            "transform samples before they are given to the ONNX model."
        ) from error
    # With a single class there are no binaries, and only the number of samples matters.
    answers = composition.bank.to_onnx(graph, samples) if composition.binaries else samples
    if final is not None:
        answers = export_clipping(graph, answers)
    parts = list(zip(composition.arrangements, composition.solvers, strict=True))
    each = [one.to_onnx(graph, answers, str(solver)) for one, solver in parts]
    if final is None:
        scores = each[0] if len(each) == 1 else graph.add("Sum", *each) / float(len(each))
    elif len(each) == 1:
        scores = final.to_onnx(graph, each[0], answers)
    else:
        own = [answers.take(np.unique(one.columns), axis=1) for one, _ in parts]
        scores = final.to_onnx(graph, zip(each, own, strict=True))
    if composition.prior is not None:
        scores = composition.prior.to_onnx(graph, scores)
    labels, ranked, costs = classes, scores, composition.costs
    if composition.tie_order is not None and not composition.gives_probabilities:
        order = np.array(composition.tie_order)
        labels, ranked = classes[order], scores.take(graph.constant(order), axis=1)
    if costs is None:
        winners = graph.add("ArgMax", ranked, axis=1, keepdims=0)
    else:
        winners = costs.to_onnx(graph, scores)
        if costs.can_reject:
            labels = costs.labels_with_reject(classes)
            if len({isinstance(label, str) for label in labels.tolist()}) > 1:
                raise ArgumentError(
                    Argument("reject_label", costs.reject_label),
                    f" cannot be exported, because the labels, such as {classes.tolist()[0]!r}, "
                    "are of another type. Use one of the same type.",
                )
            labels = _exported_labels(labels)
    graph.output("label", graph.constant(labels).take(winners, axis=0), labels.dtype, ["n_samples"])
    graph.output(
        "probabilities" if composition.gives_probabilities else "scores",
        _cast(graph, scores, "float64", dtype),
        dtype,
        ["n_samples", len(classes)],
    )
    return graph.to_model("polytomy", _metadata(classifier, classes))


def _split_steps(classifier: Any) -> tuple[list[Any], PolytomyClassifier]:
    """Return the steps before the binaries, and the classifier."""
    before, core = split_pipeline(classifier)
    if not isinstance(core, PolytomyClassifier):
        raise ArgumentError(
            f"{type(core).__name__} cannot be exported. Pass a PolytomyClassifier, or a pipeline "
            "that ends in one."
        )
    if not hasattr(core, "composition_"):
        raise ArgumentError("the classifier is not fitted, so there is nothing to export. Fit it.")
    return before + list_steps(core.preprocessing_), core


def _check_solver(composition: Composition) -> None:
    """Raise an ArgumentError unless the solver can be written as a graph for the scheme."""
    is_inside = composition.final is not None
    names = [f'"{each.name}"' for each in METHODS.values() if each.exports_all]
    for each, solver in zip(composition.arrangements, composition.solvers, strict=True):
        if isinstance(solver, str) and METHODS[solver].exports(each.scheme, is_inside):
            continue
        raise ArgumentError(
            Argument("solver", solver),
            f" cannot be exported; {', '.join(names)} can.",
            PythonOnly(
                " classifier.with_solver changes the solver without training the binaries again."
            ),
        )


def _exported_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels in a type that ONNX supports: int64, float64 or text."""
    if classes.dtype.kind in "biu" and not (classes > np.iinfo(np.int64).max).any():
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind == "U" or all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    large = classes[-1].item() if classes.dtype.kind == "u" else None  # they are sorted
    odd = next((label for label in classes.tolist() if not isinstance(label, str)), None)
    raise ArgumentError(
        f"the label {large or odd!r} cannot be exported. Fit with labels that are text, or "
        "integers below 2**63."
    )


def _cast(graph: Graph, value: Value, given: str, wanted: str) -> Value:
    return value if given == wanted else graph.cast(value, wanted)


def _metadata(classifier: Any, classes: NDArray[Any]) -> dict[str, str]:
    metadata = {"classes": json.dumps(classes.tolist(), ensure_ascii=False)}
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None:
        metadata["feature_names"] = json.dumps([str(name) for name in names], ensure_ascii=False)
    return metadata
