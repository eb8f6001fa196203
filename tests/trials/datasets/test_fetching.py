"""Downloading datasets, and checking them against the catalogue."""

import os
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from polytomy.errors import ArgumentError, DataError
from polytomy.trials import CATALOGUE, Dataset, KnownDataset, load_datasets
from polytomy.trials.datasets import compute_checksum, fetch_dataset, find_differences

X = np.round(np.random.default_rng(3).normal(size=(10, 3)), 4)
LABELS = np.array(["sky", "path", "sky", "grass", "sky", "path", "sky", "grass", "path", "sky"])
KNOWN = KnownDataset("land", 3, ("SKY", "PATH", "GRASS"), (5, 3, 2), compute_checksum(X), 99)


@pytest.fixture
def openml(monkeypatch):
    """Replace openml.org by a made-up dataset; return its content and the requests."""
    has = SimpleNamespace(X=X, labels=LABELS, error=None, asked=[])

    def fetch(**options):
        has.asked.append(options["data_id"])
        if has.error is not None:
            raise has.error
        return SimpleNamespace(data=has.X, target=has.labels)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setitem(CATALOGUE, "land", KNOWN)
    return has


def test_a_downloaded_dataset_can_be_loaded(openml, tmp_path):
    path = fetch_dataset("land", tmp_path / "data")
    assert openml.asked == [99]
    assert path == tmp_path / "data" / "land.csv.gz"
    (dataset,) = load_datasets(["land"], tmp_path / "data")
    assert (dataset.X == X).all()
    assert dataset.y.tolist() == LABELS.tolist()
    assert dataset.classes == ("sky", "path", "grass")
    assert find_differences(dataset, KNOWN) == ""


def test_a_file_in_the_folder_is_not_downloaded(openml, tmp_path):
    path = fetch_dataset("land", tmp_path)
    assert fetch_dataset("land", tmp_path) == path
    assert openml.asked == [99]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X": X[:, :2]}, "not the dataset of the experiments: it has 2 features instead of 3"),
        ({"X": X[:9], "labels": LABELS[:9]}, "9 samples instead of 10"),
        (
            {"labels": np.where(LABELS == "path", "grass", LABELS)},
            "2 classes instead of 3",
        ),
        ({"X": X + 0.5}, "not the dataset of the experiments: it has different values."),
        (
            {"error": URLError("no network")},
            "Could not download land from openml.org: <urlopen error no network>.",
        ),
        (
            {"error": ValueError("md5 wrong")},
            "Could not download land from openml.org: md5 wrong.",
        ),
    ],
)
def test_wrong_data_is_not_written_and_the_error_says_what_to_do(openml, tmp_path, changes, words):
    vars(openml).update(changes)
    with pytest.raises(DataError) as caught:
        fetch_dataset("land", tmp_path / "data")
    assert words in str(caught.value)
    assert f"If you have a copy, save it as {tmp_path / 'data' / 'land.csv.gz'}" in str(
        caught.value
    )
    assert not (tmp_path / "data").exists()


def test_unknown_and_unavailable_datasets_are_errors(tmp_path):
    words = r"^Dataset 'lettre' is unknown\. Did you mean .letter.\? Use one of letter, pendigits"
    with pytest.raises(ArgumentError, match=words):
        fetch_dataset("lettre", tmp_path)
    with pytest.raises(
        DataError, match=r"urban is not available from openml\.org\. If you have a copy, save it as"
    ):
        fetch_dataset("urban", tmp_path)


def test_the_spelling_of_labels_makes_no_difference():
    numbers = np.array([{"sky": 7, "path": 1, "grass": 3}[label] for label in LABELS])
    assert find_differences(Dataset("land", X, numbers), KNOWN) == ""


@pytest.mark.data
def test_the_benchmark_datasets_are_those_of_the_experiments():
    folder = os.environ.get("POLYTOMY_DATA")
    if not folder:
        pytest.skip("needs POLYTOMY_DATA")
    for name in ("segment", "urban", "humidity"):
        (dataset,) = load_datasets([name], folder)
        assert find_differences(dataset, CATALOGUE[name]) == ""
