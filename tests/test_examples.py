"""The examples of the gallery run, and draw pictures; those with files run on generated data."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[a-z]*.py"))


@pytest.fixture
def run_example(tmp_path, monkeypatch):
    """Runs an example in an empty folder, and returns the figures that it shows."""
    matplotlib = pytest.importorskip("matplotlib")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda *_, **__: shown.extend(pyplot.get_fignums()))

    def run(path):
        monkeypatch.setattr(sys, "argv", [str(path), "generated"])
        with matplotlib.rc_context({"backend": "agg"}):
            runpy.run_path(str(path), run_name="__main__")
        pyplot.close("all")
        return shown

    return run


OTHERS = [path for path in EXAMPLES if path.stem != "newsgroups_hierarchy"]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_examples_run_and_draw_a_picture(path, run_example):
    assert run_example(path)


def test_there_is_an_example_for_every_kind_of_user():
    assert {path.stem for path in EXAMPLES} >= {
        "choose_a_scheme",
        "cluster",
        "compare_schemes",
        "control_file",
        "many_classes",
        "migrate_from_svc",
        "newsgroups_hierarchy",
        "onnx_in_production",
        "ordered_classes",
        "prediction_sets",
        "regression",
        "trust_probabilities",
    }


def test_newsgroups_are_classified_down_their_hierarchy(run_example, capsys):
    assert run_example(EXAMPLES[0].with_name("newsgroups_hierarchy.py"))
    printed = capsys.readouterr().out
    assert "comp.sys {comp.sys.ibm.pc.hardware comp.sys.mac.hardware}" in printed
    scores = [line.split() for line in printed.splitlines() if "models" in line]
    assert [int(words[0]) for words in scores] == [1, 8, 42]
    # Far better than chance, which is one in twenty.
    assert all(float(words[words.index("accuracy") + 1]) > 0.5 for words in scores)
