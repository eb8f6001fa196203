"""Model files, read without trusting them, and the container of polytomy's own: a zip archive.

Sizes are checked before anything is unpacked. Members are then unpacked in small pieces and only up
to the size that was checked, whatever their compressed data holds, and compared with their
checksums. Names of members are never used as paths.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.files import open_atomically, read_array, write_array

FORMAT = "polytomy model"
#: Increased when older versions of polytomy cannot read the file any more.
FORMAT_VERSION = 1
#: The member that describes the model and lists the other members.
DESCRIPTION = "model.json"

#: The member with what skops saved.
SKOPS_OBJECTS = "others.skops"
_KNOWN = (DESCRIPTION, SKOPS_OBJECTS)

#: What `zipfile` raises for damaged archives; it documents only the first.
ZIP_ERRORS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted, or (NotImplementedError) compressed by an unknown method
    ValueError,
    OverflowError,
    MemoryError,
)

#: Largest model file that is text. Parsing it takes several times as much memory.
LARGEST_TEXT_BYTES = 2**31
# Unpacked, an archive may take this many times its size, or this many bytes if that is more.
_LARGEST_RATIO = 256
_FREE_BYTES = 2**26
# The same for the description: repeated words take far more memory when they are parsed as JSON.
_DESCRIPTION_LIMITS = 2**22, 64
# A member is unpacked in pieces of this many bytes.
_PIECE_BYTES = 2**20
# The same date for every member, so that the same model gives the same file.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def open_model_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a model file to read its bytes.

    Raises ModelFileError for pipes and devices, which may never end, and OSError if the file cannot
    be opened.
    """
    mode = Path(path).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ModelFileError(
            f"{os.fspath(path)}: a model cannot be read from a pipe or a device. Give a file."
        )
    return Path(path).open("rb")


def size_of(file: BinaryIO) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(file.fileno()).st_size


