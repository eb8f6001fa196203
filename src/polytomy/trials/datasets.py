"""Datasets for trials: from a folder, bundled with scikit-learn, from openml.org, or as arrays."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from polytomy.datasets import FORMATS, Data, read_data, write_data
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.label_order import has_natural_order, match_class_order, sort_naturally
from polytomy.inputs.rows import refuse_masked
from polytomy.inputs.sparse import check_sparse, is_sparse

# LIBSVM's defaults: C = 1 and gamma = 1 / n_features.
DEFAULT_ESTIMATOR = "svc gamma=auto"


class KnownDataset(NamedTuple):
    """A dataset as used in the experiments of Mills (2019).

    Attributes
    ----------
    name : str
    n_features : int
    classes : labels, in the order used by codes over ordered classes
    counts : number of samples of each class
    checksum : checksum of the features, see `polytomy.trials.datasets.compute_checksum`
    openml : ID of the dataset at openml.org; None if it is not there
    estimator : specification of the binary classifier
    """

    name: str
    n_features: int
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    checksum: str
    openml: int | None = None
    estimator: str = DEFAULT_ESTIMATOR

    @property
    def n_samples(self) -> int:
        """Total number of samples."""
        return sum(self.counts)


def _read_catalogue() -> dict[str, KnownDataset]:
    text = files("polytomy.trials").joinpath("catalogue.toml").read_text(encoding="utf-8")
    found = {}
    for entry in tomllib.loads(text)["dataset"]:
        entry |= {key: tuple(entry[key]) for key in ("classes", "counts")}
        found[entry["name"]] = KnownDataset(**entry)
    return found


CATALOGUE: dict[str, KnownDataset] = _read_catalogue()
"""The datasets of the experiments by name, in the order of the tables."""


# -- datasets --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and their classes.

    Parameters
    ----------
    name : name of the dataset
    X : array or sparse matrix of shape (n_samples, n_features)
    y : labels of shape (n_samples,)
    order : all labels in the order used by codes over ordered classes, optional
        Matched without regard to case. By default the labels are sorted.

    Attributes
    ----------
    classes : tuple of the distinct labels, in order
    class_indices : array of shape (n_samples,), index of each label in `classes`
    has_order : whether `classes` are in a meaningful order, not just in alphabetical order

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
    has_order: bool

    def __init__(self, name: str, X: Any, y: ArrayLike, order: Sequence[str] | None = None) -> None:
        refuse_masked(X, "X")
        # Several scikit-learn estimators accept only 32-bit sparse indices.
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
        labels_found = found.tolist()
        try:
            classes = _order_labels(labels_found, order)
        except ArgumentError as error:
            raise DataError(f"dataset {name}: ", *error.args) from None
        places = {label: place for place, label in enumerate(labels_found)}
        ordering = np.array([places[label] for label in classes])
        vars(self).update(
            name=name,
            X=X,
            y=labels,
            classes=tuple(found[ordering].tolist()),
            class_indices=np.argsort(ordering)[indices.ravel()],
            has_order=order is not None or has_natural_order(labels_found),
        )

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


def _order_labels(labels: list[Any], order: Sequence[Any] | None) -> list[Any]:
    """Return labels in `order`, or sorted; ArgumentError if it is not an order of these labels."""
    if order is None:
        return sort_naturally(labels)
    return match_class_order(_spell_like(labels, order), labels)


def _spell_like(labels: Sequence[Any], order: Sequence[Any]) -> Sequence[Any]:
    """Return an order with the letter case of the labels, if they differ in nothing else."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        return order
    by_text = {str(label).casefold(): label for label in labels}
    wanted = [str(label).casefold() for label in order]
    is_same = sorted(wanted) == sorted(by_text) and len(by_text) == len(labels)
    return [by_text[text] for text in wanted] if is_same else order


def compute_checksum(X: Any) -> str:
    """Return a checksum of the features that does not depend on the order of the samples.

    Features are rounded to single precision, so the checksum survives a round trip through text.

    Examples
    --------
    >>> compute_checksum([[1, 2], [3, 4]]), compute_checksum([[3.0, 4.0], [1.0, 2.0]])
    ('fb5ae94f7e6aec39', 'fb5ae94f7e6aec39')
    """
    # Adding zero turns −0 into 0.
    values = np.ascontiguousarray(np.asarray(X, dtype="<f4") + np.float32(0))
    rows = np.sort(values.view(np.dtype((np.void, 4 * values.shape[1]))).ravel())
    return hashlib.sha256(rows.tobytes()).hexdigest()[:16]


BUNDLED = ("digits", "wine", "iris", "breast-cancer")
"""Names of the datasets that come with scikit-learn."""

