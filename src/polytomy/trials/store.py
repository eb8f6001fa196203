"""Checks of values that were read from JSON; each says where the first wrong value is.

A check is a function of a value, which raises Damage if the value is wrong.
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
from polytomy.trials.measures import MEASURES

__all__ = [
    "FORMAT",
    "LARGEST_NUMBER",
    "RELIABILITY_BINS",
    "Check",
    "Damage",
    "OptionalField",
    "Store",
    "check_at",
    "check_count",
    "check_facts",
    "check_fraction",
    "check_manifest",
    "check_matrix",
    "check_name",
    "check_object",
    "check_text",
    "check_trial",
    "check_whole_number",
    "damage_as_data_error",
    "list_of",
    "lock_tables",
    "number_between",
    "object_of",
    "or_none",
    "parse_json",
    "read_facts",
    "read_manifest",
    "read_trials",
    "show_value",
    "values_of",
    "write_content",
]

LARGEST_NUMBER = 1e15
"""No count, time or distance is larger; sums and squares of such numbers stay finite."""

_MOST_VALUE_CHARACTERS = 40

Check = Callable[[Any], None]


def parse_json(content: bytes) -> dict[str, Any]:
    """Return the object in a JSON file; DataError if there is none.

    Examples
    --------
    >>> parse_json(b'{"repeat": NaN}')
    Traceback (most recent call last):
    polytomy.errors.DataError: NaN is not a JSON number
    """
    try:
        found = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise DataError("it is nested too deeply") from None
    except DataError:
        raise
    except ValueError:
        raise DataError("it is not JSON, or it is incomplete") from None
    if not isinstance(found, dict):
        raise DataError(f"{show_value(found)} is not an object")
    return found


def _refuse_constant(name: str) -> None:
    raise DataError(f"{name} is not a JSON number")


@contextmanager
def damage_as_data_error() -> Iterator[None]:
    """Turn Damage in the body of the ``with`` statement into DataError."""
    try:
        yield
    except Damage as damage:
        raise DataError(str(damage)) from None


class Damage(Exception):
    """A value that is wrong, and its place from the outermost key inwards."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.places: list[str] = []

    def __str__(self) -> str:
        return ": ".join([*filter(None, [", ".join(self.places)]), super().__str__()])


def show_value(value: Any) -> str:
    """Return a value as short JSON text."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:  # an integer with too many digits
        text = "a very large number"
    return text if len(text) <= _MOST_VALUE_CHARACTERS else f"{text[: _MOST_VALUE_CHARACTERS - 1]}…"


def check_at(place: str | int, check: Callable[..., None], *values: Any) -> None:
    """Run a check of the value in a place."""
    try:
        check(*values)
    except Damage as damage:
        damage.places.insert(0, str(place))
        raise


def check_object(value: Any, fields: Mapping[str, Check]) -> None:
    """Check the fields of an object; those whose check is OptionalField may be missing."""
    if not isinstance(value, dict):
        raise Damage(f"{show_value(value)} is not an object")
    for key in value:
        check_at("a key", check_text, key)
    for key, check in fields.items():
        if key in value:
            check_at(key, check, value[key])
        elif not isinstance(check, OptionalField):
            check_at(key, _refuse_missing)


def _refuse_missing() -> None:
    raise Damage("it is missing")


class OptionalField:
    """The check of a field that may be missing."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def __call__(self, value: Any) -> None:
        """Check the value of a field that is not missing."""
        self._check(value)


