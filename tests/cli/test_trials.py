"""Trials and their datasets on the command line."""

import json
import os
import pty
import re
import shlex

import numpy as np
import pytest

from polytomy.report import report_html
from polytomy.trials import CATALOGUE, KnownDataset, Results, load_datasets, run, running
from polytomy.trials.sources import checksum_of

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
    assert outcome.code == 0
    told = outcome.err.splitlines()
    assert [line.split(";")[0] for line in told] == [
        "1/4 land, trial 1",
        "2/4 sea, trial 1",
        "3/4 land, trial 2",
        "4/4 sea, trial 2",
    ]
    # Nothing is known of the sea before it was tried.
    is_guessed = [re.search(r"; \d+ s left$", line) is not None for line in told]
    assert is_guessed == [False, True, True, False]
    lines = outcome.out.splitlines()
    assert "Uncertainty coefficient" in lines
    assert lines[-2:] == [
        "all tables are in out: tables.md, tables.tex, summary.csv, results.json",
        "the report is out/report.html",
    ]
    again = polytomy(*LINE.split(), "--data", data)
    assert again.err == "4/4 were finished before\n"
    assert again.out == outcome.out


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
    assert (answer["folder"], answer["report"]) == ("out", "out/report.html")
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
    assert (outcome.code, outcome.err) == (0, "1/1 land, trial 1\n")
    assert Results.read("results").records[0]["cells"][0]["problem"] == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trials --datasets irs", "Did you mean 'iris'?"),
        ("trials --data nowhere", "nowhere: No such file or directory"),
        ("trials --data data --datasets moon", "data has no dataset 'moon'; it has land, sea"),
        ("trials --data data --schemes one-vs-on", "Did you mean 'one-vs-one'?"),
        ("trials --data data --solvers gredy", 'Did you mean "greedy"?'),
        ("trials --data data --test 3", "3 is no part of a class"),
        ("trials --data data --estimator nosuch", 'Specification "nosuch"'),
        ("trials --data data --estimator svc -o out", "out has trials of another protocol"),
        ("report nowhere", "nowhere is no folder of results; it has no manifest.json"),
        ("report out -o no/where.html", "no/where.html: No such file or directory"),
        ("datasets get moon", "'moon' is not known"),
        ("datasets get urban", "put it at data/urban.csv.gz"),
        ("datasets get segment", "data/segment.csv is not that of the experiments: 2 features"),
        ("datasets get segment --json", "Move it away to get it again."),
        ("datasets list --data nowhere", "nowhere: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_code_2(polytomy, data, here, line, words):
    polytomy(*LINE.split(), "--data", data, "--repeats", "1")
    (data / "segment.csv").write_bytes((data / "land.csv").read_bytes())
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1


def show_on_terminal(start, command, columns):
    """Return what a terminal is sent while standard output goes to a file."""
    terminal, end = pty.openpty()
    variables = {"TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": ""}
    shell = f"{shlex.join(['polytomy', *command])} > tables.txt 2> /dev/tty"
    whole = f"exec setsid -c sh -c {shlex.quote(shell)}"
    with start(shell=whole, stdin=end, variables=variables):
        os.close(end)
        shown = b""
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:  # so Linux says that the other end is closed
            pass
    os.close(terminal)
    return shown.decode()


def test_a_terminal_has_a_live_table(start, data, here):
    text = show_on_terminal(start, [*LINE.split(), "--data", str(data)], 100)
    assert "Uncertainty coefficient" in text
    assert "4/4" in text
    assert "\x1b[1m" in text  # the best in bold
    printed = (here / "tables.txt").read_text()
    assert "trial 1" not in printed
    assert "Brier score" in printed


def test_names_are_shown_as_they_are_and_the_bar_has_a_line_of_its_own(start, data, here):
    (data / "land.csv").rename(data / "[red]land[x].csv")
    text = show_on_terminal(start, [*LINE.split(), "--data", str(data)], 60)
    # As rich's markup it would be red, and without its brackets.
    assert "[red]land[x]" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    shown = re.split(r"\n|\x1b\[2K", text)  # what is erased is no part of what follows
    assert not [line for line in shown if "━" in line and "trial" in line.partition("━")[2]]


def test_the_report_has_all_trials_of_the_folder(polytomy, data, here):
    polytomy(*LINE.split(), "--data", data, "--datasets", "land")
    page = here / "out" / "report.html"
    assert page.read_text() == report_html(Results.read("out"))
    assert "polytomy: land</title>" in page.read_text()
    polytomy(*LINE.split(), "--data", data, "--datasets", "sea")
    assert page.read_text() == report_html(Results.read("out"))
    assert "polytomy: land, sea</title>" in page.read_text()


def test_a_report_is_made_again_also_of_a_run_that_was_stopped(polytomy, data, here):
    polytomy(*LINE.split(), "--data", data)
    page = here / "out" / "report.html"
    whole = page.read_bytes()
    page.unlink()
    outcome = polytomy("report", "out")
    assert outcome == (0, "the report of out is out/report.html\n", "")
    assert page.read_bytes() == whole
    (here / "out" / "trials" / "sea-001.json").unlink()
    outcome = polytomy("report", "out", "-o", "partly.html", "--json")
    assert json.loads(outcome.out) == {"folder": "out", "report": "partly.html"}
    assert "The run is not finished" in (here / "partly.html").read_text()
    assert page.read_bytes() == whole


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


def test_a_file_that_cannot_be_read_does_not_stop_the_list(polytomy, data, here):
    (data / "segment.csv").write_text("x,label\n1,a\n,b\n")
    outcome = polytomy("datasets", "list", "--data", data, "--json")
    assert outcome.code == 0
    states = {row["name"]: row.get("folder") for row in json.loads(outcome.out)["datasets"]}
    assert states["segment"].startswith(f"cannot be read: {data / 'segment.csv'}, line 3")
    assert states["letter"] == "not there"


def test_a_dataset_that_is_there_is_checked(polytomy, data, here, monkeypatch):
    (land,) = load_datasets(["land"], data)
    known = KnownDataset("land", 2, ("a", "b", "c"), (12, 12, 12), checksum_of(land.X), None)
    monkeypatch.setitem(CATALOGUE, "land", known)
    path = data / "land.csv"
    outcome = polytomy("datasets", "get", "land", "--data", data)
    assert outcome == (0, f"{path} is that of the experiments\n", "")
    monkeypatch.setitem(CATALOGUE, "land", known._replace(checksum="other"))
    command = ["datasets", "get", "land", "--data", data]
    outcome = polytomy(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert "but not the values. Move it away to get it again. Or accept it" in outcome.err
    found = json.loads(polytomy(*command, "--accept-other-values", "--json").out)
    words = "not that of the experiments: size and classes are the same, but not the values"
    assert found == [{"name": "land", "file": str(path), "state": words}]


def interrupt_after(n_trials, monkeypatch):
    """Let somebody press Ctrl-C when so many trials are done."""
    measure = running.measure_trial
    seen = []

    def measure_or_stop(dataset, *arguments, **options):
        if dataset.name != "warm-up":
            seen.append(dataset.name)
        if len(seen) > n_trials:
            raise KeyboardInterrupt
        return measure(dataset, *arguments, **options)

    monkeypatch.setattr(running, "measure_trial", measure_or_stop)


def test_interrupted_it_shows_what_is_finished_and_says_how_to_go_on(
    polytomy, data, here, monkeypatch
):
    whole = polytomy(*LINE.split()[:-1], "whole", "--data", data, "--json")
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        outcome = polytomy(*LINE.split(), "--data", data)
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.splitlines()[-2:] == [
        "polytomy: stopped; 3 trials in out are kept, and the same command goes on from there",
        "polytomy: tables of these are in out, and the report is out/report.html",
    ]
    assert (here / "out" / "report.html").read_text() == report_html(Results.read("out"))
    assert len((here / "out" / "trials.csv").read_text().splitlines()) == 1 + 2 * 3
    again = polytomy(*LINE.split(), "--data", data, "--json")
    trials = [without_times(json.loads(each.out)["trials"]) for each in (whole, again)]
    assert trials[0] == trials[1]


def test_interrupted_at_once_it_leaves_no_tables(polytomy, data, here, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(0, patch)
        outcome = polytomy(*LINE.split(), "--data", data)
        assert outcome.code == 130
        assert outcome.err.startswith("polytomy: stopped; 0 trials in out are kept")
        assert not (here / "out" / "report.html").exists()
    monkeypatch.setattr(running, "load_datasets", raise_interrupt)
    outcome = polytomy(*LINE.split()[:-1], "new", "--data", data)
    assert outcome == (130, "", "polytomy: stopped before anything was finished\n")
    assert not (here / "new").exists()


def raise_interrupt(*_):
    raise KeyboardInterrupt
