"""The command `report`."""

import json

import pytest

from cli.trials.trial_cases import LINE, write_datasets
from polytomy.report import report_html
from polytomy.trials import Results


@pytest.fixture
def data(here):
    return write_datasets(here / "data")


def test_the_report_covers_all_trials_in_the_folder(polytomy, data, here):
    polytomy(*LINE.split(), "--data", data, "--datasets", "land")
    page = here / "out" / "report.html"
    assert page.read_text() == report_html(Results.read("out"))
    assert "<title>Trials on land (polytomy)</title>" in page.read_text()
    polytomy(*LINE.split(), "--data", data, "--datasets", "sea")
    assert page.read_text() == report_html(Results.read("out"))
    assert "<title>Trials on land, sea (polytomy)</title>" in page.read_text()


def test_a_report_can_be_written_again_even_of_an_unfinished_run(polytomy, data, here):
    polytomy(*LINE.split(), "--data", data)
    page = here / "out" / "report.html"
    whole = page.read_bytes()
    page.unlink()
    outcome = polytomy("report", "out")
    assert outcome == (0, "report of out: out/report.html\n", "")
    assert page.read_bytes() == whole
    (here / "out" / "trials" / "sea-001.json").unlink()
    outcome = polytomy("report", "out", "-o", "partly.html", "--json")
    assert json.loads(outcome.out) == {"folder": "out", "report": "partly.html"}
    assert "The run is not finished" in (here / "partly.html").read_text()
    assert page.read_bytes() == whole


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report nowhere", "nowhere is not a results folder: it has no manifest.json."),
        ("report out -o no/where.html", "no/where.html: No such file or directory"),
    ],
)
def test_an_error_is_one_line_with_exit_code_2(polytomy, data, here, line, words):
    polytomy(*LINE.split(), "--data", data, "--repeats", "1")
    outcome = polytomy(*line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1
