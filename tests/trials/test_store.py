"""The folder of a run: what is refused, what is shared, and that nothing is half there."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from polytomy.errors import ArgumentError, DataError
from polytomy.trials.store import Store, read_all, read_manifest

PROTOCOL = {
    "seed": 0,
    "test": 0.3,
    "pairs": [{"configuration": "tree", "method": "greedy", "scheme": "tree", "solver": "greedy"}],
}
FACTS = {"name": "iris", "fingerprint": "1234", "estimator": "svc"}


def test_a_trial_is_found_as_it_was_written(tmp_path):
    store = Store(tmp_path, PROTOCOL)
    assert store.find("iris", 3) is None
    store.write({"dataset": "iris", "repeat": 3, "cells": [1.5, None, "é"]})
    assert store.find("iris", 3)["cells"] == [1.5, None, "é"]
    assert Store(tmp_path, PROTOCOL).find("iris", 3) == store.find("iris", 3)
    assert read_all(tmp_path, "trials") == [store.find("iris", 3)]


@pytest.mark.parametrize("name", ["a/b", "a b", "ä", "a%2Fb", "a-000"])
def test_any_name_has_a_file_of_its_own(tmp_path, name):
    store = Store(tmp_path, PROTOCOL)
    store.write({"dataset": "a", "repeat": 0})
    store.write({"dataset": name, "repeat": 0})
    assert store.find(name, 0)["dataset"] == name
    assert store.find("a", 0)["dataset"] == "a"
    assert len(read_all(tmp_path, "trials")) == 2


def test_the_manifest_has_the_protocol_and_stays_as_the_first_run_wrote_it(tmp_path):
    Store(tmp_path, PROTOCOL, {"versions": {"polytomy": "1"}})
    before = (tmp_path / "manifest.json").read_bytes()
    Store(tmp_path, PROTOCOL, {"versions": {"polytomy": "2"}})
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert read_manifest(tmp_path)["versions"] == {"polytomy": "1"}


def test_another_protocol_is_refused_with_the_way_out(tmp_path):
    Store(tmp_path, PROTOCOL)
    with pytest.raises(ArgumentError) as caught:
        Store(tmp_path, PROTOCOL | {"seed": 7, "pairs": []})
    words = str(caught.value)
    assert f"{tmp_path} has trials of another protocol" in words
    assert "seed is 0 there and 7 here" in words
    assert "pairs is tree, greedy there" in words
    assert "Give another folder for the results, or delete this one." in words


def test_other_data_or_another_estimator_of_the_same_name_is_refused(tmp_path):
    store = Store(tmp_path, PROTOCOL)
    store.register(FACTS)
    store.register(FACTS)
    with pytest.raises(ArgumentError, match="dataset iris is not the one that the trials"):
        store.register(FACTS | {"fingerprint": "5"})
    with pytest.raises(ArgumentError, match="estimator on iris is svc there and gaussian-nb here"):
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
    assert read_all(tmp_path, "datasets") == [FACTS | {"more": 2}]


def test_only_one_of_many_protocols_that_come_at_once_is_taken(tmp_path):
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


def test_a_trial_is_claimed_by_one_at_a_time(tmp_path):
    one, other = Store(tmp_path, PROTOCOL), Store(tmp_path, PROTOCOL)
    with one.claim("iris", 0) as is_ours:
        assert is_ours
        with other.claim("iris", 0) as is_theirs:
            assert not is_theirs
        with other.claim("iris", 1) as is_theirs:
            assert is_theirs
    with other.claim("iris", 0) as is_theirs:
        assert is_theirs


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"dataset": "iri'])
def test_a_damaged_file_is_named_with_the_way_out(tmp_path, content):
    store = Store(tmp_path, PROTOCOL)
    path = tmp_path / "trials" / "iris-000.json"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        store.find("iris", 0)
    assert f"{path} is damaged. Delete it, and what it held will be run again." in str(caught.value)


def test_a_manifest_of_another_format_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 99, "protocol": {}}))
    with pytest.raises(DataError, match="is of another version of polytomy"):
        Store(tmp_path, PROTOCOL)
