"""The command `trials`."""

import json
import re

import pytest

from cli.trials.trial_cases import LINE, write_datasets
from command_line import call_on_terminal
from needs import needs_posix
from polytomy.report import report_html
from polytomy.trials import Results, run, running


@pytest.fixture
def data(here):
    return write_datasets(here / "data")


def without_times(rows):
    return [{key: value for key, value in row.items() if "seconds" not in key} for row in rows]


def test_each_trial_prints_a_line_and_the_tables_follow(polytomy, data, here):
    outcome = polytomy(*LINE.split(), "--data", data)
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "1/4 land, trial 1",
        "2/4 sea, trial 1",
        "3/4 land, trial 2",
        "4/4 sea, trial 2",
    ]
    # The time left is unknown until every dataset has had a trial.
    has_estimate = [re.search(r"; \d+ s left$", line) is not None for line in lines]
    assert has_estimate == [False, True, True, False]
    lines = outcome.out.splitlines()
    assert "Uncertainty coefficient" in lines
    assert lines[-2:] == [
        "tables: out (tables.md, tables.tex, summary.csv, results.json)",
        "report: out/report.html",
    ]
    again = polytomy(*LINE.split(), "--data", data)
    assert again.err == "4/4 already finished\n"
    assert again.out == outcome.out


def test_results_equal_those_of_the_library(polytomy, data, here):
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


@pytest.mark.parametrize("option", ["--calibrated", "--no-calibrated"])
def test_pairs_with_a_final_calibration_can_be_left_out(polytomy, data, here, option):
    outcome = polytomy(*LINE.split(), "--data", data, "--datasets", "sea", option, "--json")
    methods = {row["method"] for row in json.loads(outcome.out)["trials"]}
    extra = {"auto + calibrated"} if option == "--calibrated" else set()
    assert methods == {"auto", "greedy"} | extra


def test_list_options_accept_commas_and_repetition(polytomy, data, here):
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


def test_all_data_files_of_a_folder_are_run(polytomy, data, here):
    (data / "sat.csv").write_bytes((data / "land.csv").read_bytes())
    (data / "notes.txt").write_text("nothing")
    line = "trials --repeats 1 --estimator gaussian-nb --schemes one-vs-one"
    assert polytomy(*line.split(), "--data", data, "-o", "all").code == 0
    assert Results.read("all").datasets == ["sat", "land", "sea"]
    assert polytomy(*line.split(), "--data", data, "--paper", "-o", "paper").code == 0
    assert Results.read("paper").datasets == ["sat"]
    outcome = polytomy(*line.split(), "--data", data, "--datasets", "sea", "-o", "named")
    assert outcome.err == "1/1 sea, trial 1\n"


def test_an_order_without_meaning_is_a_warning_and_class_order_sets_it(polytomy, data, here):
    (data / "class_order.json").unlink()
    line = f"{LINE} --repeats 1"
    outcome = polytomy(*line.split(), "--data", data, "-o", "sorted")
    assert outcome.err.splitlines()[0] == (
        'polytomy: warning: "tree" needs the classes in order, and text labels have only their '
        "alphabetical order: a, b, c. Set --class-order to all labels, from first to last."
    )
    (here / "orders.json").write_text(json.dumps({"land": ["b", "c", "a"], "sea": ["c", "a", "b"]}))
    for folder, order in (("one", "b,c,a"), ("two", "orders.json")):
        outcome = polytomy(*line.split(), "--data", data, "-o", folder, "--class-order", order)
        assert "warning" not in outcome.err
        assert Results.read(folder).facts["land"]["classes"] == ["b", "c", "a"]
    assert Results.read("two").facts["sea"]["classes"] == ["c", "a", "b"]
    outcome = polytomy(*line.split(), "--data", data, "-o", "new", "--class-order", "b,c,d")
    assert outcome.code == 2
    assert "--class-order does not have 'a'; it has unknown labels: 'd'." in outcome.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trials --paper", "--paper needs the folder of the datasets. Set --data."),
        ("trials --paper --data data --datasets sea", "Use either --datasets or --paper, not both"),
        ("trials --datasets irs", 'Did you mean "iris"?'),
        ("trials --data nowhere", "nowhere: No such file or directory"),
        ("trials --data data --datasets moon", "data has no dataset 'moon'; it has land, sea"),
        ("trials --data data --schemes one-vs-on", 'Did you mean "one-vs-one"?'),
        ("trials --data data --solvers gredy", 'Did you mean "greedy"?'),
        ("trials --data data --test 3", "must be between 0 and 1; got 3."),
        ("trials --data data --estimator nosuch", 'Specification "nosuch"'),
        (
            "trials --data data --estimator svc -o out",
            "trials in out were run with other settings",
        ),
    ],
)
def test_an_error_is_one_line_with_exit_code_2(polytomy, data, here, line, words):
    if "-o out" in line:
        polytomy(*LINE.split(), "--data", data, "--repeats", "1")
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1


