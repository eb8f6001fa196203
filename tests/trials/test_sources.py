"""Datasets of trials: where they come from and how their classes are ordered."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from polytomy.errors import ArgumentError, DataError
from polytomy.trials import Dataset, load_datasets
from polytomy.trials.sources import compute_checksum

LABELS = np.array(["oak", "corn", "pine", "corn", "oak", "pine"])


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two datasets, one with its own order of classes."""
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


def test_datasets_of_a_folder_are_sorted_and_class_order_json_orders_classes(folder):
    field, land = load_datasets(folder=folder)
    assert (field.name, land.name) == ("field", "land")
    assert field.classes == ("corn", "oak", "pine")
    assert land.classes == ("pine", "oak", "corn")
    assert land.X.tolist() == [[k, k * k] for k in range(6)]


def test_sparse_files_are_read_as_sparse_matrices(folder):
    lines = [f"{k % 2} {k + 1}:{k}.5 9:1" for k in range(6)]
    (folder / "words.svmlight").write_text("\n".join([*lines, ""]))
    assert [each.name for each in load_datasets(folder=folder)] == ["field", "land", "words"]
    (words,) = load_datasets(["words"], folder)
    assert words.classes == (0, 1)
    assert words.X[[0], [0]] == 0.5
    assert words.X.shape == (6, 9)
    # Some estimators of scikit-learn refuse 64-bit indices.
    assert words.X.indices.dtype == words.X.indptr.dtype == np.int32


def test_datasets_of_the_experiments_are_preferred_if_no_names_are_given(folder):
    (folder / "segment.csv").write_bytes((folder / "field.csv").read_bytes())
    assert [each.name for each in load_datasets(folder=folder)] == ["segment"]
    assert [each.name for each in load_datasets(["land"], folder)] == ["land"]


def test_repeated_names_count_once(folder):
    assert [each.name for each in load_datasets(["land", "field", "land"], folder)] == [
        "land",
        "field",
    ]


def test_without_a_folder_the_datasets_of_scikit_learn_are_loaded():
    shapes = {each.name: (*each.X.shape, len(each.classes)) for each in load_datasets()}
    assert shapes == {
        "digits": (1797, 64, 10),
        "wine": (178, 13, 3),
        "iris": (150, 4, 3),
        "breast-cancer": (569, 30, 2),
    }


@given(st.permutations(["oak", "corn", "pine"]))
def test_class_indices_point_into_the_classes(order):
    dataset = Dataset("land", np.eye(6), LABELS, [label.upper() for label in order])
    assert dataset.classes == tuple(order)
    assert [dataset.classes[index] for index in dataset.class_indices] == LABELS.tolist()
    assert dataset.counts == [2, 2, 2]


def test_an_order_that_lacks_a_class_is_ignored():
    assert Dataset("land", np.eye(6), LABELS, ["oak", "pine"]).classes == ("corn", "oak", "pine")


def test_the_fingerprint_depends_on_samples_and_labels_only():
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
def test_the_checksum_does_not_depend_on_the_order_of_samples(order):
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert compute_checksum(X[list(order)]) == compute_checksum(X)
    assert compute_checksum(X[:, ::-1]) != compute_checksum(X)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((["lnad"], "here"), ArgumentError, "has no dataset 'lnad'; it has field, land."),
        ((["lnad"], "here"), ArgumentError, "Did you mean 'land'?"),
        ((["sat"], "here"), ArgumentError, "Try `polytomy datasets get sat`."),
        ((["irs"],), ArgumentError, "Did you mean 'iris'?"),
        ((["letter"],), ArgumentError, "Set data to the folder that has it."),
        (([],), ArgumentError, "datasets is empty. Name at least one dataset."),
        (({"a": 3},), ArgumentError, "datasets['a'] must be a pair (X, y)."),
        (({".a": (np.eye(4), [0, 0, 1, 1])},), ArgumentError, "'.a' cannot name a dataset."),
        (({"a": (np.eye(4), [0, 1])},), DataError, "X has shape (4, 4) and y has shape (2,)"),
        (({"a": (np.eye(4), [0, 1, 2, 3])},), DataError, "4 samples have 4 distinct labels"),
        (({"a": (np.eye(4), [0, 0, 0, 0])},), DataError, "There must be at least two classes"),
    ],
)
def test_invalid_datasets_are_errors_with_a_reason(folder, arguments, error, words):
    given_arguments = [folder if each == "here" else each for each in arguments]
    with pytest.raises(error) as caught:
        load_datasets(*given_arguments)
    assert words in str(caught.value)


def test_an_empty_folder_and_an_invalid_class_order_are_errors(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no datasets. Save them there as NAME\.csv\.gz"):
        load_datasets(folder=tmp_path / "empty")
    (folder / "class_order.json").write_text("[1")
    with pytest.raises(DataError, match="It must be a JSON object from dataset names"):
        load_datasets(folder=folder)
