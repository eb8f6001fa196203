"""Atomic writing: a file appears complete or not at all."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from needs import needs_posix
from polytomy.files import open_atomically


def test_the_file_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "a.txt"
    with open_atomically(target) as file:
        file.write(b"half ")
        assert not target.exists()
        file.write(b"whole")
    assert target.read_bytes() == b"half whole"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_keeps_the_existing_file_and_leaves_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    target.write_bytes(b"before")

    def fail():
        with open_atomically(target) as file:
            file.write(b"after")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


@needs_posix
def test_a_link_stays_a_link_and_its_target_keeps_its_mode(tmp_path):
    target, link = tmp_path / "a.txt", tmp_path / "link"
    target.write_bytes(b"before")
    target.chmod(0o640)
    link.symlink_to(target)
    with open_atomically(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@needs_posix
def test_a_new_file_has_the_mode_that_the_umask_allows(tmp_path):
    mask = os.umask(0o027)
    try:
        with open_atomically(tmp_path / "a.txt") as file:
            file.write(b"1")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


@needs_posix
def test_a_pipe_is_written_to_directly(tmp_path):
    reading, writing = os.pipe()
    with open_atomically(f"/dev/fd/{writing}") as file:
        file.write(b"through")
    os.close(writing)
    assert os.read(reading, 100) == b"through"
    os.close(reading)


def test_a_missing_folder_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as info, open_atomically(tmp_path / "no" / "a.txt"):
        pass
    assert info.value.filename == str(tmp_path / "no" / "a.txt")


@needs_posix
def test_a_killed_process_leaves_no_part_of_the_file(tmp_path):
    program = (
        "import sys, os, signal\n"
        "from polytomy.files import open_atomically\n"
        "with open_atomically(sys.argv[1]) as file:\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "a.txt").write_bytes(b"before")
    command = [sys.executable, "-c", program, str(tmp_path / "a.txt")]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert (tmp_path / "a.txt").read_bytes() == b"before"
