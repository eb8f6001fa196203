"""A Sphinx extension that writes the reference of the command line from the commands themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer.main

from polytomy.cli.app import app
from polytomy.cli.help_pages import describe_panels

__all__ = ["describe_command", "describe_commands", "setup"]

PAGE = Path("reference", "command_line.md")

_INTRODUCTION = """# Command line

Every command and option, from the commands themselves. [Commands](../commands.md) shows them at
work. `polytomy COMMAND --help` prints the same.
"""


def describe_commands(root: Any) -> str:
    """Return the page: one section for each command, in the order of `polytomy --help`."""
    context = typer.Context(root, info_name="polytomy")
    parts = [_INTRODUCTION]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is None or command.hidden:
            continue
        parts.append(describe_command(f"polytomy {name}", command))
        for part, found in getattr(command, "commands", {}).items():
            parts.append(describe_command(f"polytomy {name} {part}", found))
    return "\n".join(parts)


def describe_command(title: str, command: Any) -> str:
    """Return the section of a command: usage, description, arguments and options."""
    context = typer.Context(command, info_name=title)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {title}", "", "```text", f"{title} {usage}", "```", "", _clean(command.help), ""]
    for panel in describe_panels(command, context):
        kind = (
            "option" if panel.title not in ("Arguments", "Commands") else panel.title[:-1].lower()
        )
        if panel.title not in ("Arguments", "Options", "Commands"):
            lines += [f"{panel.title}:", ""]
        lines += [f"| {kind} | meaning |", "|---|---|"]
        lines += [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in panel.rows]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _clean(text: str | None) -> str:
    """Return a help text without the marks of rich and click."""
    return re.sub(r"\[/?[a-z ]+\]", "", (text or "").replace("\b", "").replace("\f", ""))


def _write_page(sphinx: Any) -> None:
    root = typer.main.get_command(app)
    text = describe_commands(root)
    path = Path(sphinx.srcdir, PAGE)
    # Left alone if nothing has changed, so that Sphinx does not read it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(sphinx: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("builder-inited", _write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
