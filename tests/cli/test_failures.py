"""How commands fail: one clean message and exit code 2, and no file is harmed."""

import errno
import os
import stat
import threading
from pathlib import Path
from unittest import mock

import pytest

from polytomy import designs

LIMIT = "the file is larger than the limit of 67,108,864 bytes"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", "tree"], "pass either --classes or --labels, such as --labels corn,wheat,oak"),
        (["design", "tree", "-n", 3, "-l", "a,b"], "pass either --classes or --labels"),
        (["design", "tree", "-l", "a,,b"], "--labels 'a,,b' has an empty label; write a,b,c"),
        (["design", "tree", "-l", "a,b,"], "--labels 'a,b,' has an empty label"),
        (["design", "tree", "-l", ""], "--labels '' has an empty label"),
        (["design", "tree", "-l", "a,b,a"], "class 'a' is given twice; list each class once"),
        (["design", "tree", "-l", r'"a\x"'], r"--labels:1:3: \x is not an escape"),
        (["design", "tree", "-l", "a\udcff"], "is not valid text: it has a lone surrogate"),
        (["design", "trees", "-n", 3], "'trees' is not a design. Use one of one-vs-one"),
        (["design", "trees", "-n", 3], "Did you mean 'tree'?"),
        (["design", "tree", "-n", 3, "--name", "a b"], "node 0 has a binary named 'a b'; a name"),
        (["design", "tree", "-n", 3, "--name", "\udcff"], "that is not valid text"),
        (["design", "tree", "-n", 3, "--seed", 1], "--seed 1 does not apply to 'tree'"),
        (["design", "tree", "-n", 10**15], "is too many. The limit is 1,048,576"),
        (["design", "one-vs-one", "-n", 10**5], "a coding matrix has at most 536,870,912"),
        (["design", "exhaustive", "-n", 21], "has 1,048,575 partitions; the limit is 20 classes"),
        (["design", "random", "-n", 9, "--partitions", 3], "--partitions 3 is too few to"),
        (["show", "nothing.control"], "nothing.control: No such file or directory"),
        (["show", "."], ".: Is a directory"),
        (["show", "bad.control"], "bad.control:1:1: m decides between two branches and has 3"),
        (["flatten", "bad.control"], "bad.control:1:1: m decides between two branches and has 3"),
        (["tree", "code.control"], "the code of m and its 3 branches is not a tree: its"),
        (["show", "-"], "<standard input>:1:1: the text is empty"),
        (["design", "tree", "-n", 3, "-o", "nowhere/a"], "nowhere/a: No such file or directory"),
        (["design", "tree", "-n", 3, "-o", "."], ".: Is a directory"),
    ],
)  # fmt: skip
def test_a_failure_is_one_message(polytomy, here, arguments, words):
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
        (["show"], "Missing argument"),
        (["show", "--colour", "a"], "No such option"),
        (["design", "tree", "-n", "many"], "Invalid value"),
        (["design", "tree", "-n", 0], "Invalid value"),
        (["design", "random", "-n", 3, "--seed", -1], "Invalid value"),
    ],
)
def test_wrong_use_is_explained(polytomy, arguments, words):
    outcome = polytomy(*arguments)
    assert outcome.code == 2
    assert "Usage: polytomy" in outcome.err
    assert words in outcome.err
    assert "Traceback" not in outcome.err


def test_a_scheme_that_does_not_fit_in_memory_is_a_message(polytomy, here):
    with mock.patch("polytomy.cli.schemes.parse", side_effect=MemoryError):
        outcome = polytomy("show", "land.control")
    assert outcome == (2, "", "polytomy: there is not enough memory for this\n")


# -- files that are written -----------------------------------------------------------------------


def test_a_file_is_written_like_any_other(polytomy, here):
    polytomy("design", "tree", "-n", 3, "-o", "new.control")
    (here / "touched").touch()
    assert Path("new.control").read_text() == str(designs.balanced_tree(3)) + "\n"
    assert Path("new.control").stat().st_mode == Path("touched").stat().st_mode


@pytest.mark.parametrize("command", ["flatten", "tree"])
def test_bad_input_leaves_the_file_that_is_there(polytomy, here, command):
    Path("out.control").write_text("precious")
    assert polytomy(command, "bad.control", "-o", "out.control").code == 2
    assert Path("out.control").read_text() == "precious"


def test_a_file_may_be_written_over_its_input(polytomy, here):
    flat = polytomy("flatten", "land.control").out
    assert polytomy("flatten", "land.control", "-o", "land.control").code == 0
    assert Path("land.control").read_text() == flat


def test_a_disk_that_is_full_leaves_the_file_that_is_there(polytomy, here):
    Path("out.control").write_text("precious")
    before = sorted(here.iterdir())
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch("os.fdopen", side_effect=full):
        outcome = polytomy("design", "tree", "-n", 3, "-o", "out.control")
    assert outcome == (2, "", "polytomy: No space left on device\n")
    assert Path("out.control").read_text() == "precious"
    assert sorted(here.iterdir()) == before


def test_a_file_keeps_its_mode_and_a_link_its_target(polytomy, here):
    Path("out.control").write_text("old")
    Path("out.control").chmod(0o640)
    Path("link.control").symlink_to("out.control")
    polytomy("design", "tree", "-n", 2, "-o", "link.control")
    assert Path("link.control").is_symlink()
    assert Path("out.control").read_text() == "tree {0 1}\n"
    assert stat.S_IMODE(Path("out.control").stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_stays(polytomy, here):
    os.mkfifo("pipe")
    received = []
    reader = threading.Thread(target=lambda: received.append(Path("pipe").read_text()))
    reader.start()
    assert polytomy("design", "tree", "-n", 2, "-o", "pipe").code == 0
    reader.join(timeout=30)
    assert received == ["tree {0 1}\n"]
    assert Path("pipe").is_fifo()


# -- as a process ---------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["/dev/zero", "-"])
def test_endless_input_is_refused_in_bounded_memory(finish, source):
    # Each thread of the linear algebra library reserves addresses of its own, so one must do.
    line = f"ulimit -v 1500000; polytomy check {source} < /dev/zero"
    outcome = finish(shell=line, variables={"OPENBLAS_NUM_THREADS": "1"})
    name = source if source != "-" else "<standard input>"
    assert outcome == (1, f"{name}:1:1: {LIMIT}\n", "")


@pytest.mark.parametrize("n_classes", [3, 300])
def test_a_reader_that_has_gone_is_no_failure(start, n_classes):
    with start("design", "one-vs-one", "-n", n_classes) as process:
        process.stdout.close()
        err = process.stderr.read().decode()
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("line", "stream"),
    [
        ("polytomy show land.control >&-", "output"),
        ("polytomy design tree -n 2 >&-", "output"),
        ("polytomy --version >&-", "output"),
        ("polytomy show - <&-", "input"),
    ],
)
def test_a_closed_stream_is_a_message(finish, here, line, stream):
    outcome = finish(shell=line)
    assert outcome == (2, "", f"polytomy: <standard {stream}>: Bad file descriptor\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_output_that_is_full_is_a_message(finish, here):
    outcome = finish(shell="polytomy show land.control > /dev/full")
    assert outcome == (2, "", "polytomy: No space left on device\n")


def test_a_terminal_that_cannot_show_a_character_is_a_message(finish, here):
    outcome = finish("show", "land.control", variables={"PYTHONIOENCODING": "ascii"})
    words = r"polytomy: the terminal cannot show '\u251c'; set its encoding to UTF-8"
    assert outcome == (2, "", words + "\n")
