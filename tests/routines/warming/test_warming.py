"""All routines can be compiled ahead of their first use."""

from __future__ import annotations

from pathlib import Path

import pytest
from joblib import parallel_config

import polytomy as pt
from polytomy.routines.compiling import count_compiled
from polytomy.routines.dispatch import has_machine_code
from polytomy.routines.warming import examples


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_routine_is_reported_and_then_ready(n_jobs):
    reports = []
    with parallel_config("threading"):  # processes, which `make test` uses, take seconds
        done = pt.warm_up(reports.append, n_jobs=n_jobs)
    names = {name for _, name, _ in examples()}
    assert {report.routine for report in reports[:-1]} == names
    assert [report.n_done for report in reports] == list(range(done.n_routines + 1))
    assert {report.n_routines for report in reports} == {done.n_routines} == {len(names)}
    assert reports[-1].routine == ""
    assert any(Path(done.folder).glob("**/*.nbi"))


def test_the_second_time_nothing_is_compiled():
    pt.warm_up()
    before = count_compiled()
    assert pt.warm_up().n_compiled == 0
    assert count_compiled() == before


def test_the_machine_code_is_looked_for_again():
    has_machine_code.cache_clear()
    has_machine_code("train_machines", "smo")
    pt.warm_up()
    assert has_machine_code.cache_info().currsize == 0


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(file / "folder"))
    with pytest.raises(pt.PolytomyError) as error:
        pt.warm_up()
    assert str(error.value).startswith(
        f"NUMBA_CACHE_DIR is {file / 'folder'}, which is not writable (Not a directory). Set it"
    )
