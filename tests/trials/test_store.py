"""The folder of a run: protocol, claims and damaged files."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from polytomy.errors import ArgumentError, DataError, PolytomyWarning
from polytomy.trials.store import Store, read_facts, read_manifest, read_trials

PROTOCOL = {
    "seed": 0,
    "test": 0.3,
    "pairs": [{"configuration": "tree", "method": "greedy", "scheme": "tree", "solver": "greedy"}],
}
CELL = {"configuration": "tree", "method": "greedy", "problem": "no tree"}
FACTS = {
    "name": "iris",
    "n_samples": 6,
    "n_features": 4,
    "classes": ["a", "b"],
    "counts": [3, 3],
    "fingerprint": "1234",
    "estimator": "svc",
}


def make_trial(name, repeat, **more):
    return {
        "dataset": name,
        "repeat": repeat,
        "seed": 5,
        "estimator": "svc",
        "classes": ["a", "b"],
        "n_train": 4,
        "n_test": 2,
        "n_jobs": None,
        "seconds": 0.5,
        "warnings": [],
        "schemes": {"tree": "tree {a b}"},
        "cells": [CELL | more],
    }


def test_a_written_trial_is_found_unchanged(tmp_path):
    store = Store(tmp_path, PROTOCOL)
    assert store.find("iris", 3) is None
    store.write(make_trial("iris", 3, problem="é"))
    assert store.find("iris", 3)["cells"][0]["problem"] == "é"
    assert Store(tmp_path, PROTOCOL).find("iris", 3) == store.find("iris", 3)
    assert read_trials(tmp_path) == [store.find("iris", 3)]


@pytest.mark.parametrize("name", ["a/b", "a b", "ä", "a%2Fb", "a-000"])
def test_every_dataset_name_has_its_own_file(tmp_path, name):
    store = Store(tmp_path, PROTOCOL)
    store.write(make_trial("a", 0))
    store.write(make_trial(name, 0))
    assert store.find(name, 0)["dataset"] == name
    assert store.find("a", 0)["dataset"] == "a"
    assert len(read_trials(tmp_path)) == 2


def test_the_manifest_stays_as_the_first_run_wrote_it(tmp_path):
    Store(tmp_path, PROTOCOL, {"versions": {"polytomy": "1"}})
    before = (tmp_path / "manifest.json").read_bytes()
    Store(tmp_path, PROTOCOL, {"versions": {"polytomy": "2"}})
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert read_manifest(tmp_path)["versions"] == {"polytomy": "1"}


def test_another_protocol_is_an_error_that_lists_the_changes(tmp_path):
    Store(tmp_path, PROTOCOL)
    with pytest.raises(ArgumentError) as caught:
        Store(tmp_path, PROTOCOL | {"seed": 7, "pairs": []})
    words = str(caught.value)
    assert f"The trials in {tmp_path} were run with other settings" in words
    assert "seed was 0 and is now 7" in words
    assert "other pairs of schemes and solvers" in words
    assert "Use another folder for the results, or delete this one." in words


def test_changed_data_or_another_estimator_is_an_error(tmp_path):
    store = Store(tmp_path, PROTOCOL)
    store.register(FACTS)
    store.register(FACTS)
    with pytest.raises(ArgumentError, match="Dataset iris has changed since the trials"):
        store.register(FACTS | {"fingerprint": "5"})
    with pytest.raises(ArgumentError, match="estimator on iris was svc and is now gaussian-nb"):
        store.register(FACTS | {"estimator": "gaussian-nb"})


def test_a_dataset_is_described_once(tmp_path):
    calls = []

    def describe():
        calls.append(1)
        return {"more": 2}

    store = Store(tmp_path, PROTOCOL)
    store.register(FACTS, describe)
    store.register(FACTS, describe)
    assert len(calls) == 1
    assert read_facts(tmp_path) == [FACTS | {"more": 2}]


def test_only_one_of_many_concurrent_protocols_wins(tmp_path):
    def attempt(seed):
        try:
            Store(tmp_path, PROTOCOL | {"seed": seed})
        except ArgumentError:
            return None
        return seed

    with ThreadPoolExecutor(8) as pool:
        taken = [seed for seed in pool.map(attempt, range(24)) if seed is not None]
    assert taken == [read_manifest(tmp_path)["protocol"]["seed"]]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["manifest.json"]


def test_a_protocol_written_between_check_and_write_is_noticed(tmp_path, monkeypatch):
    make_folder = Path.mkdir

    def make_slowly(path, *args, **options):
        monkeypatch.setattr(Path, "mkdir", make_folder)
        Store(tmp_path, PROTOCOL | {"seed": 1})
        make_folder(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", make_slowly)
    with pytest.raises(ArgumentError, match="seed"):
        Store(tmp_path, PROTOCOL | {"seed": 2})


def test_a_trial_has_at_most_one_claim(tmp_path):
    one, other = Store(tmp_path, PROTOCOL), Store(tmp_path, PROTOCOL)
    with one.claim("iris", 0) as is_ours:
        assert is_ours
        with other.claim("iris", 0) as is_theirs:
            assert not is_theirs
        with other.claim("iris", 1) as is_theirs:
            assert is_theirs
    with other.claim("iris", 0) as is_theirs:
        assert is_theirs


@pytest.mark.parametrize("change", [[], [{}, {"method": "voting"}], [{"scheme": "m {a b}"}]])
def test_other_pairs_are_another_protocol(tmp_path, change):
    Store(tmp_path, PROTOCOL)
    (pair,) = PROTOCOL["pairs"]
    with pytest.raises(ArgumentError, match="other settings: other pairs of schemes and solvers"):
        Store(tmp_path, PROTOCOL | {"pairs": [pair | each for each in change]})


NOT_JSON = "it is not JSON, or it is incomplete"
DAMAGED = {
    "": NOT_JSON,
    "{": NOT_JSON,
    '{"dataset": "iri': NOT_JSON,
    "[" * 100_000: NOT_JSON,
    "[1]": "dataset is missing",
    "{}": "dataset is missing",
    json.dumps(make_trial("iris", 0) | {"cells": [1]}): "it is not a trial",
    json.dumps(make_trial("iris", 0) | {"cells": 1}): "it is not a trial",
    json.dumps(make_trial("iris", 0) | {"repeat": "0"}): "it is not a trial",
    json.dumps(make_trial("iris", 0) | {"dataset": 7}): "it is not a trial",
    json.dumps(make_trial("iris", 0, method="voting")): (
        "the cells are not those of the pairs in the manifest"
    ),
    json.dumps(make_trial("wine", 0)): "it has trial 0 of wine",
    json.dumps(make_trial("iris", 7)): "it has trial 7 of iris",
}
damaged = pytest.mark.parametrize(("content", "reason"), DAMAGED.items(), ids=range(len(DAMAGED)))


@damaged
def test_a_damaged_trial_is_not_found_and_said_once(tmp_path, content, reason):
    store = Store(tmp_path, PROTOCOL)
    store.register(FACTS)
    path = tmp_path / "trials" / "iris-000.json"
    path.write_text(content)
    with pytest.warns(PolytomyWarning) as caught:
        found = [store.find("iris", 0) for _ in range(2)]
    assert found == [None, None]
    assert [str(each.message) for each in caught] == [
        f"{path} is damaged: {reason}. Running the trial again."
    ]
    store.write(make_trial("iris", 0))
    assert store.find("iris", 0)["cells"] == [CELL]


@damaged
def test_damaged_trials_are_skipped_with_a_warning(tmp_path, content, reason):
    store = Store(tmp_path, PROTOCOL)
    store.register(FACTS)
    store.write(make_trial("iris", 1))
    path = tmp_path / "trials" / "iris-000.json"
    path.write_text(content)
    with pytest.warns(PolytomyWarning) as caught:
        assert read_trials(tmp_path) == [store.find("iris", 1)]
    assert [str(each.message) for each in caught] == [
        f"{path} is damaged and was skipped: {reason}. The next run with the same options "
        "recreates it."
    ]


def test_a_damaged_description_of_a_dataset_is_an_error(tmp_path):
    store = Store(tmp_path, PROTOCOL)
    path = tmp_path / "datasets" / "iris.json"
    path.write_text("{")
    with pytest.raises(DataError) as caught:
        store.register(FACTS)
    assert str(caught.value) == (
        f"{path} is damaged: {NOT_JSON}. Delete it; the next run with the same options recreates "
        "it."
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps({"name": "a web app"}), "protocol is missing."),
        (json.dumps({"protocol": {}}), "pairs is missing."),
        ('{"protocol"', "it is not JSON, or it is incomplete."),
    ],
)
def test_a_folder_of_another_program_is_an_error_and_stays_unchanged(tmp_path, content, words):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(DataError) as caught:
        Store(tmp_path, PROTOCOL)
    damage = f"{tmp_path / 'manifest.json'} is damaged, or not a manifest of trials: {words}"
    assert damage in str(caught.value)
    assert "Use another folder for the results." in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    assert (tmp_path / "manifest.json").read_text() == content


def test_a_folder_without_a_manifest_is_an_error(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(DataError, match=r"is not a results folder: it has no manifest\.json"):
            read_manifest(place)
