"""Options: what the shell offers, what registries add, and how groups of options are expanded."""

from dataclasses import MISSING, dataclass, replace
from inspect import Parameter, signature
from pkgutil import resolve_name

import pytest

from polytomy import designs, solvers
from polytomy.cli import options
from polytomy.cli.app import app, find_command
from polytomy.designs.registry import Design


@pytest.fixture
def complete(polytomy, monkeypatch):
    """Return a function that completes a line in bash."""

    def run(line):
        words = line.split(" ")
        monkeypatch.setenv("_POLYTOMY_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        outcome = polytomy()
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out.split()

    return run


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("polytomy tr", ["train", "tree", "trials"]),
        ("polytomy datasets ", ["list", "get"]),
        ("polytomy design one", ["one-vs-one", "one-vs-rest"]),
        ("polytomy train a.csv --solver lib", ["libsvm"]),
        ("polytomy train a.csv --scheme au", ["auto"]),
        ("polytomy train a.csv --scale m", ["minmax"]),
        ("polytomy train a.csv --final-calibration b", ["bias"]),
        ("polytomy train a.csv --class-w", ["--class-weight"]),
        ("polytomy search a.csv --score acc", ["accuracy"]),
        ("polytomy distances a.csv --distance cen", ["centroid"]),
        ("polytomy predict m a.csv --set-score r", ["raps"]),
        ("polytomy trials --datasets iris,wi", ["iris,wine"]),
        ("polytomy trials --solvers voting,gre", ["voting,greedy"]),
        ("polytomy datasets get pend", ["pendigits"]),
        # Nothing fits, so the shell offers files.
        ("polytomy train ir", []),
        ("polytomy train a.csv --class-order lab", []),
    ],
)
def test_names_are_completed(complete, line, offered):
    assert complete(line) == offered


def test_control_files_are_offered_as_schemes(here):
    offer = options.complete("schemes", files="*.control")
    assert offer("land") == [("land.control", "")]
    assert {"tree", "land.control"} <= {name for name, _ in offer("")}


def test_datasets_are_those_of_scikit_learn_and_of_the_paper():
    assert {"iris", "letter"} <= {name for name, _ in options.complete("datasets")("")}


def test_names_are_offered_with_their_summaries():
    assert options.complete("schemes")("one-vs-r") == [
        ("one-vs-rest", "one binary for each class against all others")
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_shown(polytomy, monkeypatch, shell):
    monkeypatch.setenv("_POLYTOMY_COMPLETE", f"source_{shell}")
    outcome = polytomy()
    assert outcome.code == 0
    assert "_POLYTOMY_COMPLETE=complete_" in outcome.out.replace(" ", "").replace("\\", "")


def test_the_help_offers_to_install_completion(polytomy):
    outcome = polytomy("--help")
    assert "--install-completion" in outcome.out
    assert "--show-completion" in outcome.out


@pytest.fixture
def registered(monkeypatch):
    """Register a design and a solver, which no file of the package knows."""
    halves = Design("halves", designs.balanced_tree, "a tree of halves", uses_order=True)
    monkeypatch.setitem(designs.DESIGNS, "halves", halves)
    method = replace(solvers.METHODS["least-squares"], name="plain-squares")
    monkeypatch.setitem(solvers.METHODS, "plain-squares", method)


@pytest.mark.usefixtures("registered")
def test_names_that_users_register_are_shown_completed_and_accepted(polytomy, complete, here):
    assert "plain-squares" in polytomy("train", "--help").out
    assert "halves" in polytomy("design", "--help").out
    assert polytomy("design", "halves", "-n", 4).out == polytomy("design", "tree", "-n", 4).out
    line = ["train", "iris.csv", "--solver", "plain-squares", "-o", "m.polytomy"]
    assert polytomy(*line).code == 0
    assert complete("polytomy design ha") == ["halves"]


@pytest.mark.usefixtures("registered", "here")
def test_registered_names_are_suggested(polytomy):
    outcome = polytomy("train", "iris.csv", "--solver", "plain-square", "-o", "m.polytomy")
    assert 'Did you mean "plain-squares"?' in outcome.err


def test_a_name_that_is_not_allowed_is_refused_with_a_suggestion(polytomy):
    outcome = polytomy("train", "iris.csv", "--scale", "standart", "-o", "m.polytomy")
    words = '--scale must be standard, minmax or none; got "standart". Did you mean "standard"?'
    assert outcome == (2, "", f"polytomy: {words}\n")


@dataclass(frozen=True, kw_only=True)
class Size:
    width: int = options.option(default=MISSING, help="Width.")
    height: int | None = options.option(default=2, help="Height.")


def test_groups_of_options_are_expanded_and_put_together_again():
    seen = []

    def draw(name, *, size, is_thick=options.flag("--thick", "Draw it thick.")):
        seen.append((name, size, is_thick))

    draw.__annotations__ = {"name": str, "size": Size, "is_thick": bool}
    command = options.expand_options(draw)
    parameters = signature(command).parameters
    assert list(parameters) == ["name", "width", "height", "is_thick"]
    assert parameters["width"].default is Parameter.empty
    assert parameters["height"].default == 2
    command(name="a", width=1, height=3, is_thick=True)
    assert seen == [("a", Size(width=1, height=3), True)]


def test_a_group_tells_which_options_were_given():
    group = Size(width=0, height=None)
    assert options.given(group) == {"width": 0}
    assert options.given(Size(width=3), width=str) == {"width": "3", "height": 2}


def test_defaults_that_are_read_from_the_source_are_those_of_the_signatures():
    commands = find_command(app, []).commands.values()
    found = [each for command in commands for each in command.params if options.find_place(each)]
    assert {"solver", "cv", "n_bins", "repeats", "test", "dtype"} <= {each.name for each in found}
    for each in found:
        module, _, path = options.find_place(each).partition(":")
        function = resolve_name(f"polytomy.{module}:{path}")
        assert options.find_default(each) == signature(function).parameters[each.name].default
