"""Text that commands read and write."""

import errno
import os
import stat
import threading
from pathlib import Path
from unittest import mock

import pytest

from needs import needs_posix
from polytomy import designs
from polytomy.cli.data import check_output
from polytomy.errors import ArgumentError


def test_a_new_file_has_the_usual_mode(polytomy, here):
    polytomy("design", "tree", "-n", 3, "-o", "new.control")
    (here / "touched").touch()
    assert Path("new.control").read_text() == str(designs.balanced_tree(3)) + "\n"
    assert Path("new.control").stat().st_mode == Path("touched").stat().st_mode


@pytest.mark.parametrize("command", ["flatten", "tree"])
def test_bad_input_keeps_the_existing_file(polytomy, here, command):
    Path("out.control").write_text("precious")
    assert polytomy(command, "bad.control", "-o", "out.control").code == 2
    assert Path("out.control").read_text() == "precious"


def test_a_control_file_may_be_overwritten_by_its_result(polytomy, here):
    flat = polytomy("flatten", "land.control").out
    assert polytomy("flatten", "land.control", "-o", "land.control").code == 0
    assert Path("land.control").read_text() == flat


def test_a_full_disk_keeps_the_existing_file(polytomy, here):
    Path("out.control").write_text("precious")
    before = sorted(here.iterdir())
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch("os.fdopen", side_effect=full):
        outcome = polytomy("design", "tree", "-n", 3, "-o", "out.control")
    assert outcome == (2, "", "polytomy: No space left on device\n")
    assert Path("out.control").read_text() == "precious"
    assert sorted(here.iterdir()) == before


@needs_posix
def test_a_file_keeps_its_mode_and_a_link_its_target(polytomy, here):
    Path("out.control").write_text("old")
    Path("out.control").chmod(0o640)
    Path("link.control").symlink_to("out.control")
    polytomy("design", "tree", "-n", 2, "-o", "link.control")
    assert Path("link.control").is_symlink()
    assert Path("out.control").read_text() == "tree {0 1}\n"
    assert stat.S_IMODE(Path("out.control").stat().st_mode) == 0o640


@needs_posix
def test_a_pipe_is_written_to_directly(polytomy, here):
    os.mkfifo("pipe")
    received = []
    # Opening a pipe waits for the other end, for ever if the command fails.
    reader = threading.Thread(target=lambda: received.append(Path("pipe").read_text()), daemon=True)
    reader.start()
    assert polytomy("design", "tree", "-n", 2, "-o", "pipe").code == 0
    reader.join(timeout=30)
    assert received == ["tree {0 1}\n"]
    assert Path("pipe").is_fifo()


@needs_posix
@pytest.mark.parametrize("source", ["/dev/zero", "-"])
def test_endless_input_is_an_error_in_bounded_memory(finish, source):
    # Each thread of OpenBLAS reserves address space of its own.
    line = f"ulimit -v 1500000; polytomy check {source} < /dev/zero"
    outcome = finish(shell=line, variables={"OPENBLAS_NUM_THREADS": "1"})
    name = source if source != "-" else "<standard input>"
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.startswith(f"{name}:1:1: the file is larger than ")
    assert "67,108,864 bytes" in outcome.out


@needs_posix
@pytest.mark.parametrize("n_classes", [3, 300])
def test_a_reader_that_is_gone_is_not_a_failure(start, n_classes):
    with start("design", "one-vs-one", "-n", n_classes) as process:
        process.stdout.close()
        err = process.stderr.read().decode()
    assert (process.returncode, err) == (0, "")


@needs_posix
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
def test_a_full_output_is_a_message(finish, here):
    outcome = finish(shell="polytomy show land.control > /dev/full")
    assert outcome == (2, "", "polytomy: No space left on device\n")


@pytest.mark.parametrize(
    "line",
    [
        "predict iris.polytomy iris.csv -o iris.csv",
        "predict iris.polytomy iris.csv -o iris.polytomy",
        "distances iris.csv -o iris.csv",
        "search iris.csv -o iris.csv",
        "design tree iris.csv -o iris.csv",
    ],
)
def test_no_input_is_overwritten(polytomy, here, line):
    Path("iris.polytomy").write_bytes(b"model")
    before = Path("iris.csv").read_bytes(), Path("iris.polytomy").read_bytes()
    outcome = polytomy(*line.split())
    assert outcome.code == 2
    assert " is also an input file; choose another output file" in outcome.err
    assert (Path("iris.csv").read_bytes(), Path("iris.polytomy").read_bytes()) == before


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("folder", "folder is a folder, not a file"),
        ("a.csv", "a.csv is also an input file; choose another output file"),
        ("folder/../a.csv", "folder/../a.csv is also an input file; choose another output file"),
    ],
)
def test_an_output_that_cannot_be_written_is_an_error(tmp_path, monkeypatch, output, message):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(ArgumentError) as info:
        check_output(Path(output), "a.csv")
    assert str(info.value) == message


def test_an_output_in_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(ArgumentError, match=rf"the folder {tmp_path}/no does not exist"):
        check_output(tmp_path / "no" / "a.csv")
    check_output(tmp_path / "a.csv", str(tmp_path / "b.csv"))
    check_output(None)
