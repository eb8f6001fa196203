"""Getting datasets: what is asked of openml.org, what is checked, and what is done without it."""

import os
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from polytomy.errors import ArgumentError, DataError
from polytomy.trials import CATALOGUE, Dataset, KnownDataset, load_datasets
from polytomy.trials.fetching import fetch_dataset, judge_dataset
from polytomy.trials.sources import checksum_of

X = np.round(np.random.default_rng(3).normal(size=(10, 3)), 4)
LABELS = np.array(["sky", "path", "sky", "grass", "sky", "path", "sky", "grass", "path", "sky"])
KNOWN = KnownDataset("land", 3, ("SKY", "PATH", "GRASS"), (5, 3, 2), checksum_of(X), 99)


@pytest.fixture
def openml(monkeypatch):
    """Let openml.org have a made dataset; return what it has and what it was asked."""
    has = SimpleNamespace(X=X, labels=LABELS, error=None, asked=[])

    def fetch(**options):
        has.asked.append(options["data_id"])
        if has.error is not None:
            raise has.error
        return SimpleNamespace(data=has.X, target=has.labels)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setitem(CATALOGUE, "land", KNOWN)
    return has


def test_a_dataset_is_written_so_that_trials_can_read_it(openml, tmp_path):
    path, judgement = fetch_dataset("land", tmp_path / "data")
    assert openml.asked == [99]
    assert path == tmp_path / "data" / "land.csv.gz"
    assert str(judgement) == "that of the experiments"
    (dataset,) = load_datasets(["land"], tmp_path / "data")
    assert (dataset.X == X).all()
    assert dataset.y.tolist() == LABELS.tolist()
    assert dataset.classes == ("sky", "path", "grass")


def test_what_is_there_is_checked_and_not_fetched(openml, tmp_path):
    fetch_dataset("land", tmp_path)
    openml.error = URLError("no network")
    path, judgement = fetch_dataset("land", tmp_path)
    assert openml.asked == [99]
    assert not judgement.problems
    # A file that somebody put there.
    path.unlink()
    (tmp_path / "land.csv").write_text("a,b,label\n1,2,x\n1,3,x\n2,1,y\n2,2,y\n")
    with pytest.raises(DataError) as caught:
        fetch_dataset("land", tmp_path, accept_other_values=True)
    assert str(caught.value) == (
        f"{tmp_path / 'land.csv'} is not that of the experiments: 2 features, not 3; 2 classes, "
        "not 3; 4 samples, not 10. Move it away to get it again."
    )
    assert [each.name for each in tmp_path.iterdir()] == ["land.csv"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X": X[:, :2]}, "not that of the experiments: 2 features, not 3"),
        ({"X": X[:9], "labels": LABELS[:9]}, "9 samples, not 10"),
        (
            {"labels": np.where(LABELS == "path", "grass", LABELS)},
            "2 classes, not 3; classes of 5, 5 samples, not of 2, 3, 5",
        ),
        ({"error": URLError("no network")}, "land cannot be had from openml.org: no network."),
        ({"error": ValueError("md5 wrong")}, "land came damaged from openml.org: md5 wrong."),
    ],
)
def test_what_is_not_right_is_not_written_and_the_way_out_is_told(openml, tmp_path, changes, words):
    vars(openml).update(changes)
    with pytest.raises(DataError) as caught:
        fetch_dataset("land", tmp_path / "data")
    assert words in str(caught.value)
    assert f"If you have it, put it at {tmp_path / 'data' / 'land.csv.gz'}" in str(caught.value)
    assert not (tmp_path / "data").exists()


def test_other_values_of_the_right_size_are_taken_only_if_that_is_asked_for(openml, tmp_path):
    openml.X = X + 0.5
    words = "not that of the experiments: size and classes are the same, but not the values"
    with pytest.raises(DataError) as caught:
        fetch_dataset("land", tmp_path / "data")
    assert f"openml.org has a land that is {words}. If you have it" in str(caught.value)
    assert "Or accept it (--accept-other-values)." in str(caught.value)
    assert not (tmp_path / "data").exists()
    path, judgement = fetch_dataset("land", tmp_path / "data", accept_other_values=True)
    assert str(judgement) == words
    assert (load_datasets(["land"], tmp_path / "data")[0].X == X + 0.5).all()
    # Now it is there, which makes it no better.
    with pytest.raises(DataError, match=r"land\.csv\.gz is not that of the experiments"):
        fetch_dataset("land", tmp_path / "data")
    assert path.is_file()


def test_unknown_names_and_sets_that_are_nowhere_are_told(tmp_path):
    with pytest.raises(ArgumentError, match="'lettre' is not known; there are letter, pendigits"):
        fetch_dataset("lettre", tmp_path)
    with pytest.raises(DataError, match=r"urban is not at openml\.org\. If you have it, put it at"):
        fetch_dataset("urban", tmp_path)


def test_labels_written_otherwise_make_no_difference():
    numbers = np.array([{"sky": 7, "path": 1, "grass": 3}[label] for label in LABELS])
    assert str(judge_dataset(Dataset("land", X, numbers), KNOWN)) == "that of the experiments"


def test_the_catalogue_has_the_sizes_of_the_published_table():
    # Mills 2019, table of datasets; usps as it is published elsewhere, where the table has 9292.
    published = {
        "letter": (16, 26, 20000),
        "pendigits": (16, 10, 10992),
        "usps": (256, 10, 9298),
        "segment": (19, 7, 2310),
        "sat": (36, 6, 6435),
        "urban": (147, 9, 675),
        "shuttle": (9, 7, 58000),
        "humidity": (7, 8, 8600),
    }
    for name, sizes in published.items():
        known = CATALOGUE[name]
        assert (known.n_features, len(known.classes), known.n_samples) == sizes
        assert len(known.classes) == len(known.counts)
    assert CATALOGUE["shuttle"].counts == (45586, 50, 171, 8903, 3267, 10, 13)


@pytest.mark.data
def test_the_folder_of_the_benchmarks_has_the_sets_of_the_experiments():
    folder = os.environ.get("POLYTOMY_DATA")
    if not folder:
        pytest.skip("POLYTOMY_DATA names no folder of datasets")
    for name in ("segment", "urban", "humidity"):
        (dataset,) = load_datasets([name], folder)
        assert str(judge_dataset(dataset, CATALOGUE[name])) == "that of the experiments"
