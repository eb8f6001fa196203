"""Datasets for trials: from a folder, bundled with scikit-learn, or passed as arrays."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from polytomy.datasets import read_data
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.masked import refuse_masked
from polytomy.inputs.sparse import check_sparse, is_sparse
from polytomy.trials.catalogue import CATALOGUE

__all__ = [
    "BUNDLED",
    "Dataset",
    "compute_checksum",
    "load_datasets",
    "names_in_folder",
    "path_in_folder",
]

BUNDLED = ("digits", "wine", "iris", "breast-cancer")
"""Names of the datasets that come with scikit-learn."""

# In order of preference when a name has several files; new files are written with the first.
_TABLES = (".csv.gz", ".csv", ".tsv.gz", ".tsv")
_OTHER_FORMATS = (".svmlight.gz", ".svmlight", ".svm", ".libsvm", ".parquet", ".npz")
_ENDINGS = (*_TABLES, *_OTHER_FORMATS)
_ORDER_FILE = "class_order.json"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and their classes.

    Parameters
    ----------
    name : name of the dataset
    X : array or sparse matrix of shape (n_samples, n_features)
    y : labels of shape (n_samples,)
    order : labels in the order used by codes over ordered classes, optional
        Matched without regard to case. By default the labels are sorted.

    Attributes
    ----------
    classes : tuple of the distinct labels, in order
    class_indices : array of shape (n_samples,), index of each label in `classes`

    Examples
    --------
    >>> Dataset("land", np.eye(4), ["oak", "corn", "oak", "oak"], order=["Oak", "Corn"]).classes
    ('oak', 'corn')
    """

    name: str
    X: Any
    y: NDArray[Any]
    classes: tuple[Any, ...]
    class_indices: NDArray[np.intp]

    def __init__(self, name: str, X: Any, y: ArrayLike, order: Sequence[str] | None = None) -> None:
        refuse_masked(X, "X")
        # Several estimators of scikit-learn accept no sparse indices but those of 32 bits.
        X = csr_array(check_sparse(X)) if is_sparse(X) else np.asarray(X)
        labels = np.asarray(y)
        if not name or name.startswith("."):
            raise ArgumentError(
                f"{name!r} cannot name a dataset. Use a name that is not empty and does not start "
                "with a dot."
            )
        if X.ndim != 2 or labels.ndim != 1 or X.shape[0] != len(labels):
            raise DataError(
                f"dataset {name}: X has shape {X.shape} and y has shape {labels.shape}. Pass one "
                "row of features and one label per sample."
            )
        found, indices = np.unique(labels, return_inverse=True)
        if not 2 <= len(found) <= len(labels) // 2:
            raise DataError(
                f"dataset {name}: {len(labels)} samples have {len(found)} distinct labels. There "
                "must be at least two classes, with at least two samples each on average."
            )
        ordering = _order_labels(found.tolist(), order)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", labels)
        object.__setattr__(self, "classes", tuple(found[ordering].tolist()))
        object.__setattr__(self, "class_indices", np.argsort(ordering)[indices.ravel()])

    @property
    def codes(self) -> NDArray[np.intp]:
        """Same as `class_indices`; the name it had in polytomy 0.1."""
        return self.class_indices

    @property
    def counts(self) -> list[int]:
        """Number of samples of each class."""
        return [int(n) for n in np.bincount(self.class_indices, minlength=len(self.classes))]

    @property
    def fingerprint(self) -> str:
        """Checksum of samples and labels, in order."""
        digest = hashlib.sha256(repr((self.X.shape, self.classes)).encode())
        parts: tuple[Any, ...] = (self.X,)
        if is_sparse(self.X):
            parts = (self.X.data, self.X.indices, self.X.indptr)
        for part in (*parts, self.class_indices.astype("<i4")):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        return f"<Dataset {self.name}: {n_samples} × {n_features}, {len(self.classes)} classes>"