def read_text_content(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a model file that is text; ModelFileError if it is too large."""
    with open_model_file(path) as file:
        if size_of(file) > LARGEST_TEXT_BYTES:
            raise ModelFileError(
                f"{os.fspath(path)}: the file is larger than the limit of {LARGEST_TEXT_BYTES:,} "
                "bytes"
            )
        return file.read(LARGEST_TEXT_BYTES)


def write_archive(
    path: str | os.PathLike[str], description: Mapping[str, Any], members: Mapping[str, bytes]
) -> None:
    """Write a description and further members to a file, completely or not at all."""
    complete = {"format": FORMAT, "format_version": FORMAT_VERSION, **description}
    text = json.dumps(complete, allow_nan=False, ensure_ascii=False)
    with open_atomically(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, content in ((DESCRIPTION, text.encode()), *members.items()):
            info = zipfile.ZipInfo(name, _NO_DATE)
            info.external_attr = 0o644 << 16
            limits = _DESCRIPTION_LIMITS if name == DESCRIPTION else (_FREE_BYTES, _LARGEST_RATIO)
            packs_well = _packs_well(content, *limits)
            info.compress_type = zipfile.ZIP_DEFLATED if packs_well else zipfile.ZIP_STORED
            archive.writestr(info, content)


def _packs_well(content: bytes, free_bytes: int, largest_ratio: int) -> bool:
    """Return False for content that would compress so well that reading would reject it."""
    is_small = len(content) <= free_bytes // 4
    return is_small or largest_ratio * len(zlib.compress(content, 1)) > 2 * len(content)


def array_bytes(array: NDArray[Any]) -> bytes:
    """Return an array as the content of a member."""
    stream = BytesIO()
    write_array(stream, array)
    return stream.getvalue()


def find_size_problem(infos: Sequence[zipfile.ZipInfo], size: int) -> str:
    """Return why the members of an archive of `size` bytes must not be unpacked, or ""."""
    packed = sum(info.compress_size for info in infos)
    if packed > size:
        return f"the file of {size:,} bytes claims to hold {packed:,} bytes of packed members"
    unpacked = sum(info.file_size for info in infos)
    if unpacked > max(_FREE_BYTES, _LARGEST_RATIO * size):
        return (
            f"the file of {size:,} bytes would unpack to {unpacked:,} bytes, which is too many for "
            "a saved model"
        )
    return ""


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member; no more than its declared size is unpacked."""
    content = BytesIO()
    with archive.open(info) as member:
        while piece := member.read(_PIECE_BYTES):
            content.write(piece)
    return content.getvalue()


class Archive:
    """The members of a saved model. Anything wrong with the file is a ModelFileError.

    Parameters
    ----------
    path : file
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.source = os.fspath(path)
        self._content: dict[str, bytes] = {}
        with open_model_file(path) as file:
            try:
                self._read(file, size_of(file))
            except ModelFileError:
                raise
            except ZIP_ERRORS as error:
                raise self.fault(f"the file is damaged: {error or type(error).__name__}") from error
        self.description = self._read_description()

    def _read(self, file: BinaryIO, size: int) -> None:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            if len({info.filename for info in infos}) < len(infos):
                raise self.fault("two members have the same name")
            if DESCRIPTION not in archive.namelist():
                raise self.fault(f"{DESCRIPTION} is missing, so this is not a saved model")
            problem = find_size_problem(infos, size)
            if problem:
                raise self.fault(problem)
            description = archive.getinfo(DESCRIPTION)
            free_bytes, largest_ratio = _DESCRIPTION_LIMITS
            if description.file_size > max(free_bytes, largest_ratio * description.compress_size):
                raise self.fault(
                    f"{DESCRIPTION} would unpack to {description.file_size:,} bytes, which is too "
                    "many for a description"
                )
            for info in infos:
                if info.filename not in _KNOWN and not info.filename.endswith(".npy"):
                    raise self.fault(f"member {info.filename!r} is not known")
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise self.fault(f"member {info.filename!r} uses an unknown compression")
                self._content[info.filename] = read_member(archive, info)

    def _read_description(self) -> dict[str, Any]:
        try:
            description = json.loads(
                self._content.pop(DESCRIPTION).decode(), parse_constant=_refuse_constant
            )
        except (ValueError, RecursionError, MemoryError) as error:
            raise self.fault(f"{DESCRIPTION} is damaged: {error}") from error
        if not isinstance(description, dict):
            raise self.fault(f"{DESCRIPTION} is damaged: it is not an object")
        return description

    def __contains__(self, name: str) -> bool:
        return name in self._content

    def content(self, name: str) -> bytes:
        """Return a member and release it."""
        if name not in self._content:
            raise self.fault(f"member {name!r} is missing")
        return self._content.pop(name)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all members that are arrays of finite numbers, by their names without .npy."""
        names = [name for name in self._content if name.endswith(".npy")]
        return {name.removesuffix(".npy"): self.array(name) for name in names}

    def array(self, name: str) -> NDArray[Any]:
        """Return a member that is an array of finite numbers."""
        content = self.content(name)
        try:
            array = read_array(BytesIO(content), len(content))
        except ValueError as error:
            raise self.fault(f"member {name!r}: {error}") from error
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise self.fault(f"member {name!r} does not hold finite numbers")
        return array

    def version_of(self, package: str) -> object:
        """Return the version of a package that wrote the file, or None; it may be any value."""
        versions = self.description.get("versions")
        return versions.get(package) if isinstance(versions, dict) else None

    def fault(self, problem: str) -> ModelFileError:
        """Return the error that says what is wrong with the file."""
        return ModelFileError(f"{self.source}: {problem}")

    def locate(self, error: ModelFileError) -> ModelFileError:
        """Return an error whose message begins with the name of the file."""
        prefix = f"{self.source}: "
        parts = error.args if str(error).startswith(prefix) else (prefix, *error.args)
        return ModelFileError(*parts)


def open_archive(path: str | os.PathLike[str]) -> Archive:
    """Return a .polytomy file; ModelFileError if the format is unknown."""
    archive = Archive(path)
    if archive.description.get("format") != FORMAT:
        raise archive.fault("this is not a model saved by polytomy")
    version = archive.description.get("format_version")
    if type(version) is not int or version < 1:
        raise archive.fault("the format version is missing")
    if version > FORMAT_VERSION:
        raise archive.fault(
            f"the file was written by polytomy {archive.version_of('polytomy')!s:.20} in format "
            f"{version!s:.20}; this version reads formats up to {FORMAT_VERSION}. Install a newer "
            "version: pip install -U polytomy"
        )
    return archive


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
