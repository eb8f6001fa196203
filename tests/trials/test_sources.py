"""Datasets of trials: where they come from, how their classes are ordered, what is refused."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from polytomy.errors import ArgumentError, DataError
from polytomy.trials import Dataset, load_datasets
from polytomy.trials.sources import checksum_of

LABELS = np.array(["oak", "corn", "pine", "corn", "oak", "pine"])


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two datasets, one of them with its classes in an order of its own."""
    lines = [f"{k},{k * k},{label}" for k, label in enumerate(LABELS)]
    text = "\n".join(["f0,f1,label", *lines, ""])
    with gzip.open(tmp_path / "land.csv.gz", "wt") as file:
        file.write(text)
    (tmp_path / "field.csv").write_text(text)
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "pictures.csv").mkdir()
    orders = {"_note": "why", "land": ["pine", "oak", "corn"]}
    (tmp_path / "class_order.json").write_text(json.dumps(orders))
    return tmp_path


def test_a_folder_has_its_files_by_name_and_the_order_it_says(folder):
    field, land = load_datasets(folder=folder)
    assert (field.name, land.name) == ("field", "land")
    assert field.classes == ("corn", "oak", "pine")
    assert land.classes == ("pine", "oak", "corn")
    assert land.X.tolist() == [[k, k * k] for k in range(6)]


def test_a_folder_may_have_sparse_data(folder):
    lines = [f"{k % 2} {k + 1}:{k}.5 9:1" for k in range(6)]
    (folder / "words.svmlight").write_text("\n".join([*lines, ""]))
    assert [each.name for each in load_datasets(folder=folder)] == ["field", "land", "words"]
    (words,) = load_datasets(["words"], folder)
    assert words.classes == (0, 1)
    assert words.X[[0], [0]] == 0.5
    assert words.X.shape == (6, 9)
    # Machines of scikit-learn refuse longer ones.
    assert words.X.indices.dtype == words.X.indptr.dtype == np.int32


def test_only_the_sets_of_the_experiments_are_taken_where_there_are_some(folder):
    (folder / "segment.csv").write_bytes((folder / "field.csv").read_bytes())
    assert [each.name for each in load_datasets(folder=folder)] == ["segment"]
    assert [each.name for each in load_datasets(["land"], folder)] == ["land"]


def test_a_name_given_twice_counts_once(folder):
    assert [each.name for each in load_datasets(["land", "field", "land"], folder)] == [
        "land",
        "field",
    ]


def test_without_a_folder_they_are_those_of_scikit_learn():
    shapes = {each.name: (*each.X.shape, len(each.classes)) for each in load_datasets()}
    assert shapes == {
        "digits": (1797, 64, 10),
        "wine": (178, 13, 3),
        "iris": (150, 4, 3),
        "breast-cancer": (569, 30, 2),
    }


@given(st.permutations(["oak", "corn", "pine"]))
def test_codes_are_positions_in_the_classes(order):
    dataset = Dataset("land", np.eye(6), LABELS, [label.upper() for label in order])
    assert dataset.classes == tuple(order)
    assert [dataset.classes[code] for code in dataset.codes] == LABELS.tolist()
    assert dataset.counts == [2, 2, 2]


def test_an_order_that_lacks_a_class_is_not_used():
    assert Dataset("land", np.eye(6), LABELS, ["oak", "pine"]).classes == ("corn", "oak", "pine")


def test_a_fingerprint_tells_samples_and_labels_apart():
    X = np.arange(12.0).reshape(6, 2)
    changed = X.copy()
    changed[3, 1] += 1
    datasets = [
        Dataset("a", X, LABELS),
        Dataset("a", changed, LABELS),
        Dataset("a", X, LABELS[::-1]),
        Dataset("a", csr_array(X), LABELS),
    ]
    assert len({each.fingerprint for each in datasets}) == len(datasets)
    assert Dataset("b", X.copy(), LABELS.copy()).fingerprint == datasets[0].fingerprint


@given(st.permutations(range(5)))
def test_a_checksum_does_not_depend_on_the_order_of_samples(order):
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert checksum_of(X[list(order)]) == checksum_of(X)
    assert checksum_of(X[:, ::-1]) != checksum_of(X)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((["lnad"], "here"), ArgumentError, "has no dataset 'lnad'; it has field, land."),
        ((["lnad"], "here"), ArgumentError, "Did you mean 'land'?"),
        ((["sat"], "here"), ArgumentError, "`polytomy datasets get` may have it."),
        ((["irs"],), ArgumentError, "Did you mean 'iris'?"),
        ((["letter"],), ArgumentError, "Give the folder that has it (--data)"),
        (([],), ArgumentError, "name a dataset or more"),
        (({"a": 3},), ArgumentError, "datasets['a'] is no pair (X, y)"),
        (({".a": (np.eye(4), [0, 0, 1, 1])},), ArgumentError, "'.a' cannot be a dataset's name"),
        (({"a": (np.eye(4), [0, 1])},), DataError, "X has shape (4, 4) and y (2,)"),
        (({"a": (np.eye(4), [0, 1, 2, 3])},), DataError, "4 samples have 4 different labels"),
        (({"a": (np.eye(4), [0, 0, 0, 0])},), DataError, "there must be two classes or more"),
    ],
)
def test_what_cannot_be_had_is_refused_with_a_reason(folder, arguments, error, words):
    given_arguments = [folder if each == "here" else each for each in arguments]
    with pytest.raises(error) as caught:
        load_datasets(*given_arguments)
    assert words in str(caught.value)


def test_an_empty_folder_and_a_bad_order_are_refused(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no datasets; put files NAME\.csv\.gz there"):
        load_datasets(folder=tmp_path / "empty")
    (folder / "class_order.json").write_text("[1")
    with pytest.raises(DataError, match="it must be a JSON object of names"):
        load_datasets(folder=folder)
