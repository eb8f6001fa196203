"""What model files contain."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from polytomy.calibration.pooling import PoolMap
from polytomy.errors import ModelFileError
from polytomy.learners.estimator_states import share_support_vectors
from polytomy.learners.specification import specification_of
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.out_of_fold import FinalCalibration
from polytomy.model.scheme_argument import members_of
from polytomy.persistence.archive import open_archive
from polytomy.persistence.packing import Unpacker
from polytomy.states import State, find_kind_of


@dataclass(frozen=True, slots=True, eq=False)
class ModelInfo:
    """What a model file contains.

    Attributes
    ----------
    kind : str
        "model of polytomy", "model of LIBSVM" or "control file with models".
    format_version : int; None for files that polytomy did not write
    versions : dict of the packages that wrote it and their versions
    classes : array of labels
    n_features : int or None
    feature_names : tuple of str, or None
    schemes : tuple of control texts, one, or those of an ensemble
    solver : str
    kinds : dict of the kinds of binaries and their numbers
    n_support_vectors : number of different support vectors
    n_bytes : size of the file
    metadata : dict that was passed to `save`
    final_calibration : dict, or None
        The ``kind`` of the final calibration, such as "bias" or "provided", with its ``scale``
        (the inverse of a temperature) and ``floor``; for a "pool", ``weight 1`` and so on.
    out_of_fold_score : dict, or None
        ``out_of_fold_score_`` of the classifier or regressor.
    has_out_of_fold : bool
        Whether the file has out-of-fold scores, to learn a final calibration again.
    preprocessing : tuple of str
        Types of the transformers that all binaries share; empty if there are none.
    target_range : dict, or None
        For a regressor, whose classes are the numbers of its bins: the ``lower`` and the ``upper``
        end of all bins.
    has_sets : bool
        Whether the model can make prediction sets.
    has_prior, has_costs : bool
        Whether the model has a prior that is not that of training, and costs of decisions.
    """

    kind: str
    format_version: int | None
    versions: Mapping[str, str]
    classes: NDArray[Any]
    n_features: int | None
    feature_names: tuple[str, ...] | None
    schemes: tuple[str, ...]
    solver: str
    kinds: Mapping[str, int]
    n_support_vectors: int
    n_bytes: int
    metadata: Mapping[str, Any]
    final_calibration: Mapping[str, Any] | None = None
    out_of_fold_score: Mapping[str, float] | None = None
    has_out_of_fold: bool = False
    preprocessing: tuple[str, ...] = ()
    target_range: Mapping[str, float] | None = None
    has_sets: bool = False
    has_prior: bool = False
    has_costs: bool = False

    @property
    def scheme(self) -> str:
        """The control text, or the first one of an ensemble."""
        return self.schemes[0]


def describe_model(model: Any, shared: Mapping[int, Any]) -> dict[str, Any]:
    """Return those attributes of `ModelInfo` that describe a model, all but the schemes.

    Parameters
    ----------
    model : fitted classifier or regressor
    shared : result of `share_support_vectors` for its binaries
    """
    classifier = getattr(model, "classifier_", model)
    composition = classifier.composition_
    pools = [getattr(machine, "machine", machine).pool for machine in shared.values()]
    names = getattr(classifier, "feature_names_in_", None)
    pairs = zip(composition.binaries, composition.dichotomies, strict=True)
    models = [binary for binary, dichotomy in pairs if dichotomy.is_counted]
    steps = [] if composition.preprocessing is None else composition.preprocessing.steps
    final, bins = composition.final, getattr(model, "bins_", None)
    score = getattr(model, "out_of_fold_score_", None if final is None else final.score)
    ends = None if bins is None else {"lower": bins.edges[0], "upper": bins.edges[-1]}
    return {
        "classes": classifier.classes_,
        "n_features": getattr(classifier, "n_features_in_", None),
        "feature_names": None if names is None else tuple(map(str, names)),
        "solver": ", ".join(dict.fromkeys(map(str, composition.solvers))),
        "kinds": dict(Counter(_kind_of(binary) for binary in models)),
        "n_support_vectors": sum({id(each): each.vectors.shape[0] for each in pools}.values()),
        "final_calibration": None if final is None else _describe_final(final),
        "out_of_fold_score": None if score is None else _floats(score),
        "has_out_of_fold": composition.out_of_fold is not None,
        "preprocessing": tuple([_step_name(step) for _, step in steps]),
        "target_range": None if ends is None else _floats(ends),
        "has_sets": final is not None and final.conformity is not None,
        "has_prior": composition.prior is not None,
        "has_costs": composition.costs is not None,
    }


def _floats(numbers: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}


def _step_name(step: Any) -> str:
    return "passthrough" if step is None else step if isinstance(step, str) else type(step).__name__


def _describe_final(final: FinalCalibration) -> dict[str, Any]:
    """Return the kind of a final calibration and its numbers, without its arrays."""
    kind = find_kind_of(final.map)
    assert kind is not None
    state = kind.state(final.map) or {}
    numbers = {name: float(value) for name, value in state.items() if isinstance(value, float)}
    if isinstance(final.map, PoolMap):
        weights = enumerate(final.map.weights.tolist(), start=1)
        numbers |= {f"weight {number}": value for number, value in weights}
    return {"kind": kind.name.partition("/")[2], **numbers}


def _kind_of(binary: TrainedBinary) -> str:
    """Return the kind of a binary in a word or two."""
    if binary.output is Output.CONSTANT:
        return "constant"
    estimator, prefix = binary.estimator, "" if binary.columns is None else "precomputed "
    while type(estimator) is Pipeline:
        estimator, prefix = estimator.steps[-1][1], "scaled "
    type_: Any = type(estimator)
    # Registered types have defaults for all parameters; others may not.
    is_known = hasattr(estimator, "kind_of_model") or find_kind_of(estimator) is not None
    return prefix + (_kind_of_type(type_) if is_known else "other")


@lru_cache(maxsize=64)
def _kind_of_type(type_: Any) -> str:
    if hasattr(type_, "kind_of_model"):
        return str(type_.kind_of_model)
    if not type_.__module__.startswith("sklearn."):
        return "other"
    return specification_of(type_()).split()[0]


#: Attributes of `ModelInfo` that `describe_model` does not return.
_OF_FILE = ("kind", "format_version", "versions", "schemes", "n_bytes", "metadata")


def read_saved_info(path: str | os.PathLike[str], kind: str) -> ModelInfo:
    """Return information about a .polytomy file, from its description alone."""
    archive = open_archive(path)
    try:
        description = State(archive.description, "the description")
        info, unpacker = description.inner("info"), Unpacker({})
        versions = description.inner("versions")
        metadata = unpacker.unpack(description.value("metadata"), "metadata")
        return ModelInfo(
            kind=kind,
            format_version=description.integer("format_version", least=1),
            versions={name: versions.text(name) for name in versions},
            schemes=tuple(_find_schemes(description)),
            n_bytes=Path(path).stat().st_size,
            metadata=metadata if isinstance(metadata, dict) else {},
            **{
                name: _read_value(info, name, hint, unpacker)
                for name, hint in get_type_hints(ModelInfo).items()
                if name not in _OF_FILE
            },
        )
    except ModelFileError as error:
        raise archive.locate(error) from error


def _read_value(info: State, name: str, hint: Any, unpacker: Unpacker) -> Any:
    """Return what `describe_model` returned for an attribute, after checking its type."""
    value = unpacker.unpack(info.value(name), f"info.{name}")
    if not _is_of_type(value, hint):
        raise info.fault(name, f"of type {ModelInfo.__annotations__[name]}")
    return value


def _is_of_type(value: Any, hint: Any) -> bool:
    """Return whether a value, and all values in it, are of a type, given as an annotation."""
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, UnionType):
        return any(_is_of_type(value, each) for each in inner)
    if isinstance(value, dict):
        return origin is Mapping and all(_is_of_type(each, inner[1]) for each in value.values())
    if isinstance(value, tuple):
        return origin is tuple and all(_is_of_type(each, inner[0]) for each in value)
    return hint is Any or isinstance(value, origin or hint)


def _find_schemes(description: State) -> list[str]:
    """Return the control texts in a packed model: those of its classifier's composition."""
    packed = description.value("model")
    for _ in range(4):  # a pipeline, its regressor, the classifier and the composition
        match packed:
            case {"schemes": [str(), *_]}:
                return State(packed, "model").texts("schemes")
            case {"steps": [*_, inner]} | {"classifier": inner} | {"composition": inner}:
                packed = inner
    raise description.fault("model", "a model with a scheme")


def info_of_loaded(classifier: Any, kind: str, n_bytes: int) -> ModelInfo:
    """Return information about a model that polytomy did not write."""
    estimators = [binary.fitted_estimator for binary in classifier.composition_.binaries]
    found = describe_model(classifier, share_support_vectors(estimators))
    schemes = tuple([str(scheme) for scheme in members_of(classifier.scheme_)])
    return ModelInfo(
        kind=kind,
        format_version=None,
        versions={},
        schemes=schemes,
        n_bytes=n_bytes,
        metadata={},
        **found,
    )
