"""Datasets for trials: from a folder, bundled with scikit-learn, or passed as arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets import FORMATS, read_data
from polytomy.errors import (
    Argument,
    ArgumentError,
    DataError,
    PolytomyError,
    PolytomyWarning,
    warn_caller,
)
from polytomy.inputs.arguments import did_you_mean
from polytomy.trials.catalogue import CATALOGUE
from polytomy.trials.dataset import Dataset

__all__ = [
    "BUNDLED",
    "load_datasets",
    "names_in_folder",
    "path_in_folder",
]

BUNDLED = ("digits", "wine", "iris", "breast-cancer")
"""Names of the datasets that come with scikit-learn."""

# In order of preference when a name has several files; new files are written with the first.
_TEXT_ENDINGS = (".csv", ".tsv", ".svmlight", *FORMATS["tsv"].endings, *FORMATS["svmlight"].endings)
_ENDINGS = (
    *dict.fromkeys(f"{ending}{zipped}" for ending in _TEXT_ENDINGS for zipped in (".gz", "")),
    *FORMATS["parquet"].endings,
    *FORMATS["npz"].endings,
    *FORMATS["lvq"].endings,
)
_ORDER_FILE = "class_order.json"


def load_datasets(
    datasets: Mapping[str, Any] | Iterable[str] | str | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    paper: bool = False,
    class_order: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
) -> list[Dataset]:
    """Load datasets by name, or wrap arrays.

    Parameters
    ----------
    datasets : names, or a dict from names to pairs (X, y), optional
        By default all datasets in the folder; a warning lists the files that were skipped, and why.
        Without a folder, those bundled with scikit-learn.
    folder : folder of files NAME.csv.gz or NAME.csv with the label in the last column, optional
        Also NAME.tsv, NAME.svmlight (or .svm, .libsvm, .scale), NAME.parquet, NAME.npz and
        NAME.lvq. An optional file class_order.json maps names to classes in order.
    paper : whether to load only the datasets of Mills's experiments that are in the folder
    class_order : all labels from first to last, or a dict of these by dataset, optional

    Examples
    --------
    >>> load_datasets(["iris", "wine"])
    [<Dataset iris: 150 × 4, 3 classes>, <Dataset wine: 178 × 13, 3 classes>]
    """
    order_of = _Orders(class_order)
    if paper and datasets is not None:
        raise ArgumentError(
            "Use either ", Argument("datasets"), " or ", Argument("paper", True), ", not both."
        )
    if isinstance(datasets, Mapping):
        loaded = [
            Dataset(str(name), *_pair(name, pair), order_of.find(str(name)))
            for name, pair in datasets.items()
        ]
        order_of.check_names(loaded)
        return loaded
    names = [datasets] if isinstance(datasets, str) else datasets
    names = None if names is None else list(dict.fromkeys(names))
    if names is not None and not names:
        raise ArgumentError(Argument("datasets"), " is empty. Name at least one dataset.")
    if folder is None:
        if paper:
            raise ArgumentError(
                Argument("paper", True), " needs the folder of the datasets. Set ",
                Argument("data"), ".",
            )  # fmt: skip
        loaded = [_bundled(name, order_of) for name in (BUNDLED if names is None else names)]
        order_of.check_names(loaded)
        return loaded
    home = Path(folder)
    there = names_in_folder(home)
    order_of.add(_orders(home))
    if names is not None:
        loaded = [_read_dataset(home, name, there, order_of) for name in names]
    else:
        loaded = _read_all(home, there, order_of, paper=paper)
    order_of.check_names(loaded)
    return loaded


class _Orders:
    """The orders of classes that were passed, and those of a folder."""

    def __init__(self, given: Mapping[str, Sequence[Any]] | Sequence[Any] | None) -> None:
        self._by_name = dict(given) if isinstance(given, Mapping) else {}
        self._for_all = None if isinstance(given, Mapping) else given
        self._of_folder: Mapping[str, Sequence[Any]] = {}

    def add(self, of_folder: Mapping[str, Sequence[Any]]) -> None:
        self._of_folder = of_folder

    def find(self, name: str) -> Sequence[Any] | None:
        """Return the order of a dataset's classes; None if there is none."""
        if self._for_all is not None:
            return self._for_all
        return self._by_name.get(name, self._of_folder.get(name))

    def check_names(self, loaded: Sequence[Dataset]) -> None:
        """Raise ArgumentError if an order was passed for a dataset that is not loaded."""
        names = [each.name for each in loaded]
        for name in self._by_name:
            if name not in names:
                raise ArgumentError(
                    Argument("class_order"),
                    f" has {name!r}, which is not one of the datasets {', '.join(names)}.",
                )


