"""A Sphinx extension that shows the fragments of changelog.d on the page of the changelog.

The comment `<!-- unreleased changes -->` is replaced by what towncrier would add to CHANGELOG.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["render_fragments", "setup"]

ROOT = Path(__file__).parents[2]
PLACE = "<!-- unreleased changes -->"


def render_fragments(root: Path = ROOT) -> str:
    """Return the section of the unreleased changes, empty if there are none."""
    if not any((root / "changelog.d").glob("*.*.md")):
        return ""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--date", ""]
    done = subprocess.run(
        [*command, "--version", "Unreleased", "--dir", root],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def _insert(app: Any, page: str, source: list[str]) -> None:
    if PLACE not in source[0]:
        return
    for fragment in (ROOT / "changelog.d").iterdir():
        app.env.note_dependency(str(fragment), docname=page)
    # Fragments have the links of CHANGELOG.md, which is one folder up.
    section = render_fragments().replace("](docs/", "](")
    source[0] = source[0].replace(PLACE, section)


def setup(app: Any) -> dict[str, bool]:
    """Insert the changes when Sphinx reads the page."""
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
