"""The folder of a run, which keeps every finished trial whatever happens to the run.

::

    results/
      manifest.json          the protocol; written once, by the first run
      datasets/NAME.json     description of a dataset, and its binary classifier
      trials/NAME-000.json   one finished trial
      .claims/NAME-000       locked while a run works on that trial
      .claims/manifest       locked while the manifest and descriptions are written

Files are written atomically. A claim is a lock of the operating system, released when its process
ends, so several runs can share a folder. A trial whose file was damaged later is run again, with
the same result.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from polytomy.errors import ArgumentError, DataError, PolytomyWarning
from polytomy.files import open_atomically
from polytomy.inputs.arguments import shorten

_MANIFEST_NAME = "manifest.json"
_MOST_SHOWN = 60
_SECONDS_BETWEEN_ATTEMPTS = 0.02  # to lock the manifest, which is written in an instant

# What is read of the files; without it, they are damaged.
_TRIAL = ("dataset", "repeat", "classes", "seconds", "warnings", "schemes", "cells")
_FACTS = ("name", "n_samples", "n_features", "classes", "counts", "fingerprint", "estimator")
_PROTOCOL = ("pairs", "test", "seed")


class Store:
    """The folder that a run writes to.

    Parameters
    ----------
    folder : path of the folder, created if missing
    protocol : plain values that all runs of the folder must share
    about : further values for the manifest, such as versions, which may differ
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        protocol: Mapping[str, Any],
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._protocol = json.loads(json.dumps(protocol))
        self._damaged: set[Path] = set()
        path = self.folder / _MANIFEST_NAME
        if path.is_file():
            # Before creating anything: the folder may belong to another program.
            self._check_protocol()
        for part in ("datasets", "trials", ".claims"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        with self._lock_manifest():
            if not path.is_file():
                write_content(path, _to_bytes({"protocol": protocol, **(about or {})}))
        self._check_protocol()

    def _check_protocol(self) -> None:
        _check_unchanged(self.folder, read_manifest(self.folder)["protocol"], self._protocol)

    def _lock_manifest(self) -> AbstractContextManager[bool]:
        return _lock(self.folder / ".claims" / "manifest", waits=True)

    def register(
        self, facts: Mapping[str, Any], describe: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        """Save the description of a dataset, or check that it has not changed.

        Parameters
        ----------
        facts : name, fingerprint and estimator, which must not change, and other values
        describe : function that returns more values; called only for a new dataset
        """
        name = facts["name"]
        path = self.folder / "datasets" / f"{quote(name, safe=' ')}.json"
        with self._lock_manifest():
            if not path.is_file():
                write_content(path, _to_bytes({**facts, **describe()}))
        saved = _read_facts(path)
        if saved["fingerprint"] != facts["fingerprint"]:
            raise ArgumentError(
                f"Dataset {name} has changed since the trials in {self.folder} were run. Use "
                "another folder for the results, or delete this one."
            )
        before = {"estimator": saved["estimator"]}
        _check_unchanged(self.folder, before, {"estimator": facts["estimator"]}, on=f" on {name}")

    def find(self, name: str, repeat: int) -> dict[str, Any] | None:
        """Return a finished trial; None if it is not finished or its file is damaged."""
        path = self._path(name, repeat)
        if not path.is_file():
            return None
        try:
            return _read_trial(path, self._protocol)
        except DataError as error:
            if path not in self._damaged:
                self._damaged.add(path)
                text = f"{path} is damaged: {error}. Running the trial again."
                warnings.warn(text, PolytomyWarning, stacklevel=2)
            return None

    def write(self, record: Mapping[str, Any]) -> None:
        """Save a finished trial."""
        write_content(self._path(record["dataset"], record["repeat"]), _to_bytes(record, None))

    def claim(self, name: str, repeat: int) -> AbstractContextManager[bool]:
        """Yield whether this run may work on a trial; False while another run does."""
        return _lock(self.folder / ".claims" / self._path(name, repeat).stem, waits=False)

    def _path(self, name: str, repeat: int) -> Path:
        return self.folder / "trials" / _trial_name(name, repeat)


@contextmanager
def _lock(path: Path, *, waits: bool) -> Iterator[bool]:
    """Lock a file, and yield whether it is ours.

    It also is if the folder is read-only or its file system has no locks: then several runs may do
    the same work.
    """
    try:
        file = path.open("w")
    except OSError:
        yield True
        return
    with file:  # closing it gives up the lock
        is_ours = True
        try:
            while not (is_ours := _take_lock(file.fileno())) and waits:
                time.sleep(_SECONDS_BETWEEN_ATTEMPTS)
        except OSError:  # pragma: no cover - file system without locks
            pass
        yield is_ours


def _take_lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process has done so."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # Windows raises the latter
        return False
    return True


def write_content(path: Path, content: bytes) -> None:
    """Write a file atomically; an error names the file."""
    try:
        with open_atomically(path) as file:
            file.write(content)
    except OSError as error:
        # Unlike opening, writing does not set it.
        error.filename = str(path)
        raise


def _to_bytes(content: Mapping[str, Any], indent: int | None = 1) -> bytes:
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the manifest of a results folder."""
    path = Path(folder) / _MANIFEST_NAME
    if not path.is_file():
        raise DataError(f"{os.fspath(folder)} is not a results folder: it has no {_MANIFEST_NAME}.")
    try:
        manifest = _read_json(path, ["protocol"])
        _check_fields(manifest["protocol"], _PROTOCOL)
        return manifest
    except DataError as error:
        raise DataError(
            f"{path} is damaged, or not a manifest of trials: {error}. Use another folder for the "
            "results."
        ) from None


def read_facts(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the descriptions of the datasets in a results folder."""
    return [_read_facts(path) for path in sorted(Path(folder, "datasets").glob("*.json"))]


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        return _read_json(path, _FACTS)
    except DataError as error:
        raise DataError(
            f"{path} is damaged: {error}. Delete it; the next run with the same options recreates "
            "it."
        ) from None


def read_trials(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the finished trials in a results folder, skipping damaged files with a warning."""
    protocol = read_manifest(folder)["protocol"]
    records = []
    for path in sorted(Path(folder, "trials").glob("*.json")):
        try:
            records.append(_read_trial(path, protocol))
        except DataError as error:
            warnings.warn(
                f"{path} is damaged and was skipped: {error}. The next run with the same options "
                "recreates it.",
                PolytomyWarning,
                stacklevel=2,
            )
    return records


def _read_trial(path: Path, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Read a finished trial; raise DataError with the reason if it is damaged."""
    record = _read_json(path, _TRIAL)
    try:
        name = _trial_name(record["dataset"], record["repeat"])
        pairs = [*map(_name_pair, record["cells"])]
    except (KeyError, TypeError, ValueError):
        raise DataError("it is not a trial") from None
    if path.name != name:
        # A copy would count twice.
        raise DataError(f"it has trial {record['repeat']} of {record['dataset']}")
    if pairs != [*map(_name_pair, protocol["pairs"])]:
        raise DataError("the cells are not those of the pairs in the manifest")
    return record


def _trial_name(name: str, repeat: int) -> str:
    return f"{quote(name, safe=' ')}-{repeat:03d}.json"


def _name_pair(pair: Mapping[str, str]) -> str:
    return f"{pair['configuration']}, {pair['method']}"


def _read_json(path: Path, fields: Sequence[str]) -> dict[str, Any]:
    """Return the object in a file; raise DataError if it is damaged or lacks a field."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise DataError("it is not JSON, or it is incomplete") from None
    return _check_fields(content, fields)


def _check_fields(content: Any, fields: Sequence[str]) -> dict[str, Any]:
    """Return an object that has these fields; raise DataError with the first that is missing."""
    found: dict[str, Any] = content if isinstance(content, dict) else {}
    for name in fields:
        if name not in found:
            raise DataError(f"{name} is missing")
    return found


def _check_unchanged(
    folder: Path, before: Mapping[str, Any], now: Mapping[str, Any], on: str = ""
) -> None:
    """Raise ArgumentError if settings differ from those of the trials in the folder."""
    changes = [
        "other pairs of schemes and solvers"
        if name == "pairs"
        else f"{name}{on} was {shorten(str(before.get(name)), _MOST_SHOWN)} and is now "
        + shorten(str(now[name]), _MOST_SHOWN)
        for name in now
        if before.get(name) != now[name]
    ]
    if changes:
        raise ArgumentError(
            f"The trials in {folder} were run with other settings: {'; '.join(changes)}. Use "
            "another folder for the results, or delete this one."
        )
