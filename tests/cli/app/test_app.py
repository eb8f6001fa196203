"""The command as a whole: its help, and how it fails."""

import csv
import json
import re
import shlex
from importlib.metadata import version
from unittest import mock

import pytest

from polytomy.cli.app import app, find_command
from polytomy.errors import Argument, RoutineWarning, warn_caller

COMMANDS = {info.name or info.callback.__name__: info.callback for info in app.registered_commands}


def test_the_version_is_that_of_the_package(polytomy):
    assert polytomy("--version") == (0, f"polytomy {version('polytomy')}\n", "")


def test_a_module_is_run_like_the_command(finish, here):
    outcomes = [
        finish(shell=f"{name} flatten land.control") for name in ("polytomy", "python -m polytomy")
    ]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].code == 0


def _run_example(example, finish, polytomy):
    """Run a line of a shell; commands of ours without a pipe run in this process."""
    for command in example.split(" && "):
        words = shlex.split(command)
        is_ours = words[0] == "polytomy" and not set("|<>") & {*words}
        outcome = polytomy(*words[1:]) if is_ours else finish(shell=command)
        if outcome.code:
            break
    return outcome


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_in_the_help_works(finish, polytomy, here, name):
    found = re.findall(r"Example: `([^`]*)`", COMMANDS[name].__doc__)
    examples = [" ".join(each.split()) for each in found]
    assert examples
    shown = " ".join(polytomy(name, "--help").out.split())
    for example in examples:
        assert f"Example: {example}" in shown
        outcome = _run_example(example, finish, polytomy)
        lines = outcome.err.splitlines()
        if "trials" in example or "warm-up" in example:  # which show their progress
            lines = [line for line in lines if not re.match(r"\d+/\d+ ", line)]
        assert (outcome.code, lines) == (0, [])
        assert outcome.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", "tree"], "either --classes or --labels, such as --labels corn,wheat,oak"),
        (["design", "tree", "-n", 3, "-l", "a,b"], "either --classes or --labels"),
        (["design", "tree", "-l", "a,,b"], "--labels a,,b: a label is empty; write labels as"),
        (["design", "tree", "-l", "a,b,"], "--labels a,b,: a label is empty"),
        (["design", "tree", "-l", ""], "--labels : a label is empty"),
        (["design", "tree", "-l", "a,b,a"], "class 'a' is given twice; "),
        (["design", "tree", "-l", "a\udcff"], "is not valid text"),
        (["design", "trees", "-n", 3], "'trees' is not a design"),
        (["design", "trees", "-n", 3], 'Did you mean "tree"?'),
        (["design", "tree", "-n", 3, "--name", "a b"], "node 0 has a binary named 'a b'"),
        (["design", "tree", "-n", 3, "--name", "\udcff"], "that is not valid text"),
        (["design", "tree", "-n", 3, "--seed", 1], "--seed 1 "),
        (["design", "tree", "-n", 10**15], "--classes 1000000000000000 is too many"),
        (["design", "one-vs-one", "-n", 10**5], "a coding matrix has at most 536,870,912"),
        (["design", "exhaustive", "-n", 21], "an exhaustive code of 21 classes"),
        (["design", "random", "-n", 9, "--partitions", 3], "3 is too few to"),
        (["show", "nothing.control"], "nothing.control: No such file or directory"),
        (["show", "."], ".: Is a directory"),
        (["show", "bad.control"], "bad.control:1:1: m has only one branch"),
        (["flatten", "bad.control"], "bad.control:1:1: m has only one branch"),
        (["tree", "code.control"], "the code of m and its 3 branches is not a tree: its"),
        (["show", "-"], "<standard input>:1:1: the text is empty"),
        (["design", "tree", "-n", 3, "-o", "nowhere/a"], "nowhere/a: No such file or directory"),
        (["design", "tree", "-n", 3, "-o", "."], ".: Is a directory"),
    ],
)  # fmt: skip
def test_a_failure_is_one_message_and_changes_no_file(polytomy, here, arguments, words):
    (here / "code.control").write_text("m 0/1; n 0/2; o 1/2; {a b c}")
    before = sorted(here.iterdir())
    outcome = polytomy(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("polytomy: ")
    assert words in outcome.err
    assert "Traceback" not in outcome.err
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "No such command"),
        (["trian"], "Did you mean 'train'"),
        (["train", "a.csv", "--shceme", "tree"], "--scheme"),
        (["show"], "Missing argument"),
        (["show", "--colour", "a"], "No such option"),
        (["design", "tree", "-n", "many"], "Invalid value"),
        (["design", "tree", "-n", 0], "Invalid value"),
        (["design", "random", "-n", 3, "--seed", -1], "Invalid value"),
    ],
)
def test_wrong_usage_is_explained(polytomy, arguments, words):
    outcome = polytomy(*arguments)
    assert outcome.code == 2
    assert "Usage: polytomy" in outcome.err
    assert words in outcome.err
    assert "Traceback" not in outcome.err


