"""polytomy's own model files: saving, and loading without trusting the file.

A file is a zip archive (`archive.py`) with the members

====================  ==============================================================================
model.json            the description: a JSON object with the fields below
float64.npy, …        the numbers of the model, one array for each type that occurs
others.skops          list of the objects that are not plain, saved with skops; often missing
====================  ==============================================================================

The description has the fields

====================  ==============================================================================
format                "polytomy model", and format_version
versions              the versions of the packages that wrote the file
metadata              the dict that the user passed to `save`
info                  what `read_info` tells about the model
model                 the state of the model, packed as `packing.py` describes
====================  ==============================================================================

Each kind of part gives its state itself, and is made from it again: calibrators in `calibration`,
binaries and their estimators in `learners`, scores, sets, priors and costs in `model`, bins in
`regression`, compositions, classifiers and regressors here. Every value is checked where it is
read, and a wrong one is a ModelFileError. Other exceptions would be bugs in this package."""

from __future__ import annotations

import copy
import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from polytomy.calibration.pooling import PoolMap
from polytomy.classifier import PolytomyClassifier
from polytomy.datasets import FORMATS
from polytomy.errors import Argument, ArgumentError, ModelFileError
from polytomy.learners.estimator_states import share_support_vectors
from polytomy.learners.preparation import split_pipeline
from polytomy.learners.specification import specification_of
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.composition import Composition
from polytomy.model.out_of_fold import FinalCalibration
from polytomy.model.scheme_argument import members_of
from polytomy.persistence.archive import (
    SKOPS_OBJECTS,
    array_bytes,
    open_archive,
    open_model_file,
    write_archive,
)
from polytomy.persistence.libagf_files import load_control
from polytomy.persistence.libsvm_models import classifier_from_libsvm, read_model
from polytomy.persistence.models import check_fitted
from polytomy.persistence.packing import Packer, Unpacker, pack_labels
from polytomy.persistence.skops_objects import dump_skops_objects, load_skops_objects
from polytomy.regression import PolytomyRegressor
from polytomy.states import State, find_kind_of, is_plain


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
    # From NumPy 2.5, NDArray is an alias that stands for a type.
    origin = get_origin(getattr(origin, "__value__", None)) or origin
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


# -- saving and loading ----------------------------------------------------------------------------


def save(
    classifier: Any,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    out_of_fold: bool = False,
    reservoir: bool = False,
) -> None:
    """Save a fitted classifier to one file, which is written completely or not at all.

    Support vector machines, linear models, pipelines of these after scalers, and calibrators are
    saved as arrays and text, each support vector once. Other estimators are saved with skops.
    `load` returns a classifier that gives the same answers.

    Parameters
    ----------
    classifier : fitted PolytomyClassifier, PolytomyRegressor or DaskPolytomyClassifier, or a
        pipeline of transformers that ends in one of the first two
    path : file; by convention its name ends in .polytomy
    metadata : dict of text and numbers, optional
        Stored in the file and returned by `read_info`.
    out_of_fold : bool, default=False
        Whether to save the out-of-fold scores as well, four bytes for each training sample and
        binary. With them, ``with_solver``, ``with_scheme``, ``with_classes`` and
        ``without_classes`` of the loaded classifier learn the final calibration again.
    reservoir : bool, default=False
        Whether to save the rows that ``partial_fit`` holds out. With them, the loaded classifier
        continues as the saved one would. Without them, its calibration stays as it is until a
        hundred new rows are held out. The rows are training data: consider who gets the file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from polytomy.persistence import load
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = PolytomyClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(classifier, f"{folder}/iris.polytomy")
    ...     again = load(f"{folder}/iris.polytomy")
    >>> again.predict_proba(X[[0, 77, 133]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.27, 0.73],
           [0.  , 0.3 , 0.7 ]])
    >>> round(again.out_of_fold_score_["accuracy"], 2)
    0.97
    """
    if hasattr(classifier, "to_local"):  # it was trained on a cluster
        classifier = classifier.to_local()
    if not is_plain(metadata):
        raise ArgumentError(
            Argument("metadata", metadata),
            " cannot be saved. Pass a dict of text, numbers and lists.",
        )
    last = split_pipeline(classifier)[1]
    core: Any = getattr(last, "classifier_", last) if type(last) is PolytomyRegressor else last
    check_fitted(classifier, core)
    # Prediction sets need this too, so it is computed once.
    core.composition_ = core.composition_.with_conformity()
    # A copy without what is not saved.
    kept = copy.copy(core)
    kept.composition_ = _kept_composition(core.composition_, out_of_fold)
    if reservoir and not hasattr(core, "reservoir_"):
        raise ArgumentError(
            Argument("reservoir", True),
            ", but the classifier holds out no rows; only partial_fit does. Leave it out.",
        )
    if not reservoir:
        kept.__dict__.pop("reservoir_", None)
    model: Any = kept
    if core is not last:
        model = copy.copy(last)
        model.classifier_ = kept
    shared = share_support_vectors([binary.fitted_estimator for binary in core.binaries_])
    info = describe_model(model, shared)
    if last is not classifier:
        name = classifier.steps[-1][0]
        model = Pipeline([*classifier.steps[:-1], (name, model)])
    packer = Packer(shared)
    description = {
        "versions": _installed_versions(),
        "metadata": packer.pack(dict(metadata or {})),
        "info": {
            name: pack_labels(each) if name == "classes" else packer.pack(each)
            for name, each in info.items()
        },
        "model": packer.pack(model),
    }
    arrays = packer.arrays()
    _check_readable(description["model"], Unpacker(arrays, packer.objects))
    members = {f"{name}.npy": array_bytes(array) for name, array in arrays.items()}
    if packer.objects:
        members[SKOPS_OBJECTS] = dump_skops_objects(packer.objects)
    write_archive(path, description, members)


