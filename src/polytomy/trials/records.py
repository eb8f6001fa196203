"""What the files of a results folder must contain: trials, descriptions of datasets, the manifest.

Each check raises DataError with the place of the first value that is wrong, such as
``cells, 2, scores, accuracy: "0.9" is not a number``. Everything after the checks may rely on the
types, lengths and signs of what was read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from polytomy.errors import DataError
from polytomy.trials.measures import MEASURES

__all__ = [
    "FORMAT",
    "LARGEST_NUMBER",
    "RELIABILITY_BINS",
    "check_facts",
    "check_manifest",
    "check_trial",
    "parse_json",
]

FORMAT = 1
"""Version of the file format."""

RELIABILITY_BINS = 10
"""Number of bins of the reliability counts."""

LARGEST_NUMBER = 1e15
"""No count, time or distance is larger; sums and squares of such numbers stay finite."""

# Scores are computed with rounding errors.
_ROUNDING = 1e-9
_MOST_SHOWN = 40

Check = Callable[[Any], None]

# Measures that are shares of something, and so lie between 0 and 1.
_SHARES = (
    "uncertainty_coefficient",
    "accuracy",
    "brier_score",
    "winner_brier_score",
    "calibration_error",
)
_COUNTS = ("n_binaries", "n_support_vectors")


def parse_json(content: bytes) -> dict[str, Any]:
    """Return the object in a JSON file; DataError if there is none.

    Examples
    --------
    >>> parse_json(b'{"repeat": NaN}')
    Traceback (most recent call last):
    polytomy.errors.DataError: NaN is not a number of JSON
    """
    try:
        found = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise DataError("it is nested too deeply") from None
    except DataError:
        raise
    except ValueError:
        raise DataError("it is not JSON, or not all of it") from None
    if not isinstance(found, dict):
        raise DataError(f"{_show(found)} is not an object")
    return found


def _refuse_constant(name: str) -> None:
    raise DataError(f"{name} is not a number of JSON")


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
    with _as_data_error():
        _check_object(record, _TRIAL)
        if classes is not None and record["classes"] != list(classes):
            raise _Damage("the classes are not those of the dataset")
        cells = record["cells"]
        if [(cell["configuration"], cell["method"]) for cell in cells] != list(pairs):
            raise _Damage("the cells are not those of the pairs in the manifest")
        n_classes, n_test = len(record["classes"]), record["n_test"]
        for number, cell in enumerate(cells):
            _at("cells", _at, number, _check_cell, cell, n_classes, n_test)


def check_facts(facts: Mapping[str, Any]) -> None:
    """Check the description of a dataset."""
    with _as_data_error():
        _check_object(facts, _FACTS)
        n_classes = len(facts["classes"])
        if len(set(facts["classes"])) < n_classes:
            raise _Damage("a class occurs twice")
        if len(facts["counts"]) != n_classes:
            raise _Damage(f"there are {len(facts['counts'])} counts for {n_classes} classes")
        if "distances" in facts:
            _at("distances", _check_matrix, facts["distances"], n_classes, n_classes, _amount)


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Check the manifest of a folder."""
    with _as_data_error():
        _check_object(manifest, _MANIFEST)
        pairs = [(pair["configuration"], pair["method"]) for pair in manifest["protocol"]["pairs"]]
        if len(set(pairs)) < len(pairs):
            raise _Damage("a pair occurs twice")


@contextmanager
def _as_data_error() -> Iterator[None]:
    try:
        yield
    except _Damage as damage:
        raise DataError(str(damage)) from None


def _check_cell(cell: Mapping[str, Any], n_classes: int, n_test: int) -> None:
    if cell["problem"]:
        return
    for key in ("scores", "confusion", "reliability"):
        if key not in cell:
            _at(key, _missing)
    _at("scores", _check_object, cell["scores"], _SCORES)
    counts = cell["confusion"]
    _at("confusion", _check_matrix, counts, n_classes, n_classes, _count)
    total = sum(map(sum, counts))
    if total != n_test:
        raise _Damage(f"the confusion matrix has {total} of {n_test} test samples")
    if cell["reliability"] is not None:
        _at("reliability", _check_matrix, cell["reliability"], RELIABILITY_BINS, 3, _amount)


# -- checks of one value ---------------------------------------------------------------------------