def _read_all(home: Path, there: Sequence[str], order_of: _Orders, *, paper: bool) -> list[Dataset]:
    """Read all datasets of a folder that can be used, and warn about all other files."""
    skipped: dict[str, Sequence[Any]] = {}
    if not paper:
        skipped |= {file: [why] for file, why in _files_without_dataset(home, there).items()}
    wanted = [name for name in (*CATALOGUE, *there) if name in there]
    loaded = []
    for name in dict.fromkeys(wanted):
        if paper and name not in CATALOGUE:
            skipped[path_in_folder(home, name).name] = ["not a dataset of the paper"]
            continue
        try:
            loaded.append(_read_dataset(home, name, there, order_of))
        except PolytomyError as error:
            skipped[path_in_folder(home, name).name] = error.args
    reasons: list[Any] = []
    for file, parts in skipped.items():
        reasons += ["; " if reasons else "", f"{file} (", *parts, ")"]
    if not loaded:
        raise DataError(f"{home} has no dataset that can be used: ", *reasons, ".")
    if skipped:
        warn_caller(PolytomyWarning(f"Skipped in {home}: ", *reasons, "."), PolytomyWarning)
    return loaded


def _files_without_dataset(home: Path, there: Sequence[str]) -> dict[str, str]:
    """Return the files of a folder that are not read, and why."""
    used = {path_in_folder(home, name).name: name for name in there}
    reasons = {}
    for path in sorted(home.iterdir()):
        if not path.is_file() or path.name.startswith(".") or path.name == _ORDER_FILE:
            continue
        if path.name not in used:
            same = [file for file, name in used.items() if path.name.startswith(f"{name}.")]
            is_data = path.name.endswith(_ENDINGS)
            reasons[path.name] = f"{same[0]} is used" if is_data and same else "not a data file"
    return reasons


def names_in_folder(folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of the datasets in a folder, sorted."""
    home = Path(folder)
    found = {
        path.name.removesuffix(ending)
        for path in home.iterdir()
        for ending in _ENDINGS
        if path.name.endswith(ending) and not path.name.startswith(".") and path.is_file()
    }
    if not found:
        raise DataError(
            f"{home} has no datasets. Save them there as NAME.csv.gz, with the label last."
        )
    return sorted(found)


def path_in_folder(folder: Path, name: str) -> Path:
    """Return the file of a dataset; the gzipped one if there are two, or none yet."""
    for ending in _ENDINGS:
        if (folder / f"{name}{ending}").is_file():
            return folder / f"{name}{ending}"
    return folder / f"{name}{_ENDINGS[0]}"


def _read_dataset(folder: Path, name: str, there: Sequence[str], order_of: _Orders) -> Dataset:
    if name not in there:
        hint = f" Try `polytomy datasets get {name}`." if name in CATALOGUE else ""
        hint = hint or did_you_mean(name, there)
        raise ArgumentError(f"{folder} has no dataset {name!r}; it has {', '.join(there)}.{hint}")
    path = path_in_folder(folder, name)
    data = read_data(path)
    if data.y is None:
        raise DataError(f"{path} has no labels. Put them in the last column.")
    order = order_of.find(name)
    if order is None and name in CATALOGUE:
        order = _known_order(data.y, CATALOGUE[name].classes)
    return Dataset(name, data.X, data.y, order)


def _known_order(labels: NDArray[Any], order: Sequence[str]) -> Sequence[str] | None:
    """Return the order of a known dataset if these are its labels."""
    wanted = sorted(text.casefold() for text in order)
    found = sorted(str(label).casefold() for label in np.unique(labels).tolist())
    return order if found == wanted else None


def _orders(folder: Path) -> dict[str, list[str]]:
    path = folder / _ORDER_FILE
    if not path.is_file():
        return {}
    try:
        orders = json.loads(path.read_text(encoding="utf-8"))
        return {name: [*map(str, labels)] for name, labels in orders.items() if name[0] != "_"}
    except (ValueError, TypeError, AttributeError, IndexError):
        raise DataError(
            f"{path} is invalid. It must be a JSON object from dataset names to lists of classes."
        ) from None


def _pair(name: str, pair: Any) -> tuple[Any, Any]:
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise ArgumentError(Argument("datasets"), f"[{name!r}] must be a pair (X, y).") from None
    return X, y


def _bundled(name: str, order_of: _Orders) -> Dataset:
    from sklearn import datasets

    if name not in BUNDLED:
        problem = f"Dataset {name!r} does not come with scikit-learn; {', '.join(BUNDLED)} do."
        if name in CATALOGUE:
            raise ArgumentError(problem, " Set ", Argument("data"), " to the folder that has it.")
        raise ArgumentError(problem, did_you_mean(name, BUNDLED))
    loaded = getattr(datasets, f"load_{name.replace('-', '_')}")()
    names = [str(each) for each in loaded.target_names]
    labels = loaded.target if name == "digits" else np.array(names)[loaded.target]
    order = order_of.find(name)
    return Dataset(name, loaded.data, labels, names if order is None else order)
