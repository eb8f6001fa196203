"""Every example of the gallery runs, and draws something."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[a-z]*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_draw_a_picture(path, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda *_, **__: shown.append(pyplot.get_fignums()))
    with matplotlib.rc_context({"backend": "agg"}):
        runpy.run_path(str(path), run_name="__main__")
    pyplot.close("all")
    assert any(shown), "an example shows at least one figure"


def test_there_are_examples():
    assert len(EXAMPLES) >= 7
