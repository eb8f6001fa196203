"""What is written in axes of matplotlib, and what happens without matplotlib."""

import sys

import pytest

from polytomy.errors import ArgumentError

__all__ = ["check_needs_matplotlib", "texts"]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def check_needs_matplotlib(monkeypatch, draw):
    """Assert that a plot without matplotlib raises an error that names the extra."""
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.colors"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ArgumentError, match=r'Run: pip install "polytomy\[plots\]"'):
        draw()
