"""Getting the datasets of the experiments from openml.org, and judging what is there."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polytomy.datasets import Data, write_data
from polytomy.errors import ArgumentError, DataError
from polytomy.trials.catalogue import CATALOGUE, KnownDataset
from polytomy.trials.sources import Dataset, checksum_of, load_datasets, path_in_folder

__all__ = ["Judgement", "fetch_dataset", "judge_dataset"]


class Judgement(NamedTuple):
    """Whether a dataset is the one of the experiments.

    Attributes
    ----------
    problems : what is not as it must be: features, classes, number of samples
    has_same_values : whether the features have the checksum that is known
    """

    problems: list[str]
    has_same_values: bool

    def __str__(self) -> str:
        if self.problems:
            return f"not that of the experiments: {'; '.join(self.problems)}"
        if not self.has_same_values:
            return "not that of the experiments: size and classes are the same, but not the values"
        return "that of the experiments"


def judge_dataset(dataset: Dataset, known: KnownDataset) -> Judgement:
    """Compare a dataset with what is known of the one that the experiments used.

    Examples
    --------
    >>> land = Dataset("land", np.eye(4), ["a", "a", "b", "b"])
    >>> print(judge_dataset(land, KnownDataset("land", 3, ("a", "b"), (2, 2), "", None)))
    not that of the experiments: 4 features, not 3
    """
    problems = []
    n_samples, n_features = dataset.X.shape
    if n_features != known.n_features:
        problems.append(f"{n_features} features, not {known.n_features}")
    if len(dataset.classes) != len(known.classes):
        problems.append(f"{len(dataset.classes)} classes, not {len(known.classes)}")
    if n_samples != known.n_samples:
        problems.append(f"{n_samples} samples, not {known.n_samples}")
    elif sorted(dataset.counts) != sorted(known.counts):
        # Labels may be written otherwise, so only the sizes of the classes are compared.
        problems.append(
            f"classes of {', '.join(map(str, sorted(dataset.counts)))} samples, not of "
            f"{', '.join(map(str, sorted(known.counts)))}"
        )
    return Judgement(problems, not problems and checksum_of(dataset.X) == known.checksum)


def fetch_dataset(
    name: str, folder: str | os.PathLike[str], *, accept_other_values: bool = False
) -> tuple[Path, Judgement]:
    """Get a dataset of the experiments from openml.org, unless the folder has it.

    What is not the dataset of the experiments is an error. If it was fetched it is not written; a
    file that was there stays as it is.

    Parameters
    ----------
    name : of a dataset in CATALOGUE
    folder : where NAME.csv.gz will be; made if it is not there
    accept_other_values : whether the size and the classes are enough, whatever the checksum
        Some publish a dataset with more or fewer digits.

    Returns
    -------
    path : of its file
    judgement : on what is in it
    """
    if name not in CATALOGUE:
        raise ArgumentError(f"{name!r} is not known; there are {', '.join(CATALOGUE)}")
    known, home = CATALOGUE[name], Path(folder)
    path = path_in_folder(home, name)
    way_out = f"If you have it, put it at {path}: a line for each sample, its class last."
    if path.is_file():
        judgement = judge_dataset(load_datasets([name], home)[0], known)
        _check(f"{path} is", judgement, "Move it away to get it again.", accept_other_values)
        return path, judgement
    if known.openml is None:
        raise DataError(f"{name} is not at openml.org. {way_out}")
    X, labels = _download(known, way_out)
    dataset = Dataset(name, X, labels, known.classes)
    judgement = judge_dataset(dataset, known)
    _check(f"openml.org has a {name} that is", judgement, way_out, accept_other_values)
    home.mkdir(parents=True, exist_ok=True)
    features = tuple(f"f{k}" for k in range(X.shape[1]))
    write_data(path, Data(X, dataset.y, features, np.arange(1, len(X) + 1)))
    return path, judgement


def _check(what: str, judgement: Judgement, way_out: str, accept_other_values: bool) -> None:
    if judgement.problems:
        raise DataError(f"{what} {judgement}. {way_out}")
    if not judgement.has_same_values and not accept_other_values:
        raise DataError(f"{what} {judgement}. {way_out} Or accept it (--accept-other-values).")


def _download(known: KnownDataset, way_out: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it tries again; we tell if that fails
            found = fetch_openml(
                data_id=known.openml, as_frame=False, parser="liac-arff", cache=False, n_retries=1
            )
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{known.name} cannot be had from openml.org: {reason}. {way_out}"
        ) from None
    except ValueError as error:  # a checksum of theirs that does not fit
        raise DataError(f"{known.name} came damaged from openml.org: {error}. {way_out}") from None
    return np.asarray(found.data, dtype=np.float64), np.asarray(found.target)
