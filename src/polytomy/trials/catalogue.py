"""The datasets of Mills's experiments: sizes, classes, SVM options and sources."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import NamedTuple

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
