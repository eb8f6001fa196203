"""Loading a classifier or a regressor from a .polytomy file that is not trusted.

Every value is checked where it is read, and a wrong one is a ModelFileError. Other exceptions are
not caught: they would be bugs in this package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from sklearn.pipeline import Pipeline

from polytomy.errors import ControlError, ModelFileError, PolytomyError
from polytomy.language import Source, parse_text
from polytomy.language.syntax_tree import Branch, Designed, Leaf
from polytomy.learners.trained import TrainedBinary
from polytomy.model.composition import Composition
from polytomy.model.scheme_argument import AUTO
from polytomy.persistence.fitted import fitted_classifier
from polytomy.persistence.own.archive import Archive
from polytomy.persistence.own.binaries import read_binary
from polytomy.persistence.own.classifier_parameters import read_parameters
from polytomy.persistence.own.composition_fields import read_composition
from polytomy.persistence.own.decision_fields import read_conformity, read_decisions
from polytomy.persistence.own.estimator_kinds import SCALERS
from polytomy.persistence.own.estimator_reader import EstimatorReader, features_of
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.final_fields import read_final
from polytomy.persistence.own.number_arrays import NumberReader, checked_shape
from polytomy.persistence.own.out_of_fold_fields import read_out_of_fold, read_probabilities
from polytomy.persistence.own.preprocessing_fields import (
    keeps_features,
    read_preprocessing,
    read_steps,
)
from polytomy.persistence.own.regression_fields import read_regression
from polytomy.persistence.own.reservoir_fields import read_reservoir
from polytomy.persistence.own.saving import (
    CONFORMITY,
    FLOATS,
    FORMAT,
    FORMAT_VERSION,
    INTEGERS,
    OUT_OF_FOLD,
    SAVED_DESIGN,
    SKOPS_OBJECTS,
    scheme_member,
)
from polytomy.persistence.own.sided_models import read_sided_model
from polytomy.persistence.own.skops_objects import load_skops_objects
from polytomy.persistence.own.templates import check_step_names
from polytomy.persistence.own.values import read_labels
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.scheme.reading import resolve_tree

__all__ = ["load_archive", "open_archive", "read_n_features"]

# Parts of a control text that are not read as partitions or braces.
_QUOTES_AND_COMMENTS = re.compile(r'"(?:[^"\\\n\r]|\\[^\n\r])*"|#[^\n]*')


def load_archive(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Any:
    """Return the classifier, or the pipeline that ends in one, in a .polytomy file."""
    archive, fields = open_archive(path)
    try:
        return _read_model(archive, fields, trusted)
    except ModelFileError as error:
        raise archive.locate(error) from error
    except PolytomyError as error:
        # The scheme, the classes, the solver and the binaries do not fit together.
        raise archive.fault(f"the model is not consistent: {error}") from error


def open_archive(path: str | os.PathLike[str]) -> tuple[Archive, Fields]:
    """Return a .polytomy file and its description; ModelFileError if the format is unknown."""
    archive = Archive(path)
    fields = Fields(archive.description, "the model")
    if fields.raw("format") != FORMAT:
        raise archive.fault("this is not a model saved by polytomy")
    version = fields.raw("format_version")
    if type(version) is not int or version < 1:
        raise archive.fault("the format version is missing")
    if version > FORMAT_VERSION:
        writer = _find_version(fields, "polytomy")
        raise archive.fault(
            f"the file was written by polytomy {writer!s:.20} in format {version!s:.20}; this "
            f"version reads formats up to {FORMAT_VERSION}. Install a newer version: pip install "
            "-U polytomy"
        )
    return archive, fields


def _find_version(fields: Fields, package: str) -> object:
    """Return the version of a package that wrote the file, or None; it may be any value."""
    versions = fields.raw("versions")
    return versions.get(package) if isinstance(versions, dict) else None


def _read_model(archive: Archive, fields: Fields, trusted: Sequence[str]) -> Any:
    numbers = NumberReader(archive.array(FLOATS), archive.array(INTEGERS))
    objects: list[Any] = []
    if SKOPS_OBJECTS in archive:
        objects = load_skops_objects(
            archive.content(SKOPS_OBJECTS),
            trusted,
            archive.source,
            saved_with=_find_version(fields, "scikit-learn"),
        )
    pools = [numbers.matrix(each) for each in fields.all_fields("pools")]
    reader = EstimatorReader(numbers, pools, objects)
    sided = []
    if "sided_models" in fields:
        sided = [
            read_sided_model(each, reader, numbers) for each in fields.all_fields("sided_models")
        ]
    binaries = [read_binary(each, reader, numbers, sided) for each in fields.all_fields("binaries")]
    scheme = _read_scheme(archive, fields)
    parameters = read_parameters(fields.fields("parameters"), reader, binaries)
    option = parameters.pop("scheme", scheme)
    classes = read_labels(fields.fields("classes"))
    composition = read_composition(
        fields.fields("composition"), numbers, binaries, classes, scheme, parameters
    )
    if parameters.pop("is_solver_automatic", False):
        parameters["solver"] = AUTO
    composition = _read_final_calibration(archive, fields, numbers, reader, composition)
    composition = _read_preprocessing(fields, reader, composition)
    composition = read_decisions(fields, numbers, composition)
    # Binaries after transformers other than scalers may have other features.
    shared = composition.preprocessing
    checked = binaries if shared is None or keeps_features(shared) else []
    classifier = fitted_classifier(
        composition,
        n_features=read_n_features(fields, checked),
        feature_names=_read_feature_names(fields, binaries if shared is None else []),
        **{**parameters, "scheme": option},
    )
    if "reservoir" in fields:
        written = fields.fields("reservoir")
        n_features = getattr(classifier, "n_features_in_", None)
        classifier.reservoir_ = read_reservoir(written, numbers, len(classes), n_features)
    model: Any = classifier
    if "regression" in fields:
        model = read_regression(fields.fields("regression"), numbers, classifier)
    if "pipeline" not in fields:
        return model
    return _read_pipeline(fields.fields("pipeline"), reader, model)


def _read_final_calibration(
    archive: Archive,
    fields: Fields,
    numbers: NumberReader,
    reader: EstimatorReader,
    composition: Composition,
) -> Composition:
    """Return the composition with the final calibration and out-of-fold scores of the file."""
    n_classes, n_binaries = len(composition.classes), len(composition.binaries)
    final, out_of_fold = None, None
    if "final" in fields:
        if not composition.gives_probabilities:
            raise fields.fault("final", f'for the solver "{composition.solver}"')
        final = read_final(fields.fields("final"), numbers, reader, n_classes, n_binaries)
    if final is not None and "conformity" in fields:
        log_proba = archive.array(CONFORMITY)
        conformity = read_conformity(fields.fields("conformity"), log_proba, numbers, n_classes)
        final = replace(final, conformity=conformity)
    if "out_of_fold" in fields:
        written = fields.fields("out_of_fold")
        scores = archive.array(OUT_OF_FOLD)
        out_of_fold = read_out_of_fold(written, scores, numbers, reader, n_classes, n_binaries)
        if final is not None and "probabilities" in written:
            probabilities = read_probabilities(written, out_of_fold, numbers, n_classes)
            final = replace(final, probabilities=probabilities)
    return replace(composition, final=final, out_of_fold=out_of_fold)


def _read_preprocessing(
    fields: Fields, reader: EstimatorReader, composition: Composition
) -> Composition:
    """Return the composition with the transformers that its binaries share."""
    if "preprocessing" not in fields:
        return composition
    written = fields.fields("preprocessing")
    pipeline = read_preprocessing(written, reader, read_n_features(fields))
    return replace(composition, preprocessing=pipeline)


def _read_feature_names(fields: Fields, binaries: Sequence[TrainedBinary]) -> list[str] | None:
    """Return the names of the features, which are also those of the binaries that have names."""
    if "feature_names" not in fields:
        return None
    names = fields.texts("feature_names")
    for binary in binaries:
        own_names = getattr(binary.fitted_estimator, "feature_names_in_", None)
        if own_names is not None and list(own_names) != names:
            raise fields.fault("feature_names", f"the list of names of the binary {binary.name}")
    return names


def _read_pipeline(fields: Fields, reader: EstimatorReader, classifier: Any) -> Pipeline:
    """Return the pipeline that ends in the classifier."""
    steps = read_steps(fields, reader)
    transformers = [step for step in steps if not isinstance(step, str)]
    are_scalers = all(type(step) in SCALERS for step in transformers)
    expected = {None, features_of(classifier)}
    if are_scalers and not {features_of(step) for step in transformers} <= expected:
        raise fields.fault("steps", "for the number of features of the classifier")
    names = fields.texts("names")
    if len(names) != len(steps) + 1:
        raise fields.fault("names", "a name for each step")
    check_step_names(names, fields, "names")
    return Pipeline(list(zip(names, [*steps, classifier], strict=True)))


def read_n_features(fields: Fields, binaries: Sequence[TrainedBinary] = ()) -> int | None:
    """Return the number of features, if known; ModelFileError if a binary expects another."""
    n_features = None
    if "n_features" in fields:
        n_features = fields.integer("n_features", least=1, most=2**31 - 1)
    expected = n_features
    for binary in binaries:
        own = features_of(binary.fitted_estimator)
        if binary.columns is None:
            expected = own if expected is None else expected
            is_right = own in (None, expected)
        else:
            # With a precomputed kernel, a binary takes the columns of its own training samples.
            highest = int(binary.columns.max(initial=-1))
            is_inside = n_features is not None and highest < n_features
            is_right = is_inside and own in (None, len(binary.columns))
        if not is_right:
            raise fields.fault("n_features", f"that of the binary {binary.name}")
    return n_features


def _read_scheme(archive: Archive, fields: Fields) -> Scheme | SchemeEnsemble:
    counts = [_count_partitions(each) for each in fields.fields("composition").all_fields("places")]
    n_schemes = fields.integer("n_schemes", least=1) if "n_schemes" in fields else 1
    if n_schemes != len(counts):
        raise ModelFileError(f"there are {len(counts)} places for {n_schemes} schemes")
    schemes = [_read_text(archive, scheme_member(k), count) for k, count in enumerate(counts)]
    return SchemeEnsemble(schemes) if "n_schemes" in fields else schemes[0]


def _count_partitions(place: Fields) -> int:
    """Return the number of partitions of a scheme, as the description declares it."""
    columns = place.fields("columns")
    return sum(checked_shape(columns.items("shape"), columns.where)[:1])


def _read_text(archive: Archive, name: str, n_partitions: int) -> Scheme:
    text = archive.text(name)
    # A few packed bytes can hold a text that takes minutes to parse.
    bare = _QUOTES_AND_COMMENTS.sub("", text)
    if max(bare.count(";"), bare.count("{")) > n_partitions:
        raise archive.fault(f"the scheme has more partitions than the {n_partitions} of the model")
    source = Source(text, name)
    try:
        tree = parse_text(source)
        # A design of a few words can stand for millions of partitions.
        if _count_designed(tree) > n_partitions:
            raise archive.fault(
                "the scheme contains a design that is not one-vs-rest, or has more partitions than "
                f"the {n_partitions} of the model"
            )
        return resolve_tree(tree, source)[0]
    except ControlError as error:
        raise archive.fault(f"the scheme cannot be read: {error}") from error


def _count_designed(tree: Branch) -> float:
    """Return the number of partitions that designs stand for; infinity unless one-vs-rest."""
    waiting, count = [tree], 0.0
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, Designed):
            count += len(branch.branches) if branch.design == SAVED_DESIGN else inf
        if not isinstance(branch, Leaf):
            waiting.extend(branch.branches)
    return count
