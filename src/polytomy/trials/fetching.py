"""Download the datasets of the experiments from openml.org, and check copies on disk."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polytomy.datasets import Data, write_data
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean
from polytomy.trials.catalogue import CATALOGUE, KnownDataset
from polytomy.trials.dataset import Dataset, compute_checksum
from polytomy.trials.sources import load_datasets, path_in_folder

__all__ = ["DatasetCheck", "check_dataset", "fetch_dataset"]


class DatasetCheck(NamedTuple):
    """Whether a dataset is the one used in the experiments.

    Attributes
    ----------
    problems : differences in the number of features, classes or samples
    has_same_values : whether the checksum of the features matches
    """

    problems: list[str]
    has_same_values: bool

    def __str__(self) -> str:
        if self.problems:
            return f"not the dataset of the experiments: {'; '.join(self.problems)}"
        if not self.has_same_values:
            return "not the dataset of the experiments: same size and classes, different values"
        return "the dataset of the experiments"


def check_dataset(dataset: Dataset, known: KnownDataset) -> DatasetCheck:
    """Compare a dataset with its entry in the catalogue.

    Examples
    --------
    >>> land = Dataset("land", np.eye(4), ["a", "a", "b", "b"])
    >>> print(check_dataset(land, KnownDataset("land", 3, ("a", "b"), (2, 2), "", None)))
    not the dataset of the experiments: 4 features instead of 3
    """
    problems = []
    n_samples, n_features = dataset.X.shape
    if n_features != known.n_features:
        problems.append(f"{n_features} features instead of {known.n_features}")
    if len(dataset.classes) != len(known.classes):
        problems.append(f"{len(dataset.classes)} classes instead of {len(known.classes)}")
    if n_samples != known.n_samples:
        problems.append(f"{n_samples} samples instead of {known.n_samples}")
    elif sorted(dataset.counts) != sorted(known.counts):
        # Labels may be spelled differently, so only the class sizes are compared.
        problems.append(
            f"class sizes {', '.join(map(str, sorted(dataset.counts)))} instead of "
            f"{', '.join(map(str, sorted(known.counts)))}"
        )
    return DatasetCheck(problems, not problems and compute_checksum(dataset.X) == known.checksum)


def fetch_dataset(
    name: str, folder: str | os.PathLike[str], *, accept_other_values: bool = False
) -> tuple[Path, DatasetCheck]:
    """Download a dataset of the experiments from openml.org, unless the folder has it.

    Raises DataError if the data differs from that of the experiments. Such data is not written,
    and a file that was already there is left alone.

    Parameters
    ----------
    name : name of a dataset in CATALOGUE
    folder : where to write NAME.csv.gz; created if missing
    accept_other_values : accept data of the right size and classes whatever its checksum
        Some copies of a dataset have more or fewer digits.

    Returns
    -------
    path : path of the file
    check : whether it is the dataset of the experiments
    """
    if name not in CATALOGUE:
        raise ArgumentError(
            f"Dataset {name!r} is unknown.{did_you_mean(name, CATALOGUE)} Use one of "
            f"{', '.join(CATALOGUE)}."
        )
    known, home = CATALOGUE[name], Path(folder)
    path = path_in_folder(home, name)
    way_out = f"If you have a copy, save it as {path}: one row per sample, the label last."
    if path.is_file():
        check = check_dataset(load_datasets([name], home)[0], known)
        _raise_if_different(
            f"{path} is", check, "Move it away to download it.", accept_other_values
        )
        return path, check
    if known.openml is None:
        raise DataError(f"{name} is not available from openml.org. {way_out}")
    X, labels = _download(known, way_out)
    dataset = Dataset(name, X, labels)
    check = check_dataset(dataset, known)
    _raise_if_different(f"{name} at openml.org is", check, way_out, accept_other_values)
    home.mkdir(parents=True, exist_ok=True)
    features = tuple(f"f{k}" for k in range(X.shape[1]))
    write_data(path, Data(X, dataset.y, features, np.arange(1, len(X) + 1)))
    return path, check


def _raise_if_different(
    subject: str, check: DatasetCheck, way_out: str, accept_other_values: bool
) -> None:
    if check.problems:
        raise DataError(f"{subject} {check}. {way_out}")
    if not check.has_same_values and not accept_other_values:
        accept = Argument("accept_other_values", True)
        raise DataError(f"{subject} {check}. {way_out} Or accept it with ", accept, ".")


def _download(known: KnownDataset, way_out: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its retry; a failure is reported below
            found = fetch_openml(
                data_id=known.openml, as_frame=False, parser="liac-arff", cache=False, n_retries=1
            )
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"Could not download {known.name} from openml.org: {reason}. {way_out}"
        ) from None
    except ValueError as error:  # their checksum does not match
        raise DataError(
            f"The download of {known.name} from openml.org is damaged: {error}. {way_out}"
        ) from None
    return np.asarray(found.data, dtype=np.float64), np.asarray(found.target)