def check_text(value: Any) -> None:
    """Check that a value is text, without lone surrogates."""
    if not isinstance(value, str):
        raise Damage(f"{show_value(value)} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Damage(f"{show_value(value)} has a lone surrogate") from None


def check_name(value: Any) -> None:
    """Check that a value is text, and not empty."""
    check_text(value)
    if not value:
        raise Damage("it is empty")


def _check_number(value: Any, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damage(f"{show_value(value)} is not a number")
    # NaN is in no interval.
    if not least <= value <= most:
        raise Damage(f"{show_value(value)} is not between {least:g} and {most:g}")


def number_between(least: float, most: float) -> Check:
    """Return the check of a number in an interval."""
    return lambda value: _check_number(value, least, most)


def check_count(value: Any) -> None:
    """Check that a value is a whole number of zero or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Damage(f"{show_value(value)} is not a whole number")
    _check_number(value, 0, LARGEST_NUMBER)


def check_whole_number(value: Any) -> None:
    """Check that a value is a whole number."""
    check_count(abs(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def check_fraction(value: Any) -> None:
    """Check that a number is strictly between 0 and 1."""
    _check_number(value, 0, 1)
    if not 0 < value < 1:
        raise Damage(f"{show_value(value)} is not between 0 and 1")


def or_none(check: Check) -> Check:
    """Return the check of a value that may be None."""

    def check_unless_none(value: Any) -> None:
        if value is not None:
            check(value)

    return check_unless_none


def list_of(check: Check) -> Check:
    """Return the check of a list, from that of its items."""

    def check_items(value: Any) -> None:
        if not isinstance(value, list):
            raise Damage(f"{show_value(value)} is not a list")
        for number, item in enumerate(value):
            check_at(number, check, item)

    return check_items


def values_of(check: Check) -> Check:
    """Return the check of an object with any keys, from that of its values."""

    def check_values(value: Any) -> None:
        if not isinstance(value, dict):
            raise Damage(f"{show_value(value)} is not an object")
        for key, item in value.items():
            check_at("a key", check_text, key)
            check_at(key, check, item)

    return check_values


def object_of(fields: Mapping[str, Check]) -> Check:
    """Return the check of an object, from those of its fields; see `check_object`."""
    return lambda value: check_object(value, fields)


def check_matrix(value: Any, n_rows: int, n_columns: int, check: Check) -> None:
    """Check that a value is a list of lists of numbers, with these lengths."""
    list_of(list_of(check))(value)
    if len(value) != n_rows or any(len(row) != n_columns for row in value):
        raise Damage(f"it is not a table of {n_rows} × {n_columns} numbers")


# -- What the files of a results folder must contain --


FORMAT = 1
"""Version of the file format."""

RELIABILITY_BINS = 10
"""Number of bins of the reliability counts."""

# Scores are computed with rounding errors.
_ROUNDING = 1e-9

# Measures that are shares of something, and so lie between 0 and 1.
_SHARES = (
    "uncertainty_coefficient",
    "accuracy",
    "brier_score",
    "winner_brier_score",
    "calibration_error",
)
_COUNTS = ("n_binaries", "n_support_vectors")


def check_trial(
    record: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    classes: Sequence[str] | None = None,
) -> None:
    """Check a finished trial, as `measure_trial` returns it.

    Parameters
    ----------
    record : content of a file
    pairs : configuration and method of each cell, in order
    classes : classes of the dataset; None if they are unknown
    """
    with damage_as_data_error():
        check_object(record, _TRIAL)
        if classes is not None and record["classes"] != list(classes):
            raise Damage("the classes are not those of the dataset")
        cells = record["cells"]
        if [(cell["configuration"], cell["method"]) for cell in cells] != list(pairs):
            raise Damage("the cells are not those of the pairs in the manifest")
        n_classes, n_test = len(record["classes"]), record["n_test"]
        for number, cell in enumerate(cells):
            check_at("cells", check_at, number, _check_cell, cell, n_classes, n_test)


def check_facts(facts: Mapping[str, Any]) -> None:
    """Check the description of a dataset."""
    with damage_as_data_error():
        check_object(facts, _FACTS)
        n_classes = len(facts["classes"])
        if len(set(facts["classes"])) < n_classes:
            raise Damage("a class occurs twice")
        if len(facts["counts"]) != n_classes:
            raise Damage(f"there are {len(facts['counts'])} counts for {n_classes} classes")
        if "distances" in facts:
            check_at("distances", check_matrix, facts["distances"], n_classes, n_classes, _amount)


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Check the manifest of a folder."""
    with damage_as_data_error():
        check_object(manifest, _MANIFEST_FIELDS)
        pairs = [(pair["configuration"], pair["method"]) for pair in manifest["protocol"]["pairs"]]
        if len(set(pairs)) < len(pairs):
            raise Damage("a pair occurs twice")


def _check_cell(cell: Mapping[str, Any], n_classes: int, n_test: int) -> None:
    if not cell["problem"]:
        for key in ("scores", "confusion", "reliability"):
            if key not in cell:
                raise Damage(f"{key} is missing, but no problem is named")
    if "scores" in cell:
        check_at("scores", check_object, cell["scores"], _SCORES)
    if "confusion" in cell:
        counts = cell["confusion"]
        check_at("confusion", check_matrix, counts, n_classes, n_classes, check_count)
        total = sum(map(sum, counts))
        if total != n_test:
            raise Damage(f"the confusion matrix has {total} of {n_test} test samples")
    bins = cell.get("reliability")
    if bins is not None:
        check_at("reliability", check_matrix, bins, RELIABILITY_BINS, 3, _amount)


def _seed(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Damage(f"{show_value(value)} is not a seed")


def _check_format(value: Any) -> None:
    if value != FORMAT or isinstance(value, bool):
        raise Damage(f"{show_value(value)} is not {FORMAT}")


_amount = number_between(0, LARGEST_NUMBER)
_share = number_between(-_ROUNDING, 1 + _ROUNDING)


_VERSIONS = OptionalField(values_of(check_text))

# A score that does not apply is None; a measure that a file lacks was not measured.
_SCORES: dict[str, Check] = {
    name: OptionalField(
        or_none(_share if name in _SHARES else check_count if name in _COUNTS else _amount)
    )
    for name in MEASURES
}

_TRIAL: dict[str, Check] = {
    "format": OptionalField(_check_format),
    "dataset": check_name,
    "repeat": check_count,
    "seed": _seed,
    "estimator": check_text,
    "classes": list_of(check_text),
    "n_train": check_count,
    "n_test": check_count,
    "n_jobs": or_none(check_whole_number),
    "seconds": _amount,
    "warnings": list_of(check_text),
    "schemes": values_of(check_text),
    "cells": list_of(
        object_of(
            {
                "configuration": check_text,
                "method": check_text,
                "problem": check_text,
                "final_calibration": OptionalField(check_text),
            }
        )
    ),
    "versions": _VERSIONS,
    "threads": OptionalField(values_of(check_text)),
}

_FACTS: dict[str, Check] = {
    "name": check_name,
    "n_samples": check_count,
    "n_features": check_count,
    "classes": list_of(check_text),
    "counts": list_of(check_count),
    "fingerprint": check_text,
    "estimator": check_text,
    "empirical_tree": OptionalField(check_text),
}

_MANIFEST_FIELDS: dict[str, Check] = {
    "protocol": object_of(
        {
            "pairs": list_of(
                object_of(
                    {
                        "configuration": check_text,
                        "method": check_text,
                        "scheme": check_text,
                        "solver": check_text,
                        "final_calibration": OptionalField(check_text),
                    }
                )
            ),
            "test": check_fraction,
            "seed": _seed,
            "calibration": OptionalField(check_text),
            "folds": OptionalField(check_count),
        }
    ),
    "versions": _VERSIONS,
    "python": OptionalField(check_text),
    "system": OptionalField(check_text),
    "processors": OptionalField(or_none(check_count)),
}


# -- The folder of a run, which keeps every finished trial whatever happens to the run --


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
