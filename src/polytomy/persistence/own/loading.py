"""Loading a classifier from one file, without trust in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from polytomy.binary import TrainedBinary
from polytomy.errors import ControlError, ModelFileError, PolytomyError
from polytomy.language import Source, parse_text
from polytomy.language.nodes import Branch, Designed, Leaf
from polytomy.persistence.fitted import fitted_classifier
from polytomy.persistence.own.archive import Archive
from polytomy.persistence.own.binaries import read_binary
from polytomy.persistence.own.composition_fields import read_composition
from polytomy.persistence.own.estimator_kinds import SCALERS
from polytomy.persistence.own.estimator_reader import EstimatorReader, features_of
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader
from polytomy.persistence.own.parameters import read_parameters
from polytomy.persistence.own.saving import (
    FLOATS,
    FORMAT,
    FORMAT_VERSION,
    INTEGERS,
    OTHERS,
    scheme_member,
)
from polytomy.persistence.own.skops_objects import others_from_bytes
from polytomy.persistence.own.values import read_labels
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.scheme.reading import parse_with_warnings

__all__ = ["load_archive", "open_archive", "read_n_features"]


def load_archive(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Any:
    """Return the classifier, or the pipeline that ends in one, of a .polytomy file."""
    archive, fields = open_archive(path)
    try:
        return _read_model(archive, fields, trusted)
    except ModelFileError as error:
        if str(error).startswith(archive.source):
            raise
        raise archive.fault(str(error)) from error
    except (
        PolytomyError,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # What the parts of a model say when they do not go together.
        raise archive.fault(f"the model is not consistent: {error}") from error


def open_archive(path: str | os.PathLike[str]) -> tuple[Archive, Fields]:
    """Return a .polytomy file and its description, if its format can be read."""
    archive = Archive(path)
    fields = Fields(archive.description, "the model")
    if fields.raw("format") != FORMAT:
        raise archive.fault("this is no model that polytomy saved")
    version = fields.raw("format_version")
    if type(version) is not int or version < 1:
        raise archive.fault("the file does not tell its format's version")
    if version > FORMAT_VERSION:
        writer = fields.fields("versions").raw("polytomy")
        raise archive.fault(
            f"the file was written by polytomy {writer!s:.20} in format {version}; this version "
            f"reads formats up to {FORMAT_VERSION}. Install a newer one: pip install -U polytomy"
        )
    return archive, fields


def _read_model(archive: Archive, fields: Fields, trusted: Sequence[str]) -> Any:
    numbers = NumberReader(archive.array(FLOATS), archive.array(INTEGERS))
    others: list[Any] = []
    if OTHERS in archive:
        others = others_from_bytes(archive.content(OTHERS), trusted, archive.source)
    pools = [numbers.matrix(each) for each in fields.all_fields("pools")]
    reader = EstimatorReader(numbers, pools, others)
    binaries = [read_binary(each, reader, numbers) for each in fields.all_fields("binaries")]
    scheme = _read_scheme(archive, fields)
    parameters = read_parameters(fields.fields("parameters"), reader, binaries)
    option = parameters.pop("scheme", scheme)
    classes = read_labels(fields.fields("classes"))
    composition = read_composition(
        fields.fields("composition"), numbers, binaries, classes, scheme, parameters
    )
    classifier = fitted_classifier(
        composition,
        n_features=read_n_features(fields, binaries),
        feature_names=fields.texts("feature_names") if "feature_names" in fields else None,
        **{**parameters, "scheme": option},
    )
    if "pipeline" not in fields:
        return classifier
    written = fields.fields("pipeline")
    steps: list[Any] = [
        "passthrough" if each is None else reader.read(Fields(each, "a step of the pipeline"))
        for each in written.items("steps")
    ]
    are_scalers = all(type(step) in SCALERS for step in steps if not isinstance(step, str))
    expected = {None, features_of(classifier)}
    if are_scalers and not {features_of(step) for step in steps} <= expected:
        raise written.fault("steps", "made for the features of the classifier")
    names = written.texts("names")
    if len(names) != len(steps) + 1 or len(set(names)) < len(names):
        raise written.fault("names", "a name for each step")
    return Pipeline(list(zip(names, [*steps, classifier], strict=True)))


def read_n_features(fields: Fields, binaries: Sequence[TrainedBinary] = ()) -> int | None:
    """Return the number of features, which all binaries must have that take features."""
    if "n_features" not in fields:
        return None
    n_features = fields.integer("n_features", least=1, most=2**31 - 1)
    for binary in binaries:
        # With a precomputed kernel, its features are some of the samples.
        if binary.columns is None and features_of(binary.estimator) not in (None, n_features):
            raise fields.fault("n_features", f"that of the binary {binary.name}")
    return n_features


def _read_scheme(archive: Archive, fields: Fields) -> Scheme | SchemeEnsemble:
    if "n_schemes" not in fields:
        return _read_text(archive, scheme_member(0))
    n_schemes = fields.integer("n_schemes", least=1)
    return SchemeEnsemble(_read_text(archive, scheme_member(k)) for k in range(n_schemes))


def _read_text(archive: Archive, name: str) -> Scheme:
    text = archive.text(name)
    try:
        # A few words of a design can stand for millions of partitions.
        if _has_design(parse_text(Source(text, name))):
            raise archive.fault("the scheme has a design in it, which saved schemes never have")
        return parse_with_warnings(text, name)[0]
    except ControlError as error:
        raise archive.fault(f"the scheme cannot be read: {error}") from error


def _has_design(tree: Branch) -> bool:
    waiting = [tree]
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, Designed):
            return True
        if not isinstance(branch, Leaf):
            waiting.extend(branch.branches)
    return False
