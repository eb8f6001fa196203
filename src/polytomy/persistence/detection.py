"""Loading a model of any known kind, told by its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from polytomy.datasets import FORMATS
from polytomy.errors import ModelFileError
from polytomy.persistence.libagf.control_files import load_control
from polytomy.persistence.libsvm.model_text import parse_libsvm
from polytomy.persistence.libsvm.models import (
    check_kernel_rows,
    classifier_from_libsvm,
)
from polytomy.persistence.own.loading import load_archive

__all__ = ["FileKind", "OpenedModel", "find_kind", "load", "open_model"]

_ZIP, _LIBSVM = b"PK", b"svm_type"


class FileKind(StrEnum):
    """What a file with a model is."""

    OWN = "model of polytomy"
    LIBSVM = "model of LIBSVM"
    CONTROL = "control file with models"


class OpenedModel(NamedTuple):
    """A model file that has been read, and can be made into a classifier.

    Attributes
    ----------
    kind : FileKind
    make : function of a number of features that returns the classifier
        None means as many as the file tells of. Models of polytomy's own have their number.
    is_precomputed : whether samples are rows of kernel values, of as many as is not told
    """

    kind: FileKind
    make: Callable[[int | None], Any]
    is_precomputed: bool = False


def find_kind(path: str | os.PathLike[str]) -> FileKind:
    """Return what a file is by its first bytes; ModelFileError if it can be no model."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ModelFileError(f"{os.fspath(path)}: a model is read from a file, not from a pipe")
    with Path(path).open("rb") as file:
        head = file.read(len(_LIBSVM))
    suffix = Path(path).suffix
    if head.startswith(_ZIP) or suffix == ".polytomy":
        return FileKind.OWN
    if not head:
        raise ModelFileError(f"{os.fspath(path)}: the file is empty")
    if head == _LIBSVM or suffix == ".model":
        return FileKind.LIBSVM
    if b"\0" in head or not head.isascii():
        raise ModelFileError(f"{os.fspath(path)}: this is no model, and no control file")
    if suffix in (*FORMATS["csv"], *FORMATS["tsv"]):
        raise ModelFileError(f"{os.fspath(path)}: by its name this is data, not a model")
    return FileKind.CONTROL


def open_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> OpenedModel:
    """Return a model file that has been read, for samples whose number of features comes later."""
    kind = find_kind(path)
    if kind is FileKind.OWN:
        classifier = load_archive(path, trusted)
        return OpenedModel(kind, lambda _: classifier)
    if kind is FileKind.CONTROL:
        return OpenedModel(kind, lambda n_features: load_control(path, n_features=n_features))
    source = os.fspath(path)
    model = parse_libsvm(Path(path).read_bytes(), source)
    return OpenedModel(
        kind,
        lambda n_features: classifier_from_libsvm(model, source, n_features),
        model.is_precomputed,
    )


def load(
    path: str | os.PathLike[str], *, trusted: Sequence[str] = (), n_features: int | None = None
) -> Any:
    """Return the classifier that a file holds. Nothing in the file is ever run.

    Parameters
    ----------
    path : file
        What `save` wrote; a model of LIBSVM, see `read_libsvm`; or a control file that names
        models of LIBSVM, see `load_control`.
    trusted : list of str, optional
        Names of types, such as "mypackage.MyClassifier", that are allowed beside those that skops
        trusts. Only for estimators that are not saved as plain data.
    n_features : int, optional
        For models of LIBSVM, whose files do not tell it.

    Returns
    -------
    PolytomyClassifier, or a pipeline that ends in one

    Raises
    ------
    ModelFileError
        If the file is damaged, cannot be trusted, or comes from a newer version.
    """
    opened = open_model(path, trusted=trusted)
    check_kernel_rows(opened.is_precomputed, n_features, os.fspath(path))
    return opened.make(n_features)
