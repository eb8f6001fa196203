"""Estimators that are not plain arrays, saved with skops (an optional dependency).

skops only creates objects of types that it trusts: those of scikit-learn, NumPy and SciPy, and
those that the user names.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Sequence
from typing import Any

import sklearn

from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.files import read_array_header
from polytomy.persistence.own.archive import ZIP_ERRORS, find_size_problem, read_member
from polytomy.persistence.own.skops_checks import check_skops_objects

__all__ = ["dump_skops_objects", "load_skops_objects"]


def dump_skops_objects(objects: Sequence[Any]) -> bytes:
    """Return objects serialised by skops; warn about types that must be trusted to load them."""
    skops = _import_skops(f"{type(objects[0]).__name__} cannot be saved as plain arrays")
    try:
        content = bytes(skops.dumps(list(objects), compression=zipfile.ZIP_DEFLATED))
        untrusted = sorted(skops.get_untrusted_types(data=content))
    except Exception as error:
        # The objects may be of any type and raise anything when they are written.
        raise ArgumentError(
            f"skops cannot save {_type_names(objects)}: {error}. Use joblib.dump instead, and load "
            "that file only if nobody else can have changed it."
        ) from error
    for name in untrusted:
        module, _, attribute = name.rpartition(".")
        if not hasattr(sys.modules.get(module), attribute):
            raise ArgumentError(
                f"{attribute} in {_type_names(objects)} could not be loaded again: module {module} "
                "has nothing of that name, because it is a lambda or was defined inside a "
                "function. Define it at the top level of a module."
            )
    if untrusted:
        warn_caller(
            PolytomyWarning(
                f"{_type_names(objects)} can only be loaded by naming the types to trust: ",
                Argument("trusted", untrusted),
            ),
            PolytomyWarning,
        )
    return content


def load_skops_objects(
    content: bytes, trusted: Sequence[str], source: str, saved_with: object = None
) -> list[Any]:
    """Return the objects that skops wrote; ModelFileError if a type is not trusted.

    Parameters
    ----------
    content : what `dump_skops_objects` returned
    trusted : names of types to trust, besides those that skops trusts itself
    source : name of the file, for messages
    saved_with : version of scikit-learn that wrote the file, for messages, or None
    """
    skops = _import_skops(f"{source} holds estimators that are not plain arrays")
    content = _repack(content, source)
    try:
        untrusted = sorted(set(skops.get_untrusted_types(data=content)) - set(trusted))
        objects = [] if untrusted else skops.loads(content, trusted=list(trusted))
        check_skops_objects([objects])
    except Exception as error:
        # skops does not document what a damaged file raises, and it calls the types' own code.
        raise ModelFileError(
            f"{source}: skops cannot read its part of the file: {error}{_compare(saved_with)}"
        ) from error
    if untrusted:
        raise ModelFileError(
            f"{source}: the file contains types that are not trusted: {', '.join(untrusted)}. If "
            "you know that they are harmless, use ",
            Argument("trusted", untrusted),
            ".",
        )
    if not isinstance(objects, list):
        raise ModelFileError(f"{source}: skops' part of the file is not a list")
    return objects


def _repack(content: bytes, source: str) -> bytes:
    """Return an archive that is safe for skops to read: every size that it declares is true."""
    repacked = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(repacked, "w") as new:
            infos = archive.infolist()
            problem = find_size_problem(infos, len(content))
            if problem:
                raise ValueError(problem)
            for info in infos:
                member = read_member(archive, info)
                if info.filename.endswith(".npy"):
                    header = read_array_header(io.BytesIO(member))
                    if header.size != len(member):
                        raise ValueError(f"an array of shape {header.shape} has the wrong size")
                new.writestr(info.filename, member)
    except ZIP_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(
            f"{source}: skops cannot read its part of the file: {reason}"
        ) from error
    return repacked.getvalue()


def _compare(saved_with: object) -> str:
    """Return a sentence about the versions of scikit-learn, if they differ."""
    installed = sklearn.__version__
    if saved_with in (None, installed):
        return ""
    return (
        f". The file was saved with scikit-learn {saved_with!s:.20}, and {installed} is installed; "
        "estimators that skops saved may need the same version."
    )


def _type_names(objects: Sequence[Any]) -> str:
    return ", ".join(sorted({type(each).__name__ for each in objects}))


def _import_skops(reason: str) -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ArgumentError(
            f"{reason}, so skops is needed. Install it with: pip install polytomy[skops]"
        ) from error
    return skops.io
