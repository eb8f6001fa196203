"""Objects that are no plain data, by skops, which is an extra.

skops makes objects only of types that it trusts: scikit-learn's, NumPy's and SciPy's, and those
that the user names.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any, cast

from polytomy.errors import ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.files import read_array_header

__all__ = ["others_from_bytes", "others_to_bytes"]

_LARGEST_RATIO = 256
_FREE_BYTES = 2**26


def others_to_bytes(others: Sequence[Any]) -> bytes:
    """Return objects as skops writes them; a warning names types that must be trusted to load."""
    skops = _import_skops(f"{type(others[0]).__name__} is no estimator that is saved as plain data")
    try:
        content = bytes(skops.dumps(list(others), compression=zipfile.ZIP_DEFLATED))
        unknown = sorted(skops.get_untrusted_types(data=content))
    except Exception as error:
        # Any object may be in there, and say in any way that it cannot be written.
        raise ArgumentError(
            f"skops cannot write {_kinds(others)}: {error}. Use joblib.dump, and load its file "
            "only if nobody else can have changed it."
        ) from error
    for name in unknown:
        module, _, called = name.rpartition(".")
        if not hasattr(sys.modules.get(module), called):
            raise ArgumentError(
                f"{called} of {_kinds(others)} could never be loaded: it is a lambda, or was made "
                f"inside a function, so nothing in module {module} has its name. Define it at the "
                "top of a module."
            )
    if unknown:
        warn_caller(
            f"{_kinds(others)} can be loaded only by those who trust its types; they say "
            f"{_naming(unknown)}",
            PolytomyWarning,
        )
    return content


def others_from_bytes(content: bytes, trusted: Sequence[str], source: str) -> list[Any]:
    """Return objects that skops wrote; ModelFileError for types that are not trusted."""
    skops = _import_skops(f"{source} holds estimators that are not saved as plain data")
    try:
        _check_sizes(content)
        unknown = set(skops.get_untrusted_types(data=content)) - set(trusted)
        if unknown:
            raise ModelFileError(
                f"{source}: the file holds types that are not trusted: "
                f"{', '.join(sorted(unknown))}. If you know that they are harmless, say "
                f"{_naming(sorted(unknown))}."
            )
        others = skops.loads(content, trusted=list(trusted))
    except ModelFileError:
        raise
    except Exception as error:
        # skops does not say what a damaged file raises.
        raise ModelFileError(
            f"{source}: skops cannot read its part of the file: {error}"
        ) from error
    if not isinstance(others, list):
        raise ModelFileError(f"{source}: skops' part of the file is no list")
    return others


def _check_sizes(content: bytes) -> None:
    """Raise ValueError if the archive within would unpack to far more than it is."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        if sum(info.file_size for info in infos) > max(_FREE_BYTES, _LARGEST_RATIO * len(content)):
            raise ValueError("it would unpack to far more than it is")
        for info in infos:
            if info.filename.endswith(".npy"):
                with archive.open(info) as member:
                    header = read_array_header(cast(io.BufferedReader, member))
                if header.size != info.file_size:
                    raise ValueError(f"an array of shape {header.shape} is not that large")


def _naming(types: Iterable[str]) -> str:
    """Return the argument of `load` that trusts types."""
    return "trusted=[" + ", ".join(f'"{name}"' for name in types) + "]"


def _kinds(others: Sequence[Any]) -> str:
    return ", ".join(sorted({type(each).__name__ for each in others}))


def _import_skops(reason: str) -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ArgumentError(
            f"{reason}, and needs skops. Install it with: pip install polytomy[skops]"
        ) from error
    return skops.io
