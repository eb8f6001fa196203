"""Trials and their datasets on the command line."""

import json
import os
import pty
import re

import numpy as np
import pytest

from polytomy.trials import Results, run

LINE = "trials --repeats 2 --estimator gaussian-nb --schemes one-vs-one,tree:greedy -o out"


@pytest.fixture
def data(here):
    """Return a folder of two small datasets."""
    folder = here / "data"
    folder.mkdir()
    for seed, name in enumerate(("land", "sea")):
        random = np.random.default_rng(seed)
        lines = [
            f"{random.normal() + k % 3:.6f},{random.normal():.6f},{'abc'[k % 3]}" for k in range(36)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["x,y,label", *lines, ""]))
    return folder


def without_times(rows):
    return [{key: value for key, value in row.items() if "seconds" not in key} for row in rows]


def test_trials_print_a_line_each_and_the_tables(polytomy, data, here):
    outcome = polytomy(*LINE.split(), "--data", data)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert [line.split(";")[0] for line in lines[:4]] == [
        "1/4 land, trial 1",
        "2/4 sea, trial 1",
        "3/4 land, trial 2",
        "4/4 sea, trial 2",
    ]
    assert all(re.search(r"; \d+ s left$", line) for line in lines[:3])
    assert "Uncertainty coefficient" in lines
    assert lines[-1] == "all tables are in out: tables.md, tables.tex, summary.csv, results.json"
    again = polytomy(*LINE.split(), "--data", data)
    assert again.out.splitlines()[0] == "4/4 were finished before"
    assert again.out.splitlines()[1:] == lines[4:]


def test_trials_are_those_of_the_library(polytomy, data, here):
    outcome = polytomy(*LINE.split(), "--data", data, "--datasets", "sea", "--json", "--seed", "3")
    expected = run(
        "sea",
        data=data,
        schemes=["one-vs-one", ("tree", "greedy")],
        estimator="gaussian-nb",
        repeats=2,
        seed=3,
        folder="apart",
    )
    answer = json.loads(outcome.out)
    assert answer["folder"] == "out"
    assert without_times(answer["trials"]) == without_times(expected.rows())


def test_lists_can_have_commas_or_be_given_again(polytomy, data, here):
    options = "--schemes tree --schemes one-vs-one,adjacent --solvers voting,hamming --repeats 1"
    outcome = polytomy("trials", "--data", data, *options.split(), "--estimator", "gaussian-nb")
    assert outcome.code == 0
    found = Results.read("results")
    assert found.pairs == [
        (scheme, solver)
        for scheme in ("tree", "one-vs-one", "adjacent")
        for solver in ("voting", "hamming")
    ]
    assert found.datasets == ["land", "sea"]


def test_a_control_text_is_one_scheme(polytomy, data, here):
    outcome = polytomy(
        "trials", "--data", data, "--schemes", 'm {a n {"b" c}}', "--estimator", "gaussian-nb",
        "--repeats", "1", "--datasets", "land",
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    assert Results.read("results").records[0]["cells"][0]["problem"] == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trials --datasets irs", "Did you mean 'iris'?"),
        ("trials --data nowhere", "nowhere: No such file or directory"),
        ("trials --data data --datasets moon", "data has no dataset 'moon'; it has land, sea"),
        ("trials --data data --schemes one-vs-on", "Did you mean 'one-vs-one'?"),
        ("trials --data data --solvers gredy", "Did you mean 'greedy'?"),
        ("trials --data data --test 3", "test=3 is no part of a class"),
        ("trials --data data --estimator nosuch", 'Specification "nosuch"'),
        ("trials --data data --estimator svc -o out", "out has trials of another protocol"),
        ("datasets get moon", "'moon' is not known"),
        ("datasets get urban", "put it at data/urban.csv.gz"),
        ("datasets list --data nowhere", "nowhere: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_code_2(polytomy, data, here, line, words):
    polytomy(*LINE.split(), "--data", data, "--repeats", "1")
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_terminal_has_a_live_table(start, data, here):
    terminal, end = pty.openpty()
    variables = {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""}
    command = [*LINE.split(), "--data", str(data)]
    shell = "polytomy " + " ".join(command) + " > tables.txt 2> /dev/tty"
    with start(shell=f"exec setsid -c sh -c '{shell}' ", stdin=end, variables=variables):
        os.close(end)
        shown = b""
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:  # so Linux says that the other end is closed
            pass
    os.close(terminal)
    text = shown.decode()
    assert "Uncertainty coefficient" in text
    assert "4/4" in text
    assert "\x1b[1m" in text  # the best in bold
    printed = (here / "tables.txt").read_text()
    assert "trial 1" not in printed
    assert "Brier score" in printed


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


def test_a_folder_is_judged(polytomy, data, here):
    (data / "segment.csv").write_bytes((data / "land.csv").read_bytes())
    answer = json.loads(polytomy("datasets", "list", "--data", data, "--json").out)
    states = {row["name"]: row.get("folder") for row in answer["datasets"]}
    assert states["letter"] == "not there"
    assert states["segment"].startswith("not that of the experiments: 2 features, not 19")
    assert answer["others"] == ["land", "sea"]
    shown = polytomy("datasets", "list", "--data", data).out
    assert shown.splitlines()[-1] == f"also in {data}: land, sea"
    got = polytomy("datasets", "get", "segment", "--data", data)
    assert got.out.startswith(f"{data / 'segment.csv'}: not that of the experiments")
    as_json = json.loads(polytomy("datasets", "get", "segment", "--data", data, "--json").out)
    assert as_json[0]["name"] == "segment"
