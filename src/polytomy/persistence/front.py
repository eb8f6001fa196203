"""Loading a model of any known kind, told by its content."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polytomy.errors import ModelFileError
from polytomy.persistence.control_models import load_control
from polytomy.persistence.libsvm_models import read_libsvm
from polytomy.persistence.loading import load_archive

__all__ = ["load"]

_OWN_ENDING = ".polytomy"
_ZIP, _LIBSVM = b"PK", b"svm_type"


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
    with Path(path).open("rb") as file:
        head = file.read(len(_LIBSVM))
    if head.startswith(_ZIP) or os.fspath(path).endswith(_OWN_ENDING):
        return load_archive(path, trusted)
    if head == _LIBSVM:
        return read_libsvm(path, n_features=n_features)
    if b"\0" in head or not head.isascii():
        raise ModelFileError(f"{os.fspath(path)}: this is no model, and no control file")
    return load_control(path, n_features=n_features)
