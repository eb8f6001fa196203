import os
import subprocess
import sys

import pytest

from polytomy.errors import ArgumentError
from polytomy.files import check_output_folder, open_folder_atomically


def names_in(folder):
    return sorted(os.listdir(folder))


def test_a_folder_is_replaced_when_everything_is_written(tmp_path):
    target = tmp_path / "out"
    for text in ("first", "second"):
        with open_folder_atomically(target) as folder:
            (folder / "part-00000.parquet").write_text(text)
    assert names_in(tmp_path) == ["out"]
    assert (target / "part-00000.parquet").read_text() == "second"


def test_a_failure_leaves_everything_as_it_was(tmp_path):
    target = tmp_path / "out"
    with open_folder_atomically(target) as folder:
        (folder / "part-00000.parquet").write_text("first")

    def fail():
        with open_folder_atomically(target) as folder:
            (folder / "part-00000.parquet").write_text("second")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert names_in(tmp_path) == ["out"]
    assert (target / "part-00000.parquet").read_text() == "first"


_KILLED = """
import os, signal, sys
from polytomy.files import open_folder_atomically
with open_folder_atomically(sys.argv[1]) as folder:
    (folder / "part-00000.parquet").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_deleted_by_the_next_when_it_is_old(tmp_path):
    target = tmp_path / "out"
    subprocess.run([sys.executable, "-c", _KILLED, str(target)], check=False)
    assert not target.exists()
    (left,) = tmp_path.iterdir()
    with open_folder_atomically(tmp_path / "other") as folder:
        (folder / "part-00000.parquet").write_text("whole")
    assert names_in(tmp_path) == [left.name, "other"]
    (tmp_path / "other" / "part-00000.parquet").unlink()
    (tmp_path / "other").rmdir()
    os.utime(left, (0, 0))
    with open_folder_atomically(target) as folder:
        (folder / "part-00000.parquet").write_text("whole")
    assert names_in(tmp_path) == ["out"]


def test_a_folder_with_other_files_is_not_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(ArgumentError, match=r"contains thesis\.tex, which would be lost"):
        check_output_folder(tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match=r"is a file\. The output is a folder"):
        check_output_folder(tmp_path / "file")
    with pytest.raises(ArgumentError, match="does not exist"):
        check_output_folder(tmp_path / "none" / "out")
