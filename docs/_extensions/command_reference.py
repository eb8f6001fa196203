"""A Sphinx extension that writes the reference of the command line from the commands themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer.main

from polytomy.cli.app import app, describe_parameter

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
    for title, rows in _collect_panels(command, context).items():
        kind = title[:-1].lower() if title in ("Arguments", "Commands") else "option"
        if title not in ("Arguments", "Options", "Commands"):
            lines += [f"{title}:", ""]
        lines += [f"| {kind} | meaning |", "|---|---|"]
        lines += [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in rows]
        lines.append("")
    return "\n".join(lines)


def _collect_panels(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return names and meanings: of arguments, of options by topic, of the commands of a group."""
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for each in command.get_params(context):
        if getattr(each, "hidden", False):
            continue
        is_argument = each.param_type_name == "argument"
        title = getattr(each, "rich_help_panel", None) or (
            "Arguments" if is_argument else "Options"
        )
        panels.setdefault(title, []).append(_describe(each))
    for name, found in getattr(command, "commands", {}).items():
        panels.setdefault("Commands", []).append((name, (found.help or "").split("\n\n")[0]))
    return {title: rows for title, rows in panels.items() if rows}


def _describe(parameter: Any) -> tuple[str, str]:
    """Return what to type for a parameter, and what it means, with its default."""
    shown = describe_parameter(parameter)
    value = str(shown.metavar or shown.name.upper())
    if shown.param_type_name == "argument":
        return (value if shown.nargs == 1 else f"{value}..."), shown.help
    name = ", ".join(sorted(shown.opts, key=len))
    if shown.secondary_opts:
        name = f"{name} / {', '.join(shown.secondary_opts)}"
    elif not shown.is_flag:
        name = f"{name} {value}"
    if shown.required:
        return name, f"{shown.help} [required]"
    has_default = shown.show_default and shown.default is not None
    return name, f"{shown.help} [default: {shown.default}]" if has_default else shown.help


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
