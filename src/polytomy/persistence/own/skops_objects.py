"""Estimators that are not plain arrays, saved with skops (an optional dependency).

skops only creates objects of types that it trusts: those of scikit-learn, NumPy and SciPy, and
those that the user names.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Sequence
from typing import Any, cast

from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.files import read_array_header
from polytomy.persistence.own.archive import ZIP_ERRORS

__all__ = ["dump_skops_objects", "load_skops_objects"]

# Unpacked, the archive that skops wrote may take this many times its size, or this many bytes.
_LARGEST_RATIO = 256
_FREE_BYTES = 2**26


def dump_skops_objects(objects: Sequence[Any]) -> bytes:
    """Return objects as skops writes them; warn of types that must be trusted to load them."""
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


def load_skops_objects(content: bytes, trusted: Sequence[str], source: str) -> list[Any]:
    """Return the objects that skops wrote; ModelFileError if a type is not trusted.

    Parameters
    ----------
    content : what `dump_skops_objects` returned
    trusted : names of types to trust, beside those that skops trusts itself
    source : name of the file, for messages
    """
    skops = _import_skops(f"{source} holds estimators that are not plain arrays")
    problem = _size_problem(content)
    if problem:
        raise ModelFileError(f"{source}: skops cannot read its part of the file: {problem}")
    try:
        untrusted = sorted(set(skops.get_untrusted_types(data=content)) - set(trusted))
        objects = [] if untrusted else skops.loads(content, trusted=list(trusted))
    except Exception as error:
        # skops does not document what a damaged file raises, and it calls the types' own code.
        raise ModelFileError(
            f"{source}: skops cannot read its part of the file: {error}"
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


def _size_problem(content: bytes) -> str:
    """Return why an archive must not be unpacked, or an empty text."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            n_bytes = sum(info.file_size for info in infos)
            if n_bytes > max(_FREE_BYTES, _LARGEST_RATIO * len(content)):
                return f"its {len(content):,} bytes would unpack to {n_bytes:,}"
            for info in infos:
                if info.filename.endswith(".npy"):
                    with archive.open(info) as member:
                        header = read_array_header(cast(io.BufferedReader, member))
                    if header.size != info.file_size:
                        return f"an array of shape {header.shape} has the wrong size"
    except ZIP_ERRORS as error:
        return str(error) or type(error).__name__
    return ""


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