# In order of preference when a name has several files; new files are written with the first.
_TEXT_ENDINGS = (".csv", ".tsv", ".svmlight", *FORMATS["tsv"].endings, *FORMATS["svmlight"].endings)
_ENDINGS = (
    *dict.fromkeys(f"{ending}{zipped}" for ending in _TEXT_ENDINGS for zipped in (".gz", "")),
    *FORMATS["parquet"].endings,
    *FORMATS["npz"].endings,
)
_ORDER_FILE = "class_order.json"

_Samples = tuple[Any, Any, Sequence[Any] | None]
"""X, y, and the order of the classes if it is known."""


def load_datasets(
    datasets: Mapping[str, Any] | Iterable[str] | str | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    paper: bool = False,
    class_order: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    accepts_missing: Callable[[str], bool] = lambda name: False,
) -> list[Dataset]:
    """Load datasets by name, or wrap arrays.

    Parameters
    ----------
    datasets : names, or a dict from names to pairs (X, y), optional
        By default all datasets in the folder, or without a folder those bundled with scikit-learn.
    folder : folder of files NAME.csv.gz or NAME.csv with the label in the last column, optional
        Also NAME.tsv, NAME.svmlight (or .svm, .libsvm, .scale), NAME.parquet and NAME.npz.
        An optional file class_order.json maps names to classes in order. The path of one file is a
        folder with only this file.
    paper : whether to load only the datasets of Mills's experiments that are in the folder
    class_order : all labels from first to last, or a dict of these by dataset, optional
    reading : further arguments of `polytomy.datasets.read_data`, such as target, optional
    accepts_missing : whether missing values of a dataset are read as NaN
        Unless `reading` says what to do with them.

    Examples
    --------
    >>> load_datasets(["iris", "wine"])
    [<Dataset iris: 150 × 4, 3 classes>, <Dataset wine: 178 × 13, 3 classes>]
    """
    if paper and datasets is not None:
        raise ArgumentError(
            "Use either ", Argument("datasets"), " or ", Argument("paper", True), ", not both."
        )
    if paper and folder is None:
        raise ArgumentError(
            Argument("paper", True),
            " needs the folder of the datasets. Set ",
            Argument("data"),
            ".",
        )
    names = [datasets] if isinstance(datasets, str) else datasets
    names = None if names is None else list(dict.fromkeys(names))
    if names is not None and not names:
        raise ArgumentError(Argument("datasets"), " is empty. Name at least one dataset.")
    files = {} if folder is None else _find_files(Path(folder))
    if names is None:
        known = [*CATALOGUE] if paper else [*CATALOGUE, *sorted(files)]
        names = [name for name in dict.fromkeys(known) if name in files]
        if folder is None:
            names = list(BUNDLED)
        elif not names:
            raise DataError(f"{folder} has no dataset of the paper; it has {', '.join(files)}.")
    orders = {} if folder is None else _read_orders(Path(folder))

    def load(name: str) -> Dataset:
        if isinstance(datasets, Mapping):
            X, y, order = _take_pair(name, datasets[name])
        elif folder is None:
            X, y, order = _load_bundled(name)
        else:
            missing = "nan" if accepts_missing(name) else "refuse"
            how = {"missing": missing, **(reading or {})}
            X, y, order = _read_file(Path(folder), files, name, orders.get(name), how)
        if isinstance(class_order, Mapping):
            order = class_order.get(name, order)
        elif class_order is not None:
            order = class_order
        return Dataset(str(name), X, y, order)

    loaded = [load(name) for name in names]
    for name in class_order if isinstance(class_order, Mapping) else ():
        if name not in (known := [each.name for each in loaded]):
            raise ArgumentError(
                Argument("class_order"),
                f" has {name!r}, which is not one of the datasets {', '.join(known)}.",
            )
    return loaded


def _take_pair(name: str, pair: Any) -> _Samples:
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise ArgumentError(Argument("datasets"), f"[{name!r}] must be a pair (X, y).") from None
    return X, y, None


def _load_bundled(name: str) -> _Samples:
    from sklearn import datasets

    if name not in BUNDLED:
        problem = f"Dataset {name!r} does not come with scikit-learn; {', '.join(BUNDLED)} do."
        if name in CATALOGUE:
            raise ArgumentError(problem, " Set ", Argument("data"), " to the folder that has it.")
        raise ArgumentError(problem, did_you_mean(name, BUNDLED))
    loaded = getattr(datasets, f"load_{name.replace('-', '_')}")()
    names = [str(each) for each in loaded.target_names]
    labels = loaded.target if name == "digits" else np.array(names)[loaded.target]
    return loaded.data, labels, names


