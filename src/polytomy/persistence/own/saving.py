"""Saving a fitted classifier to a .polytomy file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from polytomy.classifier import PolytomyClassifier
from polytomy.errors import Argument, ArgumentError
from polytomy.learners.preparation import split_pipeline
from polytomy.model.out_of_fold import FinalCalibration, OutOfFold
from polytomy.model.scheme_argument import members_of
from polytomy.persistence.own.archive import array_bytes, write_archive
from polytomy.persistence.own.binaries import write_binary
from polytomy.persistence.own.classifier_parameters import write_parameters
from polytomy.persistence.own.composition_fields import write_composition
from polytomy.persistence.own.decision_fields import write_conformity, write_decisions
from polytomy.persistence.own.estimator_writer import EstimatorWriter, machines_in
from polytomy.persistence.own.final_fields import write_final
from polytomy.persistence.own.number_arrays import NumberWriter
from polytomy.persistence.own.out_of_fold_fields import write_out_of_fold, write_probabilities
from polytomy.persistence.own.preprocessing_fields import write_preprocessing
from polytomy.persistence.own.regression_fields import write_regression
from polytomy.persistence.own.reservoir_fields import write_reservoir
from polytomy.persistence.own.sided_models import list_sided_models, write_sided_model
from polytomy.persistence.own.skops_objects import dump_skops_objects
from polytomy.persistence.own.values import NotPlainError, labels_to_json, value_to_json
from polytomy.persistence.own.vector_pools import SupportPools
from polytomy.regression import PolytomyRegressor
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.short_forms import find_short_form

__all__ = [
    "CONFORMITY",
    "FLOATS",
    "FORMAT",
    "FORMAT_VERSION",
    "INTEGERS",
    "MOST_CLASSES_WRITTEN_OUT",
    "OUT_OF_FOLD",
    "SAVED_DESIGN",
    "SKOPS_OBJECTS",
    "save",
    "scheme_member",
]

FORMAT = "polytomy model"
#: Increased when older versions of polytomy cannot read the file any more.
FORMAT_VERSION = 4
#: The version of files without regressor, prior, costs and many classes but with a sided model,
#: that of files with a final calibration or shared pre-processing but no sided model, and that of
#: files with none of these, which the first versions of polytomy can read.
_SIDED_VERSION, _CALIBRATED_VERSION, _OLDEST_VERSION = 3, 2, 1
FLOATS, INTEGERS, SKOPS_OBJECTS = "floats.npy", "integers.npy", "others.skops"
OUT_OF_FOLD, CONFORMITY = "out_of_fold.npy", "conformity.npy"
#: The only design that a saved scheme may have, and from how many classes it does.
SAVED_DESIGN, MOST_CLASSES_WRITTEN_OUT = "one-vs-rest", 1000


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
    saved as arrays and text, each support vector once. Other estimators are saved with skops, if
    it is installed. `load` returns a classifier that gives the same answers.

    Parameters
    ----------
    classifier : fitted PolytomyClassifier, PolytomyRegressor or DaskPolytomyClassifier, or a
        pipeline of transformers that ends in one of the first two
    path : file; by convention its name ends in .polytomy
    metadata : dict of text and numbers, optional
        Stored in the file and returned by `read_info`.
    out_of_fold : bool, default=False
        Whether to save the out-of-fold scores as well, four bytes for each training sample and
        binary. With them, ``with_solver`` and ``with_scheme`` of the loaded classifier learn the
        final calibration again. They also keep ``out_of_fold_proba_``.
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
    last = split_pipeline(classifier)[1]
    regressor = last if type(last) is PolytomyRegressor else None
    core = _checked_core(classifier, getattr(regressor, "classifier_", last))
    if not hasattr(core, "composition_"):
        raise ArgumentError("the classifier is not fitted, so there is nothing to save. Fit it.")
    scores = core.composition_.out_of_fold if out_of_fold else None
    if out_of_fold and scores is None:
        raise ArgumentError(
            Argument("out_of_fold", True),
            ", but the classifier has no out-of-fold scores. Leave it out, or fit with ",
            Argument("final_calibration", "bias"),
            ".",
        )
    held_out = getattr(core, "reservoir_", None) if reservoir else None
    if reservoir and held_out is None:
        raise ArgumentError(
            Argument("reservoir", True),
            ", but the classifier holds out no rows; only partial_fit does. Leave it out.",
        )
    numbers = NumberWriter()
    pools = SupportPools(machines_in([binary.estimator for binary in core.binaries_]))
    writer = EstimatorWriter(numbers, pools)
    description: dict[str, Any] = {
        "format": FORMAT,
        "format_version": _OLDEST_VERSION,
        "versions": _installed_versions(),
        "metadata": _checked_metadata(metadata),
        "classes": labels_to_json(core.classes_),
        "n_features": getattr(core, "n_features_in_", None),
        "feature_names": _feature_names(core),
        "parameters": write_parameters(core, writer),
        "composition": write_composition(core.composition_, numbers),
        "pools": [numbers.matrix(matrix) for matrix in pools.matrices],
    }
    sided = list_sided_models(core.binaries_)
    description["binaries"] = [
        write_binary(each, writer, numbers, sided) for each in core.binaries_
    ]
    final = core.composition_.with_conformity().final
    calibration = _write_final_calibration(final, scores, writer, numbers)
    if calibration:
        # Older versions would ignore the calibration, and give other probabilities.
        description |= {**calibration, "format_version": _CALIBRATED_VERSION}
    if core.preprocessing_ is not None:
        # Older versions would not transform the samples.
        preprocessing = write_preprocessing(core.preprocessing_, writer)
        description |= {"preprocessing": preprocessing, "format_version": _CALIBRATED_VERSION}
    if sided:
        description["sided_models"] = [write_sided_model(each, writer, numbers) for each in sided]
        description["format_version"] = _SIDED_VERSION
    if held_out is not None:
        description["reservoir"] = write_reservoir(held_out, numbers)
    description |= write_decisions(core.composition_, numbers)
    if regressor is not None:
        description["regression"] = write_regression(regressor, numbers)
    is_shortened = len(core.classes_) > MOST_CLASSES_WRITTEN_OUT
    if is_shortened or {"prior", "costs", "regression"} & description.keys():
        # Older versions would give other probabilities or labels, or not find the sides.
        description["format_version"] = FORMAT_VERSION
    if last is not classifier:
        description["pipeline"] = {
            "names": [name for name, _ in classifier.steps],
            "steps": [_write_step(step, writer) for _, step in classifier.steps[:-1]],
        }
    if isinstance(core.scheme_, SchemeEnsemble):
        description["n_schemes"] = len(core.scheme_)
    schemes = members_of(core.scheme_)
    members = {scheme_member(k): _scheme_text(each).encode() for k, each in enumerate(schemes)}
    members |= {
        FLOATS: array_bytes(numbers.all_floats()),
        INTEGERS: array_bytes(numbers.all_integers()),
    }
    if scores is not None:
        members[OUT_OF_FOLD] = array_bytes(scores.scores)
    if final is not None and final.conformity is not None:
        members[CONFORMITY] = array_bytes(final.conformity.log_proba)
    if writer.skops_objects:
        members[SKOPS_OBJECTS] = dump_skops_objects(writer.skops_objects)
    write_archive(path, description, members)


def scheme_member(number: int) -> str:
    """Return the name of the member that holds the scheme, or one scheme of an ensemble."""
    return "scheme.control" if number == 0 else f"scheme-{number}.control"


def _scheme_text(scheme: Scheme) -> str:
    """Return the control text; one-vs-rest of many classes, which would be long, as a design."""
    has_many = scheme.is_flat and len(scheme.classes) > MOST_CLASSES_WRITTEN_OUT
    is_design = has_many and find_short_form(scheme.code) == SAVED_DESIGN
    return scheme.compact() if is_design else str(scheme)


def _checked_core(classifier: Any, core: Any) -> PolytomyClassifier:
    """Return the classifier itself, or the one that a pipeline or a regressor ends in."""
    if type(core) is PolytomyRegressor:
        raise ArgumentError("the regressor is not fitted, so there is nothing to save. Fit it.")
    if type(core) is not PolytomyClassifier:
        raise ArgumentError(
            f"{type(classifier).__name__} cannot be saved. Pass a PolytomyClassifier or a "
            "PolytomyRegressor, or a pipeline that ends in one."
        )
    return core


def _write_final_calibration(
    final: FinalCalibration | None,
    scores: OutOfFold | None,
    writer: EstimatorWriter,
    numbers: NumberWriter,
) -> dict[str, Any]:
    """Return the fields of a final calibration and of its out-of-fold scores, if there are any."""
    written: dict[str, Any] = {}
    if final is not None:
        written["final"] = write_final(final, writer, numbers)
        if final.conformity is not None:
            written["conformity"] = write_conformity(final.conformity, numbers)
    if scores is not None:
        written["out_of_fold"] = write_out_of_fold(scores, writer, numbers)
        if final is not None and final.probabilities is not None:
            probabilities = write_probabilities(final.probabilities, scores, numbers)
            written["out_of_fold"]["probabilities"] = probabilities
    return written


def _write_step(step: Any, writer: EstimatorWriter) -> dict[str, Any] | None:
    return None if step is None or isinstance(step, str) else writer.write(step)


def _feature_names(classifier: PolytomyClassifier) -> list[str] | None:
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _installed_versions() -> dict[str, str]:
    packages = ("polytomy", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _checked_metadata(metadata: Mapping[str, Any] | None) -> Any:
    try:
        return value_to_json(dict(metadata or {}))
    except (NotPlainError, TypeError, ValueError) as error:
        raise ArgumentError(
            Argument("metadata", metadata),
            " cannot be saved. Pass a dict of text, numbers and lists.",
        ) from error