def test_too_little_memory_is_a_message(polytomy, here):
    with mock.patch("polytomy.cli.schemes.parse", side_effect=MemoryError):
        outcome = polytomy("show", "land.control")
    assert outcome == (2, "", "polytomy: out of memory\n")


def test_a_terminal_that_cannot_show_a_character_is_a_message(finish, here):
    outcome = finish("show", "land.control", variables={"PYTHONIOENCODING": "ascii"})
    words = r"polytomy: the terminal cannot show '\u251c'; set its encoding to UTF-8"
    assert outcome == (2, "", words + "\n")


def test_the_same_warning_of_many_binaries_is_shown_once(polytomy, here):
    estimator = "mlp hidden_layer_sizes=2 max_iter=1"
    outcome = polytomy("train", "iris.csv", "--estimator", estimator, "-o", "m.polytomy")
    assert outcome.code == 0
    assert outcome.err.count("Maximum iterations (1) reached") == 1


def test_an_interrupt_is_a_message(polytomy, here):
    with mock.patch("polytomy.cli.training.read_samples", side_effect=KeyboardInterrupt):
        outcome = polytomy("train", "iris.csv", "-o", "m.polytomy")
    assert outcome == (130, "", "polytomy: interrupted\n")
    assert not (here / "m.polytomy").exists()


def test_a_package_that_is_missing_is_a_message(polytomy, here):
    missing = ImportError("No module named 'nothing'")
    with mock.patch("polytomy.cli.training.read_samples", side_effect=missing):
        outcome = polytomy("train", "iris.csv", "-o", "m.polytomy")
    assert outcome == (2, "", "polytomy: No module named 'nothing'\n")


def test_an_interrupt_while_options_are_read_is_a_message(polytomy, here):
    with mock.patch("typer.core.TyperGroup.parse_args", side_effect=KeyboardInterrupt):
        outcome = polytomy("train", "iris.csv", "-o", "m.polytomy")
    assert outcome == (130, "", "polytomy: interrupted\n")


def test_an_error_of_a_learner_names_the_learner_and_the_partition(polytomy, here):
    rows = [f"{k % 7},{k % 5},{'x' if k % 10 else 'y'}" for k in range(60)]
    (here / "rare.csv").write_text("\n".join(["a,b,kind", *rows]))
    arguments = ["train", "rare.csv", "--target", "kind", "--estimator", "nu-svc nu=0.9"]
    outcome = polytomy(*arguments, "-o", "m.polytomy")
    assert outcome.code == 2
    assert outcome.err.endswith(
        'specified nu is infeasible (while training the NuSVC of partition "one-vs-one-00")\n'
    )


@pytest.mark.parametrize("error", [ValueError("Input X is bad."), csv.Error("Input X is bad.")])
def test_an_error_of_another_package_is_a_message(polytomy, here, error):
    with mock.patch("polytomy.cli.training.read_samples", side_effect=error):
        outcome = polytomy("train", "iris.csv", "-o", "m.polytomy")
    assert outcome == (2, "", "polytomy: Input X is bad.\n")


def test_warnings_name_options(polytomy, here):
    def warn(*_, **__):
        warn_caller(RoutineWarning(Argument("n_jobs", 2), " is ignored"), RoutineWarning)
        return 0

    with mock.patch("polytomy.cli.training.check_output", side_effect=warn):
        outcome = polytomy("train", "nothing.csv", "-o", "m.polytomy")
    assert outcome.err.splitlines()[0] == "polytomy: warning: --jobs 2 is ignored"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name):
    for option in find_command(app, [name]).params:
        assert option.help or option.hidden


def test_the_help_names_every_command(polytomy):
    for option in ("--help", "-h"):
        outcome = polytomy(option)
        assert outcome.code == 0
        assert all(f" {name} " in outcome.out for name in [*COMMANDS, "datasets"])


def test_warm_up_says_what_is_ready_and_where(polytomy):
    outcome = polytomy("warm-up")
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    count = len(lines)
    assert lines[0].startswith(f"1/{count} ")
    assert lines[-1].startswith(f"{count}/{count} ")
    pattern = rf"{count} routines are ready \(.*, \d+\.\d s\); their machine code is in .*\n"
    assert re.fullmatch(pattern, outcome.out)


def test_warm_up_prints_json(polytomy):
    outcome = polytomy("warm-up", "--json")
    assert outcome.err == ""
    found = json.loads(outcome.out)
    assert set(found) == {"n_routines", "n_compiled", "seconds", "folder"}


def test_warm_up_in_a_folder_that_cannot_be_written_is_one_message(polytomy, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(file))
    outcome = polytomy("warm-up")
    assert outcome.code == 2
    assert outcome.err.startswith(f"polytomy: NUMBA_CACHE_DIR is {file}, which is not writable (")
    assert outcome.err.count("\n") == 1