class _Damage(Exception):
    """A value that is wrong, and its place from the outermost key inwards."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.places: list[str] = []

    def __str__(self) -> str:
        return ": ".join([*filter(None, [", ".join(self.places)]), super().__str__()])


def _show(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:  # an integer with too many digits
        text = "a very large number"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _at(place: str | int, check: Callable[..., None], *values: Any) -> None:
    """Run a check of the value in a place."""
    try:
        check(*values)
    except _Damage as damage:
        damage.places.insert(0, str(place))
        raise


def _check_object(value: Any, fields: Mapping[str, Check]) -> None:
    if not isinstance(value, dict):
        raise _Damage(f"{_show(value)} is not an object")
    for key in value:
        _at("a key", _text, key)
    for key, check in fields.items():
        if key in value:
            _at(key, check, value[key])
        elif not isinstance(check, _Optional):
            _at(key, _missing)


def _missing() -> None:
    raise _Damage("it is missing")


class _Optional:
    """The check of a field that may be missing."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def __call__(self, value: Any) -> None:
        self._check(value)


def _text(value: Any) -> None:
    if not isinstance(value, str):
        raise _Damage(f"{_show(value)} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Damage(f"{_show(value)} has a lone surrogate") from None


def _name(value: Any) -> None:
    _text(value)
    if not value:
        raise _Damage("it is empty")


def _check_number(value: Any, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Damage(f"{_show(value)} is not a number")
    # NaN is in no interval.
    if not least <= value <= most:
        raise _Damage(f"{_show(value)} is not between {least:g} and {most:g}")


def _number_from(least: float, most: float) -> Check:
    return lambda value: _check_number(value, least, most)


def _count(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Damage(f"{_show(value)} is not a whole number")
    _check_number(value, 0, LARGEST_NUMBER)


def _whole_number(value: Any) -> None:
    _count(abs(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def _seed(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Damage(f"{_show(value)} is not a seed")


def _format(value: Any) -> None:
    if value != FORMAT or isinstance(value, bool):
        raise _Damage(f"{_show(value)} is not {FORMAT}")


_amount = _number_from(0, LARGEST_NUMBER)
_share = _number_from(-_ROUNDING, 1 + _ROUNDING)


def _fraction(value: Any) -> None:
    _check_number(value, 0, 1)
    if not 0 < value < 1:
        raise _Damage(f"{_show(value)} is not between 0 and 1")


def _or_none(check: Check) -> Check:
    def check_unless_none(value: Any) -> None:
        if value is not None:
            check(value)

    return check_unless_none


def _list_of(check: Check) -> Check:
    def check_items(value: Any) -> None:
        if not isinstance(value, list):
            raise _Damage(f"{_show(value)} is not a list")
        for number, item in enumerate(value):
            _at(number, check, item)

    return check_items


def _values_of(check: Check) -> Check:
    def check_values(value: Any) -> None:
        if not isinstance(value, dict):
            raise _Damage(f"{_show(value)} is not an object")
        for key, item in value.items():
            _at("a key", _text, key)
            _at(key, check, item)

    return check_values


def _object_of(fields: Mapping[str, Check]) -> Check:
    return lambda value: _check_object(value, fields)


def _check_matrix(value: Any, n_rows: int, n_columns: int, check: Check) -> None:
    _list_of(_list_of(check))(value)
    if len(value) != n_rows or any(len(row) != n_columns for row in value):
        raise _Damage(f"it is not a table of {n_rows} × {n_columns} numbers")


# -- the fields of each file -----------------------------------------------------------------------

_VERSIONS = _Optional(_values_of(_text))

# A score that does not apply is None; a measure that a file lacks was not measured.
_SCORES: dict[str, Check] = {
    name: _Optional(_or_none(_share if name in _SHARES else _count if name in _COUNTS else _amount))
    for name in MEASURES
}

_TRIAL: dict[str, Check] = {
    "format": _Optional(_format),
    "dataset": _name,
    "repeat": _count,
    "seed": _seed,
    "estimator": _text,
    "classes": _list_of(_text),
    "n_train": _count,
    "n_test": _count,
    "n_jobs": _or_none(_whole_number),
    "seconds": _amount,
    "warnings": _list_of(_text),
    "schemes": _values_of(_text),
    "cells": _list_of(_object_of({"configuration": _text, "method": _text, "problem": _text})),
    "versions": _VERSIONS,
    "threads": _Optional(_values_of(_text)),
}

_FACTS: dict[str, Check] = {
    "name": _name,
    "n_samples": _count,
    "n_features": _count,
    "classes": _list_of(_text),
    "counts": _list_of(_count),
    "fingerprint": _text,
    "estimator": _text,
    "empirical_tree": _Optional(_text),
}

_MANIFEST: dict[str, Check] = {
    "protocol": _object_of(
        {
            "pairs": _list_of(
                _object_of(
                    {"configuration": _text, "method": _text, "scheme": _text, "solver": _text}
                )
            ),
            "test": _fraction,
            "seed": _seed,
            "calibration": _Optional(_text),
            "folds": _Optional(_count),
        }
    ),
    "versions": _VERSIONS,
    "python": _Optional(_text),
    "system": _Optional(_text),
    "processors": _Optional(_or_none(_count)),
}
