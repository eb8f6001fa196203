"""The command warm-up."""

import json
import re


def test_it_says_what_is_ready_and_where(polytomy):
    outcome = polytomy("warm-up")
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    count = len(lines)
    assert lines[0].startswith(f"1/{count} ")
    assert lines[-1].startswith(f"{count}/{count} ")
    pattern = rf"{count} routines are ready \(.*, \d+\.\d s\); their machine code is in .*\n"
    assert re.fullmatch(pattern, outcome.out)


def test_it_prints_json(polytomy):
    outcome = polytomy("warm-up", "--json")
    assert outcome.err == ""
    found = json.loads(outcome.out)
    assert set(found) == {"n_routines", "n_compiled", "seconds", "folder"}


def test_a_folder_that_cannot_be_written_is_one_message(polytomy, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(file))
    outcome = polytomy("warm-up")
    assert outcome.code == 2
    assert outcome.err.startswith(f"polytomy: NUMBA_CACHE_DIR is {file}, which is not writable (")
    assert outcome.err.count("\n") == 1
