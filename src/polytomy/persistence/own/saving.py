"""Saving a fitted classifier to one file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from sklearn.pipeline import Pipeline

from polytomy.classifier import PolytomyClassifier
from polytomy.composition import members_of
from polytomy.errors import ArgumentError
from polytomy.persistence.own.archive import array_bytes, write_archive
from polytomy.persistence.own.binaries import write_binary
from polytomy.persistence.own.composition_fields import write_composition
from polytomy.persistence.own.estimator_writer import EstimatorWriter, machines_in
from polytomy.persistence.own.number_arrays import NumberWriter
from polytomy.persistence.own.parameters import write_parameters
from polytomy.persistence.own.skops_objects import others_to_bytes
from polytomy.persistence.own.values import NotPlainError, labels_to_json, value_to_json
from polytomy.persistence.own.vector_pools import SupportPools
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = ["FLOATS", "FORMAT", "FORMAT_VERSION", "INTEGERS", "OTHERS", "save", "scheme_member"]

FORMAT = "polytomy model"
#: Raised when older versions of polytomy could not read the file any more.
FORMAT_VERSION = 1
FLOATS, INTEGERS, OTHERS = "floats.npy", "integers.npy", "others.skops"


def save(
    classifier: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None
) -> None:
    """Save a fitted classifier to one file, which appears whole or not at all.

    Support vector machines, linear models, scalers in pipelines before them, and calibrators are
    written as plain numbers and text, each support vector once. Other estimators are written by
    skops, if it is installed. `load` gives a classifier that answers the same.

    Parameters
    ----------
    classifier : fitted PolytomyClassifier, or a pipeline of transformers that ends in one
    path : file; its name usually ends in .polytomy
    metadata : dict of text and numbers, optional
        Kept in the file, for `read_info`.

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
    >>> bool((again.predict_proba(X) == classifier.predict_proba(X)).all())
    True
    """
    pipeline, core = _taken_apart(classifier)
    if not hasattr(core, "composition_"):
        raise ArgumentError("the classifier is not fitted, so there is nothing to save. Fit it.")
    before = [] if pipeline is None else [step for _, step in pipeline.steps[:-1]]
    numbers = NumberWriter()
    pools = SupportPools(machines_in([binary.estimator for binary in core.binaries_]))
    writer = EstimatorWriter(numbers, pools)
    description: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "metadata": _checked_metadata(metadata),
        "classes": labels_to_json(core.classes_),
        "n_features": getattr(core, "n_features_in_", None),
        "feature_names": _feature_names(core),
        "parameters": write_parameters(core, writer),
        "composition": write_composition(core.composition_, numbers),
        "pools": [numbers.matrix(matrix) for matrix in pools.matrices],
        "binaries": [write_binary(binary, writer, numbers) for binary in core.binaries_],
    }
    if pipeline is not None:
        names = [name for name, _ in pipeline.steps]
        description["pipeline"] = {
            "names": names,
            "steps": [None if isinstance(step, str) else writer.write(step) for step in before],
        }
    if isinstance(core.scheme_, SchemeEnsemble):
        description["n_schemes"] = len(core.scheme_)
    schemes = members_of(core.scheme_)
    members = {scheme_member(k): str(scheme).encode() for k, scheme in enumerate(schemes)}
    members |= {
        FLOATS: array_bytes(numbers.all_floats()),
        INTEGERS: array_bytes(numbers.all_integers()),
    }
    if writer.others:
        members[OTHERS] = others_to_bytes(writer.others)
    write_archive(path, description, members)


def scheme_member(number: int) -> str:
    """Return the name of the member that holds a scheme, of which an ensemble has several."""
    return "scheme.control" if number == 0 else f"scheme-{number}.control"


def _taken_apart(classifier: Any) -> tuple[Pipeline | None, PolytomyClassifier]:
    """Return the pipeline, if there is one, and the classifier that ends it."""
    core = classifier.steps[-1][1] if type(classifier) is Pipeline else classifier
    if type(core) is not PolytomyClassifier:
        raise ArgumentError(
            f"{type(classifier).__name__} cannot be saved. Give a PolytomyClassifier, or a "
            "pipeline that ends in one."
        )
    return (classifier if classifier is not core else None), core


def _feature_names(classifier: PolytomyClassifier) -> list[str] | None:
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _versions() -> dict[str, str]:
    packages = ("polytomy", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _checked_metadata(metadata: Mapping[str, Any] | None) -> Any:
    try:
        return value_to_json(dict(metadata or {}))
    except (NotPlainError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"metadata={metadata!r} cannot be saved; give a dict of text, numbers and lists"
        ) from error
