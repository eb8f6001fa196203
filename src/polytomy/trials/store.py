"""The folder of a run: what is finished is in it, whole, whatever happens to the run.

::

    results/
      manifest.json          the protocol; written once, by whoever comes first
      datasets/NAME.json     what the dataset is, and what its binaries are trained from
      trials/NAME-000.json   one finished trial
      .claims/NAME-000       locked while some run is at that trial

Every file appears whole or not at all. A claim is a lock of the operating system, which ends with
the process that holds it, so several runs can share a folder and its work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from polytomy.errors import ArgumentError, DataError
from polytomy.files import writing_whole

__all__ = ["FORMAT", "Store", "read_all", "read_manifest"]

FORMAT = 1
"""Number of the files' format."""

_MANIFEST = "manifest.json"
_MOST_SHOWN = 60


class Store:
    """The folder that a run writes to.

    Parameters
    ----------
    folder : made if it is not there
    protocol : plain values that must be the same in all runs of the folder
    about : further values for the manifest, such as versions, that may differ
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        protocol: Mapping[str, Any],
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = Path(folder)
        for part in ("datasets", "trials", ".claims"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        manifest = {"format": FORMAT, "protocol": protocol, **(about or {})}
        path = self.folder / _MANIFEST
        if path.is_file() or not _write_first(path, manifest):
            there = read_manifest(self.folder)["protocol"]
            _compare(self.folder, there, json.loads(json.dumps(protocol)))

    def register(
        self, facts: Mapping[str, Any], describe: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        """Note what a dataset is; an error if trials were run on something else of its name.

        Parameters
        ----------
        facts : name, fingerprint and estimator, which must stay the same, and others
        describe : gives more facts; called only for a dataset that is new to the folder
        """
        name = facts["name"]
        path = self.folder / "datasets" / f"{quote(name, safe=' ')}.json"
        if not path.is_file() and _write_first(path, {**facts, **describe()}):
            return
        there = _read(path)
        if there.get("fingerprint") != facts["fingerprint"]:
            raise ArgumentError(
                f"dataset {name} is not the one that the trials in {self.folder} were run on. Give "
                "another folder for the results, or delete this one."
            )
        known = {"estimator": there.get("estimator")}
        _compare(self.folder, known, {"estimator": facts["estimator"]}, of=f" on {name}")

    def find(self, name: str, repeat: int) -> dict[str, Any] | None:
        """Return a trial that is finished; None if it is not."""
        path = self._path(name, repeat)
        return _read(path) if path.is_file() else None

    def write(self, record: Mapping[str, Any]) -> None:
        """Keep a trial that is finished."""
        path = self._path(record["dataset"], record["repeat"])
        try:
            with writing_whole(path) as file:
                file.write(_to_bytes({"format": FORMAT, **record}, indent=None))
        except OSError as error:
            # Writing, unlike opening, does not tell which file it was.
            error.filename = str(path)
            raise

    @contextmanager
    def claim(self, name: str, repeat: int) -> Iterator[bool]:
        """Yield whether a trial is ours to run, or another run is at it."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover - where there are no such locks, both run it
            yield True
            return
        with ExitStack() as stack:
            path = self.folder / ".claims" / self._path(name, repeat).stem
            file = stack.enter_context(path.open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = True
            except BlockingIOError:
                is_ours = False
            except OSError:  # pragma: no cover - a file system without locks
                is_ours = True
            yield is_ours

    def _path(self, name: str, repeat: int) -> Path:
        return self.folder / "trials" / f"{quote(name, safe=' ')}-{repeat:03}.json"


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a folder of results."""
    path = Path(folder) / _MANIFEST
    manifest = _read(path)
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("protocol"), dict):
        raise DataError(
            f"{path} is of another version of polytomy. Give another folder for the results."
        )
    return manifest


def read_all(folder: str | os.PathLike[str], part: str) -> list[dict[str, Any]]:
    """Return the contents of all files of a part of the folder: "datasets" or "trials"."""
    return [_read(path) for path in sorted((Path(folder) / part).glob("*.json"))]


def _write_first(path: Path, content: Mapping[str, Any]) -> bool:
    """Write a file that is not there yet, and return whether it was so."""
    temporary = path.with_name(f".{uuid4().hex}")
    with writing_whole(temporary) as file:
        file.write(_to_bytes(content))
    try:
        # Unlike a move, a link is refused if another run was quicker.
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # pragma: no cover - a file system without links
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _to_bytes(content: Mapping[str, Any], indent: int | None = 1) -> bytes:
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise DataError(f"{path} is damaged. Delete it, and what it held will be run again.")
    return content


def _compare(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any], of: str = "") -> None:
    different = [
        f"{name}{of} is {_shown(there.get(name))} there and {_shown(here.get(name))} here"
        for name in here
        if there.get(name) != here[name]
    ]
    if different:
        raise ArgumentError(
            f"{folder} has trials of another protocol: {'; '.join(different)}. Give another folder "
            "for the results, or delete this one."
        )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        names = [f"{each['configuration']}, {each['method']}" for each in value]
        value = "; ".join(names)
    text = str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