def _order_labels(labels: list[Any], order: Sequence[str] | None) -> NDArray[np.intp]:
    """Return the indices that put sorted labels in order; an order that lacks one is ignored."""
    ranks = {str(label).casefold(): rank for rank, label in enumerate(order or ())}
    written = [str(label).casefold() for label in labels]
    if not set(written) <= set(ranks):
        return np.arange(len(labels))
    return np.argsort([ranks[text] for text in written], kind="stable")


def compute_checksum(X: Any) -> str:
    """Return a checksum of the features that does not depend on the order of the samples.

    Features are rounded to single precision, so the checksum survives a round trip through text.

    Examples
    --------
    >>> compute_checksum([[1, 2], [3, 4]]) == compute_checksum([[3.0, 4.0], [1.0, 2.0]])
    True
    """
    # Adding zero turns −0 into 0.
    values = np.ascontiguousarray(np.asarray(X, dtype="<f4") + np.float32(0))
    rows = np.sort(values.view(np.dtype((np.void, 4 * values.shape[1]))).ravel())
    return hashlib.sha256(rows.tobytes()).hexdigest()[:16]


def load_datasets(
    datasets: Mapping[str, Any] | Iterable[str] | str | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> list[Dataset]:
    """Load datasets by name, or wrap arrays.

    Parameters
    ----------
    datasets : names, or a dict from names to pairs (X, y), optional
        By default the datasets of Mills's experiments that are in the folder; if there are none,
        every dataset in the folder. Without a folder, those bundled with scikit-learn.
    folder : folder of files NAME.csv.gz or NAME.csv with the label in the last column, optional
        Also NAME.tsv, NAME.svmlight (or .svm, .libsvm), NAME.parquet and NAME.npz. An optional
        file class_order.json maps names to classes in order.

    Examples
    --------
    >>> load_datasets(["iris", "wine"])
    [<Dataset iris: 150 × 4, 3 classes>, <Dataset wine: 178 × 13, 3 classes>]
    """
    if isinstance(datasets, Mapping):
        return [Dataset(str(name), *_pair(name, pair)) for name, pair in datasets.items()]
    names = [datasets] if isinstance(datasets, str) else datasets
    names = None if names is None else list(dict.fromkeys(names))
    if names is not None and not names:
        raise ArgumentError(Argument("datasets"), " is empty. Name at least one dataset.")
    if folder is None:
        return [_bundled(name) for name in (BUNDLED if names is None else names)]
    home = Path(folder)
    there = names_in_folder(home)
    if names is None:
        names = [name for name in CATALOGUE if name in there] or there
    order_of = _orders(home)
    return [_read(home, name, there, order_of) for name in names]


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


def _read(
    folder: Path, name: str, there: Sequence[str], order_of: Mapping[str, Sequence[str]]
) -> Dataset:
    if name not in there:
        hint = f" Try `polytomy datasets get {name}`." if name in CATALOGUE else ""
        hint = hint or _suggest_name(name, there)
        raise ArgumentError(f"{folder} has no dataset {name!r}; it has {', '.join(there)}.{hint}")
    path = path_in_folder(folder, name)
    data = read_data(path)
    if data.y is None:
        raise DataError(f"{path} has no labels. Put them in the last column.")
    known = CATALOGUE.get(name)
    return Dataset(name, data.X, data.y, order_of.get(name) or (known and known.classes))


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


def _bundled(name: str) -> Dataset:
    from sklearn import datasets

    if name not in BUNDLED:
        problem = f"Dataset {name!r} does not come with scikit-learn; {', '.join(BUNDLED)} do."
        if name in CATALOGUE:
            raise ArgumentError(problem, " Set ", Argument("data"), " to the folder that has it.")
        raise ArgumentError(problem, _suggest_name(name, BUNDLED))
    loaded = getattr(datasets, f"load_{name.replace('-', '_')}")()
    names = [str(each) for each in loaded.target_names]
    labels = loaded.target if name == "digits" else np.array(names)[loaded.target]
    return Dataset(name, loaded.data, labels, names)


def _suggest_name(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