def _read_file(
    folder: Path,
    files: Mapping[str, Path],
    name: str,
    order: Sequence[str] | None,
    reading: Mapping[str, Any],
) -> _Samples:
    if name not in files:
        hint = f" Try `polytomy datasets get {name}`." if name in CATALOGUE else ""
        hint = hint or did_you_mean(name, files)
        raise ArgumentError(
            f"{folder} has no dataset {name!r}; it has {', '.join(sorted(files))}.{hint}"
        )
    data = read_data(files[name], **reading)
    if data.y is None:
        raise DataError(f"{files[name]} has no labels. Put them in the last column.")
    if order is None and name in CATALOGUE:
        published = CATALOGUE[name].classes
        labels = {str(label).casefold() for label in np.unique(data.y).tolist()}
        order = published if labels == {text.casefold() for text in published} else None
    return data.X, data.y, order


def _dataset_name(path: Path) -> str:
    """Return the name of the dataset in a data file; empty for other files."""
    endings = (ending for ending in _ENDINGS if path.name.endswith(ending))
    return path.name.removesuffix(next(endings, path.name))


def _find_files(folder: Path) -> dict[str, Path]:
    """Return the file of each dataset in a folder, by name; or the only file, if it is one."""
    if folder.is_file():
        return {_dataset_name(folder) or folder.stem: folder}
    paths = [path for path in folder.iterdir() if path.is_file() and path.name[0] != "."]
    found: dict[str, Path] = {}
    for ending in _ENDINGS:
        for path in paths:
            if path.name.endswith(ending):
                found.setdefault(path.name.removesuffix(ending), path)
    if not found:
        raise DataError(
            f"{folder} has no datasets. Save them there as NAME.csv.gz, with the label last."
        )
    return found


def names_in_folder(folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of the datasets in a folder, sorted."""
    return sorted(_find_files(Path(folder)))


def _read_orders(folder: Path) -> dict[str, list[str]]:
    path = (folder if folder.is_dir() else folder.parent) / _ORDER_FILE
    if not path.is_file():
        return {}
    try:
        orders = json.loads(path.read_text(encoding="utf-8"))
        return {name: [*map(str, labels)] for name, labels in orders.items() if name[0] != "_"}
    except (ValueError, TypeError, AttributeError, IndexError):
        raise DataError(
            f"{path} is invalid. It must be a JSON object from dataset names to lists of classes."
        ) from None


def find_differences(dataset: Dataset, known: KnownDataset) -> str:
    """Return how a dataset differs from its entry in the catalogue; empty if it does not.

    Examples
    --------
    >>> land = Dataset("land", np.eye(4), ["a", "a", "b", "b"])
    >>> find_differences(land, KnownDataset("land", 3, ("a", "b"), (2, 2), "", None))
    '4 features instead of 3'
    """
    sizes = {
        "features": (dataset.X.shape[1], known.n_features),
        "classes": (len(dataset.classes), len(known.classes)),
        "samples": (dataset.X.shape[0], known.n_samples),
        # Labels may be spelled differently, so only the class sizes are compared.
        "samples of the classes": (sorted(dataset.counts), sorted(known.counts)),
    }
    for what, (found, expected) in sizes.items():
        if found != expected:
            return f"{found} {what} instead of {expected}"
    return "" if compute_checksum(dataset.X) == known.checksum else "different values"


def fetch_dataset(name: str, folder: str | os.PathLike[str]) -> Path:
    """Download a dataset of the experiments from openml.org, unless the folder has it.

    Raises DataError, and writes nothing, if the data differs from that of the experiments.

    Parameters
    ----------
    name : name of a dataset in CATALOGUE
    folder : where to write NAME.csv.gz; created if missing

    Returns
    -------
    path of the file
    """
    from sklearn.datasets import fetch_openml

    if name not in CATALOGUE:
        raise ArgumentError(
            f"Dataset {name!r} is unknown.{did_you_mean(name, CATALOGUE)} Use one of "
            f"{', '.join(CATALOGUE)}."
        )
    known, paths = CATALOGUE[name], [Path(folder, f"{name}{ending}") for ending in _ENDINGS]
    path = next(filter(Path.is_file, paths), paths[0])
    way_out = f"If you have a copy, save it as {path}: one row per sample, the label last."
    if path.is_file():
        return path
    if known.openml is None:
        raise DataError(f"{name} is not available from openml.org. {way_out}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its retry; a failure is reported below
            found = fetch_openml(
                data_id=known.openml, as_frame=False, parser="liac-arff", cache=False, n_retries=1
            )
    except (OSError, ValueError) as error:  # no network, or a checksum that does not match
        raise DataError(f"Could not download {name} from openml.org: {error}. {way_out}") from None
    X = np.asarray(found.data, dtype=np.float64)
    dataset = Dataset(name, X, np.asarray(found.target))
    differences = find_differences(dataset, known)
    if differences:
        raise DataError(
            f"{name} at openml.org is not the dataset of the experiments: it has {differences}. "
            f"{way_out}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    features = tuple(f"f{k}" for k in range(X.shape[1]))
    write_data(path, Data(X, dataset.y, features, np.arange(1, len(X) + 1)))
    return path
