"""The folder of a run, which keeps every finished trial whatever happens to the run.

::

    results/
      manifest.json          the protocol; written once, by the first run
      datasets/NAME.json     description of a dataset, and its binary classifier
      trials/NAME-000.json   one finished trial
      .claims/NAME-000       locked while a run works on that trial
      .claims/tables         locked while tables or the report are written

Files are written atomically. A claim is a lock of the operating system, released when its process
ends, so several runs can share a folder. A trial whose file was damaged later is run again, with
the same result. `polytomy.trials.records` defines what counts as damaged.
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
from polytomy.trials.json_checks import parse_json
from polytomy.trials.records import FORMAT, check_facts, check_manifest, check_trial

__all__ = [
    "Store",
    "lock_tables",
    "read_facts",
    "read_manifest",
    "read_trials",
    "write_content",
]

_MANIFEST = "manifest.json"
_MOST_SHOWN = 60


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
        self._classes: dict[str, list[str]] = {}
        self._damaged: set[Path] = set()
        path = self.folder / _MANIFEST
        is_new = not path.is_file()
        if not is_new:
            # Before creating anything: the folder may belong to another program.
            self._check_protocol()
        for part in ("datasets", "trials", ".claims"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        manifest = {"format": FORMAT, "protocol": protocol, **(about or {})}
        if is_new and not _write_if_new(path, manifest):
            self._check_protocol()

    def _check_protocol(self) -> None:
        _check_unchanged(self.folder, read_manifest(self.folder)["protocol"], self._protocol)

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
        self._classes[name] = facts["classes"]
        path = self.folder / "datasets" / _facts_name(name)
        if not path.is_file() and _write_if_new(path, {**facts, **describe()}):
            return
        saved = _read_facts(path)
        if saved["fingerprint"] != facts["fingerprint"]:
            raise ArgumentError(
                f"Dataset {name} has changed since the trials in {self.folder} were run. Use "
                "another folder for the results, or delete this one."
            )
        if saved["classes"] != facts["classes"]:
            raise _damaged_facts(path, "the classes are not those of the data")
        before = {"estimator": saved["estimator"]}
        _check_unchanged(self.folder, before, {"estimator": facts["estimator"]}, on=f" on {name}")

    def find(self, name: str, repeat: int) -> dict[str, Any] | None:
        """Return a finished trial; None if it is not finished or its file is damaged."""
        path = self._path(name, repeat)
        if not path.is_file():
            return None
        try:
            return _read_trial(path, _pair_names(self._protocol), self._classes)
        except DataError as error:
            if path not in self._damaged:
                self._damaged.add(path)
                text = f"{path} is damaged: {error}. Running the trial again."
                warnings.warn(text, PolytomyWarning, stacklevel=2)
            return None

    def write(self, record: Mapping[str, Any]) -> None:
        """Save a finished trial."""
        path = self._path(record["dataset"], record["repeat"])
        write_content(path, _to_bytes({"format": FORMAT, **record}, indent=None))

    @contextmanager
    def claim(self, name: str, repeat: int) -> Iterator[bool]:
        """Yield whether this run may work on a trial; False while another run does."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover - without locks, both runs do it
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
            except OSError:  # pragma: no cover - file system without locks
                is_ours = True
            yield is_ours

    def _path(self, name: str, repeat: int) -> Path:
        return self.folder / "trials" / _trial_name(name, repeat)


def _facts_name(name: str) -> str:
    return f"{quote(name, safe=' ')}.json"


def _trial_name(name: str, repeat: int) -> str:
    return f"{quote(name, safe=' ')}-{repeat:03}.json"


def _pair_names(protocol: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(pair["configuration"], pair["method"]) for pair in protocol["pairs"]]


