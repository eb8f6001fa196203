"""Datasets of trials: where they come from and how their classes are ordered."""

import gzip
import json

import numpy as np
import pytest

from polytomy.errors import ArgumentError, DataError
from polytomy.trials import load_datasets

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


@pytest.fixture
def only_data(folder):
    """Return a folder without files that are not data."""
    (folder / "notes.txt").unlink()
    return folder


def test_datasets_of_a_folder_are_sorted_and_class_order_json_orders_classes(only_data):
    field, land = load_datasets(folder=only_data)
    assert (field.name, land.name) == ("field", "land")
    assert field.classes == ("corn", "oak", "pine")
    assert land.classes == ("pine", "oak", "corn")
    assert land.X.tolist() == [[k, k * k] for k in range(6)]


def test_sparse_files_are_read_as_sparse_matrices(only_data):
    folder = only_data
    lines = [f"{k % 2} {k + 1}:{k}.5 9:1" for k in range(6)]
    (folder / "words.svmlight").write_text("\n".join([*lines, ""]))
    assert [each.name for each in load_datasets(folder=folder)] == ["field", "land", "words"]
    (words,) = load_datasets(["words"], folder)
    assert words.classes == (0, 1)
    assert words.X[[0], [0]] == 0.5
    assert words.X.shape == (6, 9)
    # Some estimators of scikit-learn refuse 64-bit indices.
    assert words.X.indices.dtype == words.X.indptr.dtype == np.int32


def test_all_datasets_of_a_folder_are_loaded_those_of_the_paper_first(only_data):
    (only_data / "segment.csv").write_bytes((only_data / "field.csv").read_bytes())
    assert [each.name for each in load_datasets(folder=only_data)] == ["segment", "field", "land"]
    assert [each.name for each in load_datasets(["land"], only_data)] == ["land"]


def test_only_datasets_of_the_paper_are_loaded_on_request(folder):
    with pytest.raises(DataError, match="has no dataset of the paper; it has"):
        load_datasets(folder=folder, paper=True)
    (folder / "segment.csv").write_bytes((folder / "field.csv").read_bytes())
    (segment,) = load_datasets(folder=folder, paper=True)
    assert segment.name == "segment"


def test_the_first_format_of_a_dataset_is_read_and_other_files_are_ignored(folder):
    (folder / "land.csv").write_text("x,kind\n1,a\n")
    assert [each.name for each in load_datasets(folder=folder)] == ["field", "land"]


def test_a_dataset_that_cannot_be_used_is_an_error(folder):
    (folder / "broken.csv").write_text("x,kind\n1,a\n2\n")
    with pytest.raises(DataError, match=r"broken\.csv, line 3: expected 2 fields; found 1"):
        load_datasets(folder=folder)


def test_a_given_order_replaces_that_of_the_folder(only_data):
    order = ["oak", "pine", "corn"]
    for given_order in (order, {"land": order}):
        (land,) = load_datasets(["land"], only_data, class_order=given_order)
        assert land.classes == tuple(order)
    (array,) = load_datasets({"a": (np.eye(6), LABELS)}, class_order={"a": order})
    assert array.classes == tuple(order)
    (iris,) = load_datasets("iris", class_order=["virginica", "setosa", "versicolor"])
    assert iris.classes == ("virginica", "setosa", "versicolor")


def test_a_class_order_json_with_other_labels_is_an_error(only_data):
    (only_data / "class_order.json").write_text('{"land": ["pine", "oak", "maize"]}')
    with pytest.raises(DataError, match="land: class_order does not have 'corn'"):
        load_datasets(["land"], only_data)


def test_labels_of_a_dataset_of_the_paper_are_ordered_as_in_the_paper(only_data):
    names = ["BRICKFACE", "SKY", "FOLIAGE", "CEMENT", "WINDOW", "PATH", "GRASS"]
    lines = [f"{k},{names[k % 7].lower()}" for k in range(14)]
    (only_data / "segment.csv").write_text("\n".join(["x,label", *lines, ""]))
    (segment,) = load_datasets(["segment"], only_data)
    assert segment.classes == tuple(name.lower() for name in names)


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


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((["lnad"], "here"), ArgumentError, "has no dataset 'lnad'; it has field, land."),
        ((["lnad"], "here"), ArgumentError, 'Did you mean "land"?'),
        ((["sat"], "here"), ArgumentError, "Try `polytomy datasets get sat`."),
        ((["irs"],), ArgumentError, 'Did you mean "iris"?'),
        ((["letter"],), ArgumentError, "Set data to the folder that has it."),
        (
            (["land"], "here", {"paper": True}),
            ArgumentError,
            "Use either datasets or paper=True, not both.",
        ),
        ((None, None, {"paper": True}), ArgumentError, "paper=True needs the folder of the"),
        (
            (["land"], "here", {"class_order": {"lnad": ["a"]}}),
            ArgumentError,
            "class_order has 'lnad', which is not one of the datasets land.",
        ),
        (([],), ArgumentError, "datasets is empty. Name at least one dataset."),
        (({"a": 3},), ArgumentError, "datasets['a'] must be a pair (X, y)."),
        (({".a": (np.eye(4), [0, 0, 1, 1])},), ArgumentError, "'.a' cannot name a dataset."),
        (({"a": (np.eye(4), [0, 1])},), DataError, "X has shape (4, 4) and y has shape (2,)"),
        (({"a": (np.eye(4), [0, 1, 2, 3])},), DataError, "4 samples have 4 distinct labels"),
        (({"a": (np.eye(4), [0, 0, 0, 0])},), DataError, "There must be at least two classes"),
    ],
)
def test_invalid_datasets_are_errors_with_a_reason(folder, arguments, error, words):
    options = arguments[2] if len(arguments) > 2 else {}
    given_arguments = [folder if each == "here" else each for each in arguments[:2]]
    with pytest.raises(error) as caught:
        load_datasets(*given_arguments, **options)
    assert words in str(caught.value)


def test_an_empty_folder_and_an_invalid_class_order_are_errors(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no datasets. Save them there as NAME\.csv\.gz"):
        load_datasets(folder=tmp_path / "empty")
    (folder / "class_order.json").write_text("[1")
    with pytest.raises(DataError, match="It must be a JSON object from dataset names"):
        load_datasets(folder=folder)
