"""The help of the commands: usage, description, and panels of two columns.

Typer's own help has six columns, which leaves little room for the text on a terminal of 80
columns, and shows types such as <bool>. This one shows what to type, `-o, --output FILE`, and what
it means.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from typer.core import TyperCommand, TyperGroup

__all__ = ["HelpfulCommand", "HelpfulGroup", "Panel", "describe_panels", "describe_usage"]

_ARGUMENTS = "Arguments"
_OPTIONS = "Options"
_MOST_COLUMNS = 100


class Panel(NamedTuple):
    """A group of arguments, options or commands: its title, and pairs of a name and its meaning."""

    title: str
    rows: list[tuple[str, str]]


class HelpfulCommand(TyperCommand):
    """A command with this help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _print_help(self, ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line after the name of the command."""
        return describe_usage(self)


class HelpfulGroup(TyperGroup):
    """A group of commands with this help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _print_help(self, ctx)


def describe_usage(command: Any) -> list[str]:
    """Return the parts of the usage line: [OPTIONS], DATA, [DATA] if it is optional, FILE...

    Examples
    --------
    >>> from polytomy.cli.app import app
    >>> from polytomy.cli.option_names import find_command
    >>> describe_usage(find_command(app, ["design"]))
    ['[OPTIONS]', 'NAME', '[DATA]']
    """
    pieces = ["[OPTIONS]"]
    for each in command.params:
        if each.param_type_name == "argument" and not each.hidden:
            name = _name_argument(each)
            pieces.append(name if each.required else f"[{name}]")
    return pieces


def describe_panels(command: Any, context: Any) -> list[Panel]:
    """Return the panels of a command: arguments, options by their topic, commands of a group."""
    panels: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: [], _OPTIONS: []}
    for each in command.get_params(context):
        if getattr(each, "hidden", False):
            continue
        is_argument = each.param_type_name == "argument"
        title = getattr(each, "rich_help_panel", None) or (_ARGUMENTS if is_argument else _OPTIONS)
        name = _name_argument(each) if is_argument else _name_option(each)
        panels.setdefault(title, []).append((name, _describe(each)))
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        found = command.get_command(context, name)
        if found is not None and not found.hidden:
            summary = (found.short_help or found.help or "").split("\n\n")[0]
            panels.setdefault("Commands", []).append((name, _plain(summary)))
    return [Panel(title, rows) for title, rows in panels.items() if rows]


def _name_argument(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return f"{name}..." if argument.nargs != 1 else name


def _name_option(option: Any) -> str:
    names = sorted(option.opts, key=len)
    text = ", ".join(names)
    if option.secondary_opts:
        return f"{text} / {', '.join(option.secondary_opts)}"
    if option.is_flag or getattr(option, "count", False):
        return text
    return f"{text} {option.metavar or option.name.upper()}"


def _describe(parameter: Any) -> str:
    """Return the meaning of a parameter, and its default."""
    text = _plain(parameter.help)
    if parameter.required:
        return f"{text} [required]" if parameter.param_type_name == "option" else text
    default = parameter.default
    if default is None or isinstance(default, bool) or "efault" in text:
        return text
    return f"{text} [default: {default}]"


def _plain(text: str | None) -> str:
    """Return a help text on one line, without Markdown markup.

    Examples
    --------
    >>> _plain("Compare schemes.\\n\\nExample: `polytomy search`")
    'Compare schemes. Example: polytomy search'
    """
    return " ".join(re.sub(r"`([^`]*)`", r"\1", text or "").split())


def _print_help(command: Any, context: Any) -> None:
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.panel import Panel as Box
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.width = min(console.width, _MOST_COLUMNS)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    paragraphs = [_plain(each) for each in (command.help or "").split("\n\n")]
    top = [Text.assemble(("Usage: ", "bold"), usage), *map(Text, paragraphs)]
    parts: list[Any] = [Padding(each, (1, 1, 0, 1)) for each in top]
    for title, rows in describe_panels(command, context):
        table = Table.grid(padding=(0, 2), expand=True)
        # Long names take at most two fifths of the width, and wrap.
        width = max(len(name) for name, _ in rows)
        table.add_column(style="bold cyan", width=min(width, 2 * console.width // 5))
        table.add_column(ratio=1)
        for name, meaning in rows:
            table.add_row(Text(name), Text(meaning))
        parts.append(Box(table, title=title, title_align="left", border_style="dim"))
    parts.insert(len(top), "")
    console.print(Group(*parts))