def show_on_terminal(command, columns):
    """Return what a terminal receives, and what goes to standard output."""
    variables = {"TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": ""}
    shown, outcome = call_on_terminal(command, "stderr", variables)
    return shown, outcome.out


@needs_posix
def test_a_terminal_shows_a_progress_bar(data):
    text, printed = show_on_terminal([*LINE.split(), "--data", str(data)], 100)
    assert "━" in text
    assert "100%" in text
    assert "trial 1" not in printed
    assert "Brier score" in printed


@needs_posix
def test_names_are_not_markup(data):
    (data / "land.csv").rename(data / "[red]land[x].csv")
    text, _ = show_on_terminal([*LINE.split(), "--data", str(data)], 100)
    # Read as rich markup it would be red, without brackets.
    assert "[red]land[x]" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def interrupt_after(n_trials, monkeypatch):
    """Simulate Ctrl-C after this many trials."""
    measure = running.measure_trial
    seen = []

    def measure_or_stop(dataset, *arguments, **options):
        if dataset.name != "warm-up":
            seen.append(dataset.name)
        if len(seen) > n_trials:
            raise KeyboardInterrupt
        return measure(dataset, *arguments, **options)

    monkeypatch.setattr(running, "measure_trial", measure_or_stop)


def test_an_interrupted_run_writes_its_tables_and_says_how_to_continue(
    polytomy, data, here, monkeypatch
):
    whole = polytomy(*LINE.split()[:-1], "whole", "--data", data, "--json")
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        outcome = polytomy(*LINE.split(), "--data", data)
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.splitlines()[-1] == (
        "polytomy: stopped; 3 finished trials are saved in out. Run the same command to continue. "
        "Their report: out/report.html"
    )
    assert (here / "out" / "report.html").read_text() == report_html(Results.read("out"))
    # Three pairs: one-vs-one with and without a final calibration, and the greedy tree.
    assert len((here / "out" / "trials.csv").read_text().splitlines()) == 1 + 3 * 3
    again = polytomy(*LINE.split(), "--data", data, "--json")
    trials = [without_times(json.loads(each.out)["trials"]) for each in (whole, again)]
    assert trials[0] == trials[1]


def test_a_run_interrupted_at_once_writes_no_tables(polytomy, data, here, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(0, patch)
        outcome = polytomy(*LINE.split(), "--data", data)
        assert outcome.code == 130
        assert outcome.err.startswith("polytomy: stopped; 0 finished trials are saved in out")
        assert not (here / "out" / "report.html").exists()
    monkeypatch.setattr(running, "load_datasets", raise_interrupt)
    outcome = polytomy(*LINE.split()[:-1], "new", "--data", data)
    assert outcome == (130, "", "polytomy: stopped before any trial was finished\n")
    assert not (here / "new").exists()


def raise_interrupt(*_, **__):
    raise KeyboardInterrupt


KINDS = ("red,oak", "blue,corn", "green,rye")
LAND = "width,height,colour,kind\n" + "".join(
    f"{k % 7 + 9 * (k % 3)},{k % 5},{KINDS[k % 3]}\n" for k in range(30)
)
BRIEF = ("--schemes", "one-vs-rest", "--repeats", "1", "--no-calibrated", "--json")


def test_one_file_is_a_dataset_with_the_options_of_train(polytomy, here):
    (here / "land.csv").write_text(LAND)
    outcome = polytomy("trials", "--data", "land.csv", *BRIEF)
    assert outcome.code == 2
    assert "land.csv, line 2, column 3" in outcome.err
    assert "Use --one-hot for text columns, or set --target to the label column." in outcome.err
    outcome = polytomy("trials", "--data", "land.csv", "--one-hot", *BRIEF)
    assert outcome.code == 0, outcome.err
    assert {row["dataset"] for row in json.loads(outcome.out)["trials"]} == {"land"}
    columns = ("--one-hot", "--target", "colour", "-o", "colours")
    outcome = polytomy("trials", "--data", "land.csv", *columns, *BRIEF)
    assert outcome.code == 0, outcome.err


def test_an_estimator_that_accepts_missing_values_has_them(polytomy, here):
    (here / "land.csv").write_text(LAND.replace("\n9,1,", "\n9,,").replace(",0,", ",NA,"))
    command = ("trials", "--data", "land.csv", "--one-hot", *BRIEF)
    outcome = polytomy(*command)
    assert outcome.code == 2
    assert outcome.err.endswith(
        'column 2 ("height"): the value is missing (NA). Fill it in, or use --missing nan with an '
        "estimator that accepts missing values, such as hist-gradient-boosting.\n"
    )
    outcome = polytomy(*command, "--estimator", "decision-tree")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["trials"][0]["accuracy"] > 0.8
    outcome = polytomy(*command, "--estimator", "decision-tree", "--missing", "refuse")
    assert outcome.code == 2
