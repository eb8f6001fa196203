"""The commands `datasets list` and `datasets get`."""

import json

import pytest

from cli.trials.trial_cases import write_datasets
from polytomy.trials import CATALOGUE, KnownDataset, load_datasets
from polytomy.trials.datasets import compute_checksum


@pytest.fixture
def data(here):
    return write_datasets(here / "data")


def test_known_datasets_are_listed(polytomy, here):
    outcome = polytomy("datasets", "list")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["name", "samples", "features", "classes", "estimator", "source"]
    assert lines[1].split() == [
        "letter",
        "20000",
        "16",
        "26",
        *["svc", "C=50", "gamma=auto", "openml.org", "6"],
    ]
    assert [line.split()[0] for line in lines[-4:]] == ["digits", "wine", "iris", "breast-cancer"]


def test_files_in_a_folder_are_checked(polytomy, data, here):
    (data / "segment.csv").write_bytes((data / "land.csv").read_bytes())
    answer = json.loads(polytomy("datasets", "list", "--data", data, "--json").out)
    states = {row["name"]: row.get("folder") for row in answer["datasets"]}
    assert states["letter"] == "missing"
    assert states["segment"] == "2 features instead of 19"
    assert answer["others"] == ["land", "sea"]
    shown = polytomy("datasets", "list", "--data", data).out
    assert shown.splitlines()[-1] == f"also in {data}: land, sea"


def test_an_unreadable_file_does_not_stop_the_list(polytomy, data, here):
    (data / "segment.csv").write_text("x,label\n1,a\n,b\n")
    outcome = polytomy("datasets", "list", "--data", data, "--json")
    assert outcome.code == 0
    states = {row["name"]: row.get("folder") for row in json.loads(outcome.out)["datasets"]}
    assert states["segment"].startswith(f"cannot be read: {data / 'segment.csv'}, line 3")
    assert states["letter"] == "missing"


def test_an_existing_file_is_not_downloaded_and_its_differences_are_listed(
    polytomy, data, here, monkeypatch
):
    (land,) = load_datasets(["land"], data)
    known = KnownDataset("land", 2, ("a", "b", "c"), (12, 12, 12), compute_checksum(land.X), None)

    def listed():
        rows = json.loads(polytomy("datasets", "list", "--data", data, "--json").out)["datasets"]
        return next(row["folder"] for row in rows if row["name"] == "land")

    monkeypatch.setitem(CATALOGUE, "land", known)
    path = data / "land.csv"
    outcome = polytomy("datasets", "get", "land", "--data", data)
    assert outcome == (0, f"land: {path}\n", "")
    assert listed() == "the dataset of the experiments"
    monkeypatch.setitem(CATALOGUE, "land", known._replace(checksum="other"))
    assert listed() == "different values"
    found = json.loads(polytomy("datasets", "get", "land", "--data", data, "--json").out)
    assert found == [{"name": "land", "file": str(path)}]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("datasets get moon", "Dataset 'moon' is unknown"),
        ("datasets get urban", "save it as data/urban.csv.gz"),
        ("datasets list --data nowhere", "nowhere: No such file or directory"),
    ],
)
def test_an_error_is_one_line_with_exit_code_2(polytomy, data, here, line, words):
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1