def _check_readable(packed: Any, unpacker: Unpacker) -> None:
    """Raise ArgumentError if a packed model could not be unpacked again."""
    try:
        unpacker.unpack(packed, "model")
    except ModelFileError as error:
        raise ArgumentError(
            f"the model cannot be saved, because it could not be loaded again: {error}"
        ) from error


def _kept_composition(composition: Composition, out_of_fold: bool) -> Composition:
    """Return what is saved of a composition."""
    scores = composition.out_of_fold
    if out_of_fold and scores is None:
        raise ArgumentError(
            Argument("out_of_fold", True),
            ", but the classifier has no out-of-fold scores. Leave it out, or fit with ",
            Argument("final_calibration", "bias"),
            ".",
        )
    final = composition.final
    return replace(
        composition,
        final=None if final is None else replace(final, probabilities=None),
        out_of_fold=scores if out_of_fold else None,
    )


def _installed_versions() -> dict[str, str]:
    packages = ("polytomy", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def load_archive(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Any:
    """Return the classifier, or the pipeline that ends in one, in a .polytomy file."""
    archive = open_archive(path)
    try:
        objects: list[Any] = []
        if SKOPS_OBJECTS in archive:
            objects = load_skops_objects(
                archive.content(SKOPS_OBJECTS),
                trusted,
                archive.source,
                saved_with=archive.version_of("scikit-learn"),
            )
        unpacker = Unpacker(archive.arrays(), objects)
        unpacker.unpack(archive.description.get("metadata"), "metadata")
        model = unpacker.unpack(archive.description.get("model"), "model")
        if type(split_pipeline(model)[1]) not in (PolytomyClassifier, PolytomyRegressor):
            raise ModelFileError("model is not a classifier or a regressor")
        unpacker.check_all_used()
        return model
    except ModelFileError as error:
        raise archive.locate(error) from error


# -- Loading a model file of any kind, which is detected from its content --


_ZIP, _LIBSVM = b"PK", b"svm_type"


class FileKind(StrEnum):
    """The kinds of model files."""

    OWN = "model of polytomy"
    LIBSVM = "model of LIBSVM"
    CONTROL = "control file with models"


class OpenedModel(NamedTuple):
    """A model file that has been read, from which the classifier can be built.

    Attributes
    ----------
    kind : FileKind
    make : function that takes the number of features and returns the classifier
        None means the number in the file. Models of polytomy have a fixed number, and ignore it.
    """

    kind: FileKind
    make: Callable[[int | None], Any]


def find_kind(path: str | os.PathLike[str]) -> FileKind:
    """Return the kind of a file, from its first bytes; ModelFileError if it is not a model."""
    with open_model_file(path) as file:
        head = file.read(len(_LIBSVM))
    suffix = Path(path).suffix
    if head.startswith(_ZIP) or suffix == ".polytomy":
        return FileKind.OWN
    if not head:
        raise ModelFileError(f"{os.fspath(path)}: the file is empty")
    if head.startswith(_LIBSVM) or suffix == ".model":
        return FileKind.LIBSVM
    if b"\0" in head or not head.isascii():
        raise ModelFileError(f"{os.fspath(path)}: this is neither a model nor a control file")
    if suffix in (*FORMATS["csv"].endings, *FORMATS["tsv"].endings):
        raise ModelFileError(f"{os.fspath(path)}: the name says that this is data, not a model")
    return FileKind.CONTROL


def open_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> OpenedModel:
    """Read a model file; the number of features can be given later, when the data is known."""
    kind = find_kind(path)
    if kind is FileKind.OWN:
        classifier = load_archive(path, trusted)
        return OpenedModel(kind, lambda _: classifier)
    if kind is FileKind.CONTROL:
        return OpenedModel(kind, lambda n_features: load_control(path, n_features=n_features))
    model = read_model(path)
    source = os.fspath(path)
    return OpenedModel(kind, lambda number: classifier_from_libsvm(model, source, number))


def load(
    path: str | os.PathLike[str], *, trusted: Sequence[str] = (), n_features: int | None = None
) -> Any:
    """Load a classifier or a regressor from a file. Nothing in the file is ever executed.

    Parameters
    ----------
    path : file
        A file that `save` wrote, a LIBSVM model (see `read_libsvm`), or a control file that names
        LIBSVM or libAGF models (see `load_control`).
    trusted : list of str, optional
        Types to trust, such as "mypackage.MyClassifier", besides those that skops trusts. Only
        needed for estimators that are saved with skops.
    n_features : int, optional
        Number of features, for LIBSVM models, whose files do not record it.

    Returns
    -------
    PolytomyClassifier or PolytomyRegressor, or a pipeline that ends in one

    Raises
    ------
    ModelFileError
        If the file is damaged, contains untrusted types, or was written by a newer version.
    """
    return open_model(path, trusted=trusted).make(n_features)


def read_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return information about a model file; ModelFileError if it cannot be read.

    Only the description of a .polytomy file is read. Other models are loaded completely.

    Parameters
    ----------
    path : any file that `load` can read

    Returns
    -------
    ModelInfo
    """
    kind = find_kind(path)
    if kind is FileKind.OWN:
        return read_saved_info(path, kind)
    classifier = split_pipeline(load(path))[1]
    return info_of_loaded(classifier, kind, Path(path).stat().st_size)
