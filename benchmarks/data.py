"""Datasets of the benchmarks, read from the folder POLYTOMY_DATA.

Each is a file NAME.csv.gz, there or in its subfolder `extra`, with a header, the features first and
the label last. SVMs use the options of Mills's experiments: C and gamma of LIBSVM, whose default
gamma is one over the number of features.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from polytomy.trials import CATALOGUE, PAPER_PAIRS, Protocol

PAPER = tuple(CATALOGUE)

# Class orders for datasets whose labels are words and that are not in class_order.json.
ORDERS = {
    "krkopt": [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "draw",
    ],
}


class Split(NamedTuple):
    """Standardised training and test samples."""

    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray


def folder() -> Path | None:
    """Return the folder of the datasets, or None if POLYTOMY_DATA is not set."""
    name = os.environ.get("POLYTOMY_DATA", "")
    return Path(name) if name and Path(name).is_dir() else None


def find_file(name: str) -> Path | None:
    """Return the file with a name in the folder or its subfolder, or None."""
    home = folder()
    paths = [] if home is None else [home / name, home / "extra" / name]
    return next((path for path in paths if path.is_file()), None)


def need_file(name: str) -> Path:
    """Return the file with a name."""
    path = find_file(name)
    if path is None:
        raise FileNotFoundError(f"Set POLYTOMY_DATA to the folder of the datasets, with {name}.")
    return path


def available(names: Iterable[str] = PAPER) -> list[str]:
    """Return the names of the datasets in the folder."""
    return [name for name in names if find_file(f"{name}.csv.gz")]


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and labels of a dataset."""
    with gzip.open(need_file(f"{name}.csv.gz"), "rt", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        table = list(rows)
    X = np.array([row[:-1] for row in table], dtype=np.float64)
    return X, np.array([row[-1] for row in table])


def class_indices(name: str, y: np.ndarray) -> np.ndarray:
    """Return the class index of each label, in the order of class_order.json or of ORDERS."""
    home = folder()
    path = None if home is None else home / "class_order.json"
    order = json.loads(path.read_text()).get(name) if path is not None and path.is_file() else None
    order = order or ORDERS.get(name) or sorted(set(y.tolist()))
    positions = {label: k for k, label in enumerate(order)}
    return np.array([positions[label] for label in y.tolist()])


def split(X: np.ndarray, y: np.ndarray, seed: int, test_size: float = 0.3) -> Split:
    """Return a stratified split, standardised on the training samples."""
    parts = train_test_split(X, y, test_size=test_size, stratify=y, random_state=seed)
    X_train, X_test, y_train, y_test = parts
    scaler = StandardScaler().fit(X_train)
    return Split(scaler.transform(X_train), scaler.transform(X_test), y_train, y_test)


def svm_options(name: str) -> dict[str, Any]:
    """Return C and gamma for the support vector machines of a dataset."""
    svc = Protocol(PAPER_PAIRS).estimator_for(name)
    return {"C": svc.C, "gamma": svc.gamma}
