"""Options in place of the arguments that messages mention."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.cli.app import OTHER_NAMES, app, find_command, show_option
from polytomy.errors import Argument


def options_of(command):
    """Return the options of a command and of the commands below it."""
    below = getattr(command, "commands", {}).values()
    return {name for option in command.params for name in option.opts}.union(
        *map(options_of, below)
    )


def parameters_of(command):
    """Return the library's parameters that the options of a command and of those below it set."""
    below = getattr(command, "commands", {}).values()
    own = {option.name for option in command.params if option.param_type_name == "option"}
    return own.union(*map(parameters_of, below))


PARAMETERS = sorted(parameters_of(find_command(app, [])) | {*OTHER_NAMES})


def test_every_other_name_has_an_option():
    for names in OTHER_NAMES.values():
        assert parameters_of(find_command(app, [])).intersection(names)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["train", "iris.csv"], "train"),
        (["datasets", "get", "iris"], "get"),
        (["--version"], "polytomy"),
        (["nothing"], "polytomy"),
        ([], "polytomy"),
    ],
)
def test_the_command_is_found_by_its_words(words, name):
    assert find_command(app, words).name == name


@pytest.mark.parametrize(
    ("command", "argument", "expected"),
    [
        ("train", Argument("categories", "one-hot"), "--one-hot"),
        ("train", Argument("target"), "--target"),
        ("train", Argument("target", -1), "--target -1"),
        ("train", Argument("target", "leaf colour"), "--target 'leaf colour'"),
        ("train", Argument("header", True), "--header"),
        ("train", Argument("header", False), "--no-header"),
        ("train", Argument("header"), "--header"),
        ("train", Argument("calibration", None), "--calibration none"),
        ("train", Argument("cv", 2), "--folds 2"),
        ("train", Argument("scheme", "x"), "--scheme x"),
        ("search", Argument("scheme", "x"), "--candidate x"),
        ("trials", Argument("scheme", "x"), "--schemes x"),
        ("trials", Argument("solver", "x"), "--solvers x"),
        ("predict", Argument("trusted", ["a.B", "c.D"]), "--trust a.B --trust c.D"),
        ("predict", Argument("n_features", 3), "--features 3"),
        ("convert", Argument("range_file"), "--range"),
        ("export", Argument("solver", "voting"), "solver voting"),
        ("export", Argument("class_weight"), "class weight"),
        ("train", Argument("n_neighbors", 5), "n_neighbors=5"),
    ],
)
def test_an_argument_is_shown_as_the_user_of_the_command_writes_it(command, argument, expected):
    assert show_option(argument, find_command(app, [command]), app) == expected


# A message of train may mention the option --trust of commands that load its model.
@given(
    st.sampled_from(sorted({*PARAMETERS} - {"trusted"})),
    st.sampled_from(["train", "search", "trials", "design"]),
)
def test_an_option_that_the_command_does_not_have_is_never_shown(name, command_name):
    command = find_command(app, [command_name])
    shown = show_option(Argument(name), command, app)
    assert not shown.startswith("-") or shown in options_of(command)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train word.csv -o m.polytomy", "Use --one-hot for text columns, or set --target to the"),
        ("train iris.csv --format xls -o m.polytomy", "--format xls is not one of csv, tsv,"),
        ("train t.txt -o m.polytomy", 'Set --format to "csv", "tsv",'),
        ("train bare.csv --target kind -o m.polytomy", "Use --header if the first line names"),
        ("train twice.csv -o m.polytomy", "or use --no-header if the first line is not a header."),
        ("train count.csv -o m.polytomy", "names or a sample. Use --header or --no-header."),
        ("train iris.csv --calibration magic -o m.polytomy", "--calibration must be auto, sigmoid"),
        ("train iris.csv --class-weight magic -o m.polytomy", "--class-weight must be balanced or"),
        ("train iris.csv --target species2 -o m.polytomy", 'no column "species2"; the columns are'),
        ("train iris.csv --target 9 -o m.polytomy", "there is no column 9 for the label; the pos"),
        ("train y.npz -o m.polytomy", "y.npz: the file has no array y with the labels.\n"),
        # Messages of other packages.
        ("train iris.csv --solver magic -o m.polytomy", "--solver"),
        ("train iris.csv --scheme magic -o m.polytomy", "--scheme"),
        ("search iris.csv -c magic", "--candidate"),
        ("search iris.csv -s magic", "--score"),
        ("distances iris.csv --distance magic", "--distance magic is not one of"),
        ("design random -n 9 --partitions 3", "3 is too few to"),
    ],
)  # fmt: skip
def test_no_command_mentions_arguments(polytomy, here, line, words):
    Path("word.csv").write_text("a,b,kind\n1,2,x\n1,two,y\n")
    Path("t.txt").write_text("1 2 3\n")
    Path("bare.csv").write_text("1,2,x\n5,2,y\n")
    Path("twice.csv").write_text("a,a,kind\n1,2,x\n")
    Path("count.csv").write_text("1,2,3,4\n0.5,2,3,4\n")
    np.savez("y.npz", X=np.eye(2))
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert words in outcome.err
    for name in PARAMETERS:
        assert f"{name}=" not in outcome.err
    assert not Path("m.polytomy").exists()
