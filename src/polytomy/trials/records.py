"""What the files of a results folder must contain: trials, descriptions of datasets, the manifest.

Each check raises DataError with the place of the first value that is wrong, such as
``cells, 2, scores, accuracy: "0.9" is not a number``. Everything after the checks can rely on the
types, lengths and signs of what was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polytomy.trials.json_checks import (
    LARGEST_NUMBER,
    Check,
    Damage,
    OptionalField,
    check_at,
    check_count,
    check_fraction,
    check_matrix,
    check_name,
    check_object,
    check_text,
    check_whole_number,
    damage_as_data_error,
    list_of,
    number_between,
    object_of,
    or_none,
    show_value,
    values_of,
)
from polytomy.trials.measures import MEASURES

__all__ = [
    "FORMAT",
    "RELIABILITY_BINS",
    "check_facts",
    "check_manifest",
    "check_trial",
]

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
        check_object(manifest, _MANIFEST)
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


def _format(value: Any) -> None:
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
    "format": OptionalField(_format),
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

_MANIFEST: dict[str, Check] = {
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
