"""The folder of a run: what is finished is in it, whole, whatever happens to the run.

::

    results/
      manifest.json          the protocol; written once, by whoever comes first
      datasets/NAME.json     what the dataset is, and what its binaries are trained from
      trials/NAME-000.json   one finished trial
      .claims/NAME-000       locked while some run is at that trial
      .claims/tables         locked while tables or the report are made of all that is there

Every file appears whole or not at all. A claim is a lock of the operating system, which ends with
the process that holds it, so several runs can share a folder and its work. A trial's file that was
damaged later is as good as none: the trial is run again, and gives the same.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from polytomy.errors import ArgumentError, DataError, PolytomyWarning
from polytomy.files import open_atomically

__all__ = [
    "FORMAT",
    "Store",
    "holding_tables",
    "read_facts",
    "read_manifest",
    "read_trials",
    "write_content",
]

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
        self._protocol = json.loads(json.dumps(protocol))
        path = self.folder / _MANIFEST
        is_new = not path.is_file()
        if not is_new:
            # Before anything is made: the folder may be somebody else's.
            self._check_protocol()
        for part in ("datasets", "trials", ".claims"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        manifest = {"format": FORMAT, "protocol": protocol, **(about or {})}
        if is_new and not _write_first(path, manifest):
            self._check_protocol()

    def _check_protocol(self) -> None:
        _compare(self.folder, read_manifest(self.folder)["protocol"], self._protocol)

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
        """Return a trial that is finished; None if it is not, or its file is damaged."""
        path = self._path(name, repeat)
        if not path.is_file():
            return None
        try:
            record = _read_trial(path)
        except DataError:
            record = {}
        pairs = [(cell["configuration"], cell["method"]) for cell in record.get("cells", ())]
        wanted = [(pair["configuration"], pair["method"]) for pair in self._protocol["pairs"]]
        if (record.get("dataset"), record.get("repeat"), pairs) != (name, repeat, wanted):
            warnings.warn(
                f"{path} is damaged; the trial is run again", PolytomyWarning, stacklevel=2
            )
            return None
        return record

    def write(self, record: Mapping[str, Any]) -> None:
        """Keep a trial that is finished."""
        path = self._path(record["dataset"], record["repeat"])
        write_content(path, _to_bytes({"format": FORMAT, **record}, indent=None))

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


@contextmanager
def holding_tables(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Make others wait who would read all trials and write tables of them.

    Else a run that is slow at it could put older tables in the place of newer ones.
    """
    with ExitStack() as stack:
        # In a folder that cannot be written, or where there are no locks, nobody waits.
        with suppress(OSError, ImportError):
            import fcntl

            file = stack.enter_context((Path(folder) / ".claims" / "tables").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_content(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all; an error tells which file it was."""
    try:
        with open_atomically(path) as file:
            file.write(content)
    except OSError as error:
        # Writing, unlike opening, does not tell.
        error.filename = str(path)
        raise


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a folder of results."""
    path = Path(folder) / _MANIFEST
    if not path.is_file():
        raise DataError(f"{os.fspath(folder)} is no folder of results; it has no {_MANIFEST}")
    try:
        manifest = _read(path)
    except DataError:
        raise DataError(
            f"{path} is damaged, so the protocol of the trials is not known. Give another folder "
            "for the results."
        ) from None
    protocol = manifest.get("protocol")
    if not isinstance(protocol, dict) or not isinstance(protocol.get("pairs"), list):
        raise DataError(f"{path} is no manifest of trials. Give another folder for the results.")
    if manifest.get("format") != FORMAT:
        raise DataError(
            f"{path} is of another version of polytomy. Give another folder for the results."
        )
    return manifest


def read_facts(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what the datasets of a folder are."""
    return [_read(path) for path in sorted((Path(folder) / "datasets").glob("*.json"))]


def read_trials(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the finished trials of a folder; what is damaged is left out with a warning."""
    records = []
    for path in sorted((Path(folder) / "trials").glob("*.json")):
        try:
            records.append(_read_trial(path))
        except DataError:
            warnings.warn(
                f"{path} is damaged and left out. The next run with the same options makes it "
                "again.",
                PolytomyWarning,
                stacklevel=2,
            )
    return records


def _read_trial(path: Path) -> dict[str, Any]:
    """Return a finished trial; DataError if it lacks what every trial has."""
    record = _read(path)
    cells = record.get("cells")
    is_whole = (
        isinstance(record.get("dataset"), str)
        and isinstance(record.get("repeat"), int)
        and isinstance(cells, list)
        and all(
            isinstance(cell, dict) and {"configuration", "method"} <= set(cell) for cell in cells
        )
    )
    if not is_whole:
        raise _damaged(path)
    return record


def _write_first(path: Path, content: Mapping[str, Any]) -> bool:
    """Write a file that is not there yet, and return whether it was so."""
    temporary = path.with_name(f".{uuid4().hex}")
    with open_atomically(temporary) as file:
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
        raise _damaged(path)
    return content


def _damaged(path: Path) -> DataError:
    return DataError(
        f"{path} is damaged. Delete it; the next run with the same options makes it again."
    )


def _compare(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any], of: str = "") -> None:
    different = [
        _pairs_difference(there.get(name, []), here[name])
        if name == "pairs"
        else f"{name}{of} is {_shown(there.get(name))} there and {_shown(here.get(name))} here"
        for name in here
        if there.get(name) != here[name]
    ]
    if different:
        raise ArgumentError(
            f"{folder} has trials of another protocol: {'; '.join(different)}. Give another folder "
            "for the results, or delete this one."
        )


def _pairs_difference(there: Sequence[Mapping[str, str]], here: Sequence[Mapping[str, str]]) -> str:
    """Return in words what is compared here but not there, or the other way round."""
    names = [
        {f"{each['configuration']}, {each['method']}": each for each in pairs}
        for pairs in (there, here)
    ]
    told = []
    for one, other, where in ((*names, "there"), (*names[::-1], "here")):
        if only := "; ".join(name for name in one if name not in other):
            told.append(f"{_shown(only)} is only {where}")
    changed = [name for name in names[0] if name in names[1] and names[0][name] != names[1][name]]
    if changed:
        told.append(f"{_shown('; '.join(changed))} is another scheme there")
    return "; ".join(told) or "the pairs are in another order there"


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
