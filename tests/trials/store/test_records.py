"""What the files of a results folder must contain; every other value is damage with its place."""

import copy
import json
import random
import warnings
from urllib.parse import quote

import pytest
from hypothesis import settings

from polytomy.errors import DataError, PolytomyWarning
from polytomy.report import write_report
from polytomy.trials import MEASURES, Results, write_tables
from polytomy.trials.store import check_facts, check_manifest, check_trial
from report.cases import PAIRS, make_record, make_results, write_folder

RESULTS = make_results(repeats=2)
NAME = "sat"
DELETED = object()
VALUES = ["x", "", "\ud800", None, -1, 0.5, 2, 1e300, 10**400, True, [], {}, [[1]], DELETED]
FILES = {
    f"trials/{quote(NAME)}-001.json": RESULTS.records[1],
    f"datasets/{quote(NAME)}.json": RESULTS.facts[NAME],
    "manifest.json": RESULTS.manifest | {"format": 1},
}


def places_in(value, place=()):
    """Yield the place of each value inside another."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        yield (*place, key)
        if isinstance(each, dict | list):
            yield from places_in(each, (*place, key))


def changed(content, place, value):
    """Return a copy with another value in a place, or without it."""
    new = copy.deepcopy(content)
    inner = new
    for key in place[:-1]:
        inner = inner[key]
    if value is DELETED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return new


def use_everything(results, folder):
    results.rows()
    results.frame()
    results.problems()
    for measure in MEASURES.values():
        results.table(measure.name)
        results.rank(measure.name)
        if measure.best is not None:
            results.compare(measure.name)
    write_tables(results, folder)
    write_report(results, folder / "report.html")


@pytest.mark.parametrize("file", FILES)
def test_any_change_of_a_file_is_harmless_or_damage(file, tmp_path):
    write_folder(tmp_path, RESULTS)
    path, content = tmp_path / file, FILES[file]
    cases = [(place, value) for place in places_in(content) for value in VALUES]
    n_harmless = 0
    n_cases = min(2 * settings.default.max_examples, len(cases))
    for place, value in random.Random(14).sample(cases, n_cases):
        path.write_text(json.dumps(changed(content, place, value)))
        results = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                results = Results.read(tmp_path)
            except DataError as error:
                failure = str(error)
        if results is None:
            assert str(path) in failure, (place, value)
            continue
        texts = [str(each.message) for each in caught]
        assert all("is damaged and was skipped: " in text for text in texts), (place, value)
        if path.parent.name == "trials":
            assert all(text.startswith(str(path)) for text in texts), (place, value)
        if not texts:
            n_harmless += 1
            use_everything(results, tmp_path)
    # Most values are of the wrong type.
    assert 0 < n_harmless < n_cases / 2


def test_tables_and_report_of_a_damaged_folder_are_those_of_the_rest(tmp_path):
    write_folder(tmp_path, RESULTS)
    (tmp_path / "trials" / "sat-001.json").unlink()
    use_everything(Results.read(tmp_path), tmp_path)
    files = ("report.html", "trials.csv", "summary.csv", "tables.md", "results.json")
    before = {name: (tmp_path / name).read_bytes() for name in files}
    (tmp_path / "trials" / "sat-001.json").write_text('{"dataset": "sat"}')
    with pytest.warns(PolytomyWarning, match="is damaged and was skipped"):
        results = Results.read(tmp_path)
    use_everything(results, tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == before


def test_a_damaged_trial_is_left_out_of_tables_and_report(tmp_path):
    write_folder(tmp_path, RESULTS)
    path = tmp_path / "trials" / "sat-001.json"
    path.write_text(json.dumps(changed(RESULTS.records[1], ("n_test",), "18")))
    with pytest.warns(PolytomyWarning) as caught:
        page = write_report(tmp_path)
    assert [str(each.message) for each in caught] == [
        f'{path} is damaged and was skipped: n_test: "18" is not a whole number. The next run with '
        "the same options recreates it."
    ]
    assert "sat has 1 of 2 trials" in page.read_text(encoding="utf-8")


CELL = ("cells", 0)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("repeat",), True, "repeat: true is not a whole number"),
        (("seconds",), -1, "seconds: -1 is not between 0 and 1e+15"),
        (("seconds",), DELETED, "seconds: it is missing"),
        (("format",), 2, "format: 2 is not 1"),
        (("classes", 1), 7, "classes, 1: 7 is not text"),
        (("n_jobs",), 1.5, "n_jobs: 1.5 is not a whole number"),
        (("warnings",), "odd", 'warnings: "odd" is not a list'),
        (("schemes", "tree"), None, "schemes, tree: null is not text"),
        (("schemes", "\ud800"), "", 'schemes, a key: "\\ud800" has a lone surrogate'),
        (("cells",), {}, "cells: {} is not a list"),
        ((*CELL, "problem"), DELETED, "cells, 0, problem: it is missing"),
        ((*CELL, "final_calibration"), 1, "cells, 0, final_calibration: 1 is not text"),
        (
            (*CELL, "scores", "out_of_fold_log_loss"),
            -0.5,
            "cells, 0, scores, out_of_fold_log_loss: -0.5 is not between 0 and 1e+15",
        ),
        (
            (*CELL, "scores"),
            DELETED,
            "cells, 0: scores is missing, but no problem is named",
        ),
        (
            (*CELL, "scores", "accuracy"),
            "0.9",
            'cells, 0, scores, accuracy: "0.9" is not a number',
        ),
        (
            (*CELL, "scores", "accuracy"),
            1.5,
            "cells, 0, scores, accuracy: 1.5 is not between -1e-09 and 1",
        ),
        (
            (*CELL, "confusion", 0),
            [5, 1],
            "cells, 0, confusion: it is not a table of 6 × 6 numbers",
        ),
        (
            (*CELL, "confusion", 0, 0),
            -5,
            "cells, 0, confusion, 0, 0: -5 is not between 0 and 1e+15",
        ),
        ((*CELL, "confusion", 0, 0), 6, "cells, 0: the confusion matrix has 19 of 18 test samples"),
        (
            (*CELL, "reliability", 3),
            DELETED,
            "cells, 0, reliability: it is not a table of 10 × 3 numbers",
        ),
    ],
)
def test_the_damage_of_a_trial_has_its_place(place, value, words):
    record = changed(make_record(NAME, 0), place, value)
    with pytest.raises(DataError) as caught:
        check_trial(record, PAIRS)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("name",), "", "name: it is empty"),
        (("classes", 1), 'c"', "a class occurs twice"),
        (("counts", 0), DELETED, "there are 5 counts for 6 classes"),
        (("distances", 0, 1), None, "distances, 0, 1: null is not a number"),
        (("distances", 0), DELETED, "distances: it is not a table of 6 × 6 numbers"),
    ],
)
def test_the_damage_of_a_description_has_its_place(place, value, words):
    facts = changed(RESULTS.facts[NAME], place, value)
    with pytest.raises(DataError) as caught:
        check_facts(facts)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("protocol", "seed"), -3, "protocol, seed: -3 is not a seed"),
        (("protocol", "test"), 1, "protocol, test: 1 is not between 0 and 1"),
        (("protocol", "pairs", 1, "solver"), 1, "protocol, pairs, 1, solver: 1 is not text"),
        (("protocol", "pairs", 1, "method"), "least-squares", "a pair occurs twice"),
        (
            ("protocol", "pairs", 1, "final_calibration"),
            None,
            "protocol, pairs, 1, final_calibration: null is not text",
        ),
        (("versions", "numpy"), 2.0, "versions, numpy: 2.0 is not text"),
    ],
)
def test_the_damage_of_a_manifest_has_its_place(place, value, words):
    manifest = changed(RESULTS.manifest, place, value)
    with pytest.raises(DataError) as caught:
        check_manifest(manifest)
    assert str(caught.value) == words


def test_scores_of_a_pair_with_a_problem_are_checked_too():
    record = make_record("own & <b>", 0)
    assert record["cells"][1]["problem"]
    check_trial(record, PAIRS)
    record["cells"][1]["scores"] = {"accuracy": "x"}
    with pytest.raises(DataError, match='cells, 1, scores, accuracy: "x" is not a number'):
        check_trial(record, PAIRS)


def test_a_seed_may_have_many_digits():
    check_manifest(changed(RESULTS.manifest, ("protocol", "seed"), 10**300))
