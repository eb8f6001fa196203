"""Atomic writing: a file appears complete or not at all."""

import os
import signal
import stat
import subprocess
import sys

import pytest

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


def test_a_new_file_has_the_mode_that_the_umask_allows(tmp_path):
    mask = os.umask(0o027)
    try:
        with open_atomically(tmp_path / "a.txt") as file:
            file.write(b"1")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


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


# -- leftovers of processes that were killed -------------------------------------------------------

WRITER = """
import sys
from polytomy.files import open_atomically
with open_atomically(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def _start_writer(target):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout.readline() == b"writing\n"
    return writer


def _temporary_files(folder):
    return [name for name in os.listdir(folder) if name.startswith(".polytomy-")]


def _write(path, content=b"whole"):
    with open_atomically(path) as file:
        file.write(content)


def test_the_next_write_deletes_what_a_killed_process_left_when_it_is_old(tmp_path):
    writer = _start_writer(tmp_path / "a.txt")
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    (left,) = _temporary_files(tmp_path)
    _write(tmp_path / "b.txt")
    assert sorted(os.listdir(tmp_path)) == [left, "b.txt"]
    two_days_ago = (tmp_path / left).stat().st_mtime - 48 * 3600
    os.utime(tmp_path / left, (two_days_ago, two_days_ago))
    _write(tmp_path / "b.txt")
    assert os.listdir(tmp_path) == ["b.txt"]


def test_a_file_that_a_running_process_writes_is_not_deleted(tmp_path):
    writer = _start_writer(tmp_path / "a.txt")
    _write(tmp_path / "b.txt")
    assert len(_temporary_files(tmp_path)) == 1
    writer.communicate(b"")
    assert writer.returncode == 0
    assert (tmp_path / "a.txt").read_bytes() == b"half"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


def test_a_file_that_this_process_writes_is_not_deleted(tmp_path):
    with open_atomically(tmp_path / "a.txt") as file:
        file.write(b"outer")
        _write(tmp_path / "b.txt", b"inner")
    assert (tmp_path / "a.txt").read_bytes() == b"outer"
    assert (tmp_path / "b.txt").read_bytes() == b"inner"


def test_files_of_other_kinds_are_never_deleted(tmp_path):
    for name in (".polytomy-notes", "polytomy-abcd_123", ".polytomy-ABCDEFGH", "model.polytomy"):
        (tmp_path / name).write_bytes(b"mine")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".polytomy-aaaaaaaa").mkdir()
    (tmp_path / ".polytomy-bbbbbbbb").symlink_to(tmp_path / "model.polytomy")
    os.mkfifo(tmp_path / ".polytomy-cccccccc")
    os.utime(tmp_path / ".polytomy-cccccccc", (0, 0))
    before = set(os.listdir(tmp_path))
    _write(tmp_path / "a.txt")
    assert set(os.listdir(tmp_path)) == {*before, "a.txt"}
    assert (tmp_path / "model.polytomy").read_bytes() == b"mine"
