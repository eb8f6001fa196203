"""Loading a model file of any kind, which is detected from its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from polytomy.datasets import FORMATS
from polytomy.errors import ModelFileError
from polytomy.learners.preparation import split_pipeline
from polytomy.persistence.archive import open_model_file
from polytomy.persistence.info import ModelInfo, info_of_loaded, read_saved_info
from polytomy.persistence.libagf_files import (
    HEAD_BYTES,
    is_all_in_one,
    load_all_in_one,
    load_control,
)
from polytomy.persistence.libsvm_models import check_kernel_rows, classifier_from_libsvm, read_model
from polytomy.persistence.saving import load_archive

_ZIP, _LIBSVM = b"PK", b"svm_type"


class FileKind(StrEnum):
    """The kinds of model files."""

    OWN = "model of polytomy"
    LIBSVM = "model of LIBSVM"
    CONTROL = "control file with models"
    ALL_IN_ONE = "all-in-one model of libAGF"


class OpenedModel(NamedTuple):
    """A model file that has been read, from which the classifier can be built.

    Attributes
    ----------
    kind : FileKind
    make : function that takes the number of features and returns the classifier
        None means the number in the file. Models of polytomy have a fixed number, and ignore it.
    is_precomputed : bool
        Whether the kernel is precomputed. Then samples are rows of kernel values, and the file does
        not say how many.
    """

    kind: FileKind
    make: Callable[[int | None], Any]
    is_precomputed: bool = False


def find_kind(path: str | os.PathLike[str]) -> FileKind:
    """Return the kind of a file, from its first bytes; ModelFileError if it is not a model."""
    with open_model_file(path) as file:
        head = file.read(HEAD_BYTES)
    suffix = Path(path).suffix
    if head.startswith(_ZIP) or suffix == ".polytomy":
        return FileKind.OWN
    if not head:
        raise ModelFileError(f"{os.fspath(path)}: the file is empty")
    if head.startswith(_LIBSVM) or suffix == ".model":
        return FileKind.LIBSVM
    if is_all_in_one(head):
        return FileKind.ALL_IN_ONE
    head = head[: len(_LIBSVM)]
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
    if kind is FileKind.ALL_IN_ONE:
        return OpenedModel(kind, lambda n_features: load_all_in_one(path, n_features=n_features))
    model = read_model(path)
    return OpenedModel(
        kind,
        lambda n_features: classifier_from_libsvm(model, os.fspath(path), n_features),
        model.is_precomputed,
    )


def load(
    path: str | os.PathLike[str], *, trusted: Sequence[str] = (), n_features: int | None = None
) -> Any:
    """Load a classifier or a regressor from a file. Nothing in the file is ever executed.

    Parameters
    ----------
    path : file
        A file that `save` wrote, a LIBSVM model (see `read_libsvm`), a control file that names
        LIBSVM or libAGF models (see `load_control`), or a file of libAGF's mbh2mbm.
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
    opened = open_model(path, trusted=trusted)
    check_kernel_rows(opened.is_precomputed, n_features, os.fspath(path))
    return opened.make(n_features)


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
    opened = open_model(path)
    classifier = split_pipeline(opened.make(None))[1]
    n_bytes = Path(path).stat().st_size
    return info_of_loaded(classifier, kind, n_bytes, is_precomputed=opened.is_precomputed)