@contextmanager
def lock_tables(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Let only one run at a time read all trials and write tables of them.

    Otherwise a slow run could overwrite newer tables with older ones.
    """
    with ExitStack() as stack:
        # Do not wait if the folder is read-only or the system has no locks.
        with suppress(OSError, ImportError):
            import fcntl

            file = stack.enter_context((Path(folder) / ".claims" / "tables").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_content(path: Path, content: bytes) -> None:
    """Write a file atomically; an error names the file."""
    try:
        with open_atomically(path) as file:
            file.write(content)
    except OSError as error:
        # Unlike opening, writing does not set it.
        error.filename = str(path)
        raise


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the manifest of a results folder."""
    path = Path(folder) / _MANIFEST
    if not path.is_file():
        raise DataError(f"{os.fspath(folder)} is not a results folder: it has no {_MANIFEST}.")
    use_another = "Use another folder for the results."
    unknown = "so the settings of the trials are unknown"
    try:
        manifest = parse_json(path.read_bytes())
    except DataError as error:
        raise DataError(f"{path} is damaged, {unknown}: {error}. {use_another}") from None
    protocol = manifest.get("protocol")
    if not isinstance(protocol, dict) or not isinstance(protocol.get("pairs"), list):
        raise DataError(f"{path} is not a manifest of trials. {use_another}")
    if manifest.get("format") != FORMAT:
        raise DataError(f"{path} was written by another version of polytomy. {use_another}")
    try:
        check_manifest(manifest)
    except DataError as error:
        raise DataError(f"{path} is damaged, {unknown}: {error}. {use_another}") from None
    return manifest


def read_facts(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the descriptions of the datasets in a results folder."""
    return [_read_facts(path) for path in _json_files(Path(folder) / "datasets")]


def read_trials(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the finished trials in a results folder, skipping damaged files with a warning."""
    pairs = _pair_names(read_manifest(folder)["protocol"])
    classes = {facts["name"]: facts["classes"] for facts in read_facts(folder)}
    records = []
    for path in _json_files(Path(folder) / "trials"):
        try:
            records.append(_read_trial(path, pairs, classes))
        except DataError as error:
            warnings.warn(
                f"{path} is damaged and was skipped: {error}. The next run with the same options "
                "recreates it.",
                PolytomyWarning,
                stacklevel=2,
            )
    return records


def _json_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.json")) if path.is_file()]


def _read_trial(
    path: Path, pairs: Sequence[tuple[str, str]], classes: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Read a finished trial; raise DataError with the reason if it is damaged."""
    record = parse_json(path.read_bytes())
    name = record.get("dataset")
    check_trial(record, pairs, classes.get(name) if isinstance(name, str) else None)
    if path.name != _trial_name(record["dataset"], record["repeat"]):
        # A copy would count twice.
        raise DataError(f"it has trial {record['repeat']} of {record['dataset']}")
    return record


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = parse_json(path.read_bytes())
        check_facts(facts)
        if path.name != _facts_name(facts["name"]):
            raise DataError(f"it describes {facts['name']}")
    except DataError as error:
        raise _damaged_facts(path, str(error)) from None
    return facts


def _damaged_facts(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is damaged: {reason}. Delete it; the next run with the same options recreates it."
    )


def _write_if_new(path: Path, content: Mapping[str, Any]) -> bool:
    """Write a file unless it exists, and return whether it was written."""
    temporary = path.with_name(f".{uuid4().hex}")
    with open_atomically(temporary) as file:
        file.write(_to_bytes(content))
    try:
        # Unlike a move, a link fails if another run was faster.
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # pragma: no cover - file system without links
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _to_bytes(content: Mapping[str, Any], indent: int | None = 1) -> bytes:
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _check_unchanged(
    folder: Path, before: Mapping[str, Any], now: Mapping[str, Any], on: str = ""
) -> None:
    """Raise ArgumentError if settings differ from those of the trials in the folder."""
    changes = [
        _describe_changed_pairs(before.get(name, []), now[name])
        if name == "pairs"
        else f"{name}{on} was {_shorten_text(before.get(name))} and is now "
        + _shorten_text(now[name])
        for name in now
        if before.get(name) != now[name]
    ]
    if changes:
        raise ArgumentError(
            f"The trials in {folder} were run with other settings: {'; '.join(changes)}. Use "
            "another folder for the results, or delete this one."
        )


def _describe_changed_pairs(
    before: Sequence[Mapping[str, str]], now: Sequence[Mapping[str, str]]
) -> str:
    old, new = (
        {f"{each['configuration']}, {each['method']}": each for each in pairs}
        for pairs in (before, now)
    )
    kinds = {
        "pairs removed": [name for name in old if name not in new],
        "pairs added": [name for name in new if name not in old],
        "pairs with another scheme": [
            name for name in old if name in new and old[name] != new[name]
        ],
    }
    changes = [
        f"{kind}: {_shorten_text('; '.join(names))}" for kind, names in kinds.items() if names
    ]
    return "; ".join(changes) or "the pairs are in another order"


def _shorten_text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
