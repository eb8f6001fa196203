"""What the commands print, and their exit codes."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import polytomy as pt
from polytomy import designs, parse, read
from polytomy.designs import DATA_DESIGNS, DESIGNS, LABEL_DESIGNS

ESCAPE = "\x1b["
OPEN = b"m 0/1; n 2/3; {a b c d}"
UNDECIDED = "the partitions do not determine how probability is shared among class a, class b"


# -- design -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DESIGNS)
def test_design_writes_the_text_of_the_scheme(polytomy, name):
    seed = {"random_state": 5} if "random_state" in DESIGNS[name].options else {}
    options = ["--seed", 5] if seed else []
    outcome = polytomy("design", name, "--classes", 6, *options)
    assert (outcome.code, outcome.err) == (0, "")
    assert parse(outcome.out) == designs.design(name, 6, **seed)
    assert outcome.out.endswith("}\n")


def test_design_takes_options_by_their_short_names(polytomy, here):
    assert polytomy("design", "adjacent", "-n", 3, "-o", "a.control").out == ""
    assert read("a.control") == designs.adjacent(3)
    assert polytomy("design", "tree", "-l", "a,b").out == "tree {a b}\n"


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("corn,wheat,oak", ("corn", "wheat", "oak")),
        (" corn , red soil,oak ", ("corn", "red soil", "oak")),
        ("3,2.5,True,07", (3, 2.5, True, "07")),
        ('"a,b" , "c"', ("a,b", "c")),
        ("é,漢", ("é", "漢")),
    ],
)
def test_labels_are_words_as_in_a_control_text(polytomy, written, labels):
    outcome = polytomy("design", "adjacent", "--labels", written)
    assert parse(outcome.out).classes == labels


def test_design_numbers_binaries_under_a_name(polytomy):
    text = polytomy("design", "adjacent", "-n", 3, "--name", "wet").out
    assert text == "wet-00 0 / 1 2;\nwet-01 0 1 / 2;\n{0 1 2}\n"


def test_compact_is_the_short_form(polytomy):
    outcome = polytomy("design", "exhaustive", "-n", 4, "--compact")
    assert outcome.out == "@exhaustive {0 1 2 3}\n"


def test_the_number_of_partitions_is_that_of_a_random_code(polytomy):
    text = polytomy("design", "random", "-n", 6, "--partitions", 9, "--seed", 0).out
    assert parse(text) == designs.random_code(6, n_partitions=9, random_state=0)


# -- check ------------------------------------------------------------------------------------


def test_check_describes_a_valid_file(polytomy, here):
    outcome = polytomy("check", "land.control")
    assert outcome == (0, "land.control: tree, 4 classes, 3 partitions\n", "")


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (b"corn", "tree, 1 class, 0 partitions"),
        (b"m {a b}", "tree, 2 classes, 1 partition"),
        (b"@one-vs-one {a b c}", "code, 3 classes, 3 partitions"),
        (b"@one-vs-one {a b m {c d}}", "mixture of codes, 4 classes, 4 partitions"),
        ("\ufeffm {é b}".encode(), "tree, 2 classes, 1 partition"),
    ],
)
def test_check_reads_standard_input(polytomy, text, summary):
    assert polytomy("check", "-", typed=text) == (0, f"<standard input>: {summary}\n", "")


def test_check_shows_every_problem_with_its_place(polytomy, here):
    (here / "land.control").write_text("m {\n  n {a}\n  a\n}\n")
    outcome = polytomy("check", "land.control")
    assert outcome.code == 1
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0].startswith("land.control:2:3: n has only one branch;")
    assert lines[1:3] == ["    n {a}", "    ^"]
    assert lines[3].startswith("land.control:3:3: class a is already used at 2:6;")
    assert lines[4:] == ["    a", "    ^"]


def test_check_reads_all_files(polytomy, here):
    outcome = polytomy("check", "bad.control", "land.control", "bad.control")
    assert outcome.code == 1
    assert [line.split(":")[0] for line in outcome.out.splitlines() if "control:" in line] == [
        "bad.control",
        "land.control",
        "bad.control",
    ]


def test_check_continues_after_a_file_that_cannot_be_read(polytomy, here):
    outcome = polytomy("check", "nothing.control", ".", "bad.control", "land.control")
    assert outcome.code == 2
    assert outcome.err == (
        "polytomy: nothing.control: No such file or directory\npolytomy: .: Is a directory\n"
    )
    assert "bad.control:1:1:" in outcome.out
    assert outcome.out.endswith("land.control: tree, 4 classes, 3 partitions\n")


def test_an_undetermined_code_is_a_warning_and_with_strict_a_problem(polytomy):
    outcome = polytomy("check", "-", typed=OPEN)
    assert outcome.code == 0
    assert outcome.out.startswith(f"warning: <standard input>:1:1: {UNDECIDED}")
    assert outcome.out.endswith("<standard input>: code, 4 classes, 2 partitions\n")
    assert polytomy("check", "--strict", "-", typed=OPEN) == (1, outcome.out, "")


@pytest.mark.parametrize("command", ["show", "flatten"])
def test_other_commands_warn_on_standard_error(polytomy, command):
    outcome = polytomy(command, "-", typed=OPEN)
    assert outcome.code == 0
    assert outcome.err.startswith(f"polytomy: warning: <standard input>:1:1: {UNDECIDED}")
    assert "warning" not in outcome.out


def test_bytes_that_are_not_text_are_shown_with_their_place(polytomy, here):
    (here / "latin.control").write_bytes("m {grün\n rötlich}".encode("latin-1"))
    words = "byte 0xfc is not UTF-8 text; save the file as UTF-8\n"
    assert polytomy("check", "latin.control") == (1, f"latin.control:1:6: {words}", "")
    assert polytomy("show", "latin.control") == (2, "", f"polytomy: latin.control:1:6: {words}")


# -- show, flatten, tree ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")]
)
@pytest.mark.parametrize("options", [(), ("--matrix",)])
def test_show_writes_a_picture(polytomy, here, name, start, options):
    plt.close("all")  # those of other tests, or there might be a warning of many open figures
    assert polytomy("show", "land.control", *options, "-o", name) == (0, "", "")
    assert (here / name).read_bytes().startswith(start)


def test_show_writes_only_pictures(polytomy, here):
    words = "polytomy: a.gif must end with one of .png, .svg, .pdf\n"
    assert polytomy("show", "land.control", "-o", "a.gif") == (2, "", words)


def test_show_draws_the_tree_or_the_matrix(polytomy, here):
    scheme = read("land.control")
    assert polytomy("show", "land.control") == (0, scheme.draw() + "\n", "")
    assert polytomy("show", "land.control", "--matrix").out == scheme.draw(matrix=True) + "\n"
    assert scheme.draw(matrix=True).splitlines()[4:] == [
        "FieldVsForest - - + +",
        "CornVsWheat   - + . .",
        "PineVsOak     . . - +",
    ]


def test_the_scheme_of_a_saved_model_can_be_shown(polytomy, here):
    X, y = np.eye(4).repeat(5, axis=0), np.repeat(list("abcd"), 5)
    tree = pt.PolytomyClassifier(GaussianNB(), "m {a n {b o {c d}}}").fit(X, y)
    pt.save(tree, "tree.polytomy")
    assert polytomy("show", "tree.polytomy") == (0, tree.scheme_.draw() + "\n", "")
    pt.save(tree.set_params(scheme=["tree", "one-vs-rest"]).fit(X, y), "pool.polytomy")
    words = "pool.polytomy has 2 schemes; polytomy info lists them.\n"
    assert polytomy("show", "pool.polytomy") == (2, "", f"polytomy: {words}")


def test_flatten_and_tree_undo_each_other(polytomy, here):
    flat = polytomy("flatten", "land.control")
    assert flat.out == str(read("land.control").flatten()) + "\n"
    assert polytomy("tree", "-", typed=flat.out.encode()).out == (here / "land.control").read_text()


def test_flatten_can_write_the_short_form(polytomy):
    typed = b"@one-vs-rest {a b c}"
    assert polytomy("flatten", "--compact", "-", typed=typed).out == typed.decode() + "\n"


# -- help -------------------------------------------------------------------------------------


def test_no_command_shows_the_help(polytomy):
    outcome = polytomy()
    assert outcome.code == 2
    assert "Usage: polytomy" in outcome.out + outcome.err


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_command(polytomy, option):
    outcome = polytomy(option)
    assert outcome.code == 0
    assert all(name in outcome.out for name in ("design", "check", "show", "flatten", "tree"))


def test_help_on_designs_names_every_design(polytomy):
    words = " ".join(polytomy("design", "--help").out.replace("│", "").split())
    assert all(name in words for name in (*DESIGNS, *LABEL_DESIGNS, *DATA_DESIGNS))


def test_check_reports_problems_as_json(polytomy, here):
    outcome = polytomy("check", "land.control", "bad.control", "--json")
    assert outcome.code == 1
    good, bad = json.loads(outcome.out)
    assert good == {
        "file": "land.control",
        "problems": [],
        "warnings": [],
        "scheme": {"kind": "tree", "classes": ["corn", "wheat", "pine", "oak"], "partitions": 3},
    }
    assert bad["file"] == "bad.control"
    (problem,) = bad["problems"]
    assert (problem["line"], problem["column"]) == (1, 1)
    assert problem["message"].startswith("m has only one branch")
    assert polytomy("check", "land.control", "--json").code == 0
    outcome = polytomy("check", "nothing.control", "--json")
    assert (outcome.code, json.loads(outcome.out)) == (2, [])


def test_n_ary_codes_have_sides_and_partitions(polytomy):
    outcome = polytomy("design", "n-ary", "-n", 9, "--sides", 3, "--partitions", 5, "--seed", 1)
    assert parse(outcome.out) == designs.n_ary_code(9, sides=3, rows=5, random_state=1)
    outcome = polytomy("design", "n-ary", "-n", 9, "--sides", 3, "--partitions", 1)
    words = "--partitions 1 is too few to separate 9 classes with 3 sides. Use 2 or more."
    assert (outcome.code, words in outcome.err) == (2, True)
    outcome = polytomy("design", "n-ary", "-n", 4, "--sides", 5)
    assert "--sides 5 is too many for 4 classes. Use 4 or fewer." in outcome.err


def test_labels_that_are_paths_make_a_hierarchy(polytomy):
    outcome = polytomy("design", "paths", "-l", "comp.mac,comp.pc,sci", "--separator", ".")
    assert outcome.out == "hierarchy {\n  comp {comp.mac comp.pc}\n  sci\n}\n"
    outcome = polytomy("design", "paths", "-l", "comp.mac,comp.pc,sci")
    words = "Another separator, such as --separator ., can be passed to the design."
    assert (outcome.code, words in outcome.err) == (2, True)
