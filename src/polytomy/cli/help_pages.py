"""How commands speak: their help, and options in place of the arguments in library messages.

Typer's own help has six columns, which leaves little room for the text on a terminal of 80
columns, and shows types such as <bool>. This one has panels of two columns: what to type,
`-o, --output FILE`, and what it means.

A library message writes an argument as in Python, ``target=-1``. The user of a command knows it as
an option, ``--target -1``. See `polytomy.errors.Message`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from polytomy.cli.options import fill_in_names, find_default
from polytomy.errors import Argument

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
    text = fill_in_names(_plain(parameter.help))
    if parameter.required:
        return f"{text} [required]" if parameter.param_type_name == "option" else text
    default = find_default(parameter)
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


# -- arguments in messages -------------------------------------------------------------------------

#: Parameters of the library, and other names of the fields whose options set them.
OTHER_NAMES = {
    "base": ["name"],
    "categories": ["one_hot"],
    "features": ["n_features"],
    "method": ["solver", "solvers"],
    "n_features": ["features"],
    "random_state": ["seed"],
    "rows": ["n_partitions"],
    "scheme": ["candidates", "schemes"],
    "solver": ["solvers"],
}
# Parameters of later commands that a message may mention.
_OF_LATER_COMMANDS = ("trusted",)


def find_command(app: typer.Typer, words: Sequence[str]) -> Any:
    """Return the command that a command line runs; the app itself if it names none.

    Parameters
    ----------
    app : the whole command line
    words : the command line, without the name of the program
    """
    command: Any = typer.main.get_command(app)  # from click, or from typer's own copy of it
    for word in words:
        found = getattr(command, "commands", {}).get(word)
        if found is None:
            break
        command = found
    return command


def show_option(argument: Argument, command: Any, app: typer.Typer) -> str:
    """Return an argument as the user of a command writes it.

    Parameters that no option sets are parameters of an estimator, and are written as in Python.

    Examples
    --------
    >>> from polytomy.cli.app import app
    >>> train, predict = (find_command(app, [name]) for name in ("train", "predict"))
    >>> show_option(Argument("target", -1), train, app)
    '--target -1'
    >>> show_option(Argument("header", False), train, app)
    '--no-header'
    >>> show_option(Argument("solver", "price"), predict, app)  # has no such option
    'solver price'
    >>> show_option(Argument("zero_based", True), train, app)
    '--zero-based yes'
    >>> show_option(Argument("n_neighbors", 5), train, app)
    'n_neighbors=5'
    """
    names = [argument.name, *OTHER_NAMES.get(argument.name, ())]
    own = {option.name: option for option in command.params if option.param_type_name == "option"}
    every = {option.name: option for option in _walk_options(find_command(app, []))}
    if not any(name in every for name in names):
        return str(argument)
    found = next((own[name] for name in names if name in own), None)
    if found is None and argument.name in _OF_LATER_COMMANDS:
        found = every[argument.name]
    if found is None:
        return _with_value(argument.name.replace("_", " "), argument)
    if getattr(found, "is_flag", False):
        is_off = argument.value is False and found.secondary_opts
        return str((found.secondary_opts if is_off else found.opts)[0])
    return _with_value(max(found.opts, key=len), argument)


def _walk_options(command: Any) -> Iterator[Any]:
    """Yield the options of a command and of the commands below it."""
    yield from (each for each in command.params if each.param_type_name == "option")
    for below in getattr(command, "commands", {}).values():
        yield from _walk_options(below)


def _with_value(name: str, argument: Argument) -> str:
    if not argument.has_value:
        return name
    values = argument.value if isinstance(argument.value, list | tuple) else [argument.value]
    texts = [_to_text(value) for value in values]
    return " ".join(f"{name} {shlex.quote(text)}" for text in texts)


def _to_text(value: Any) -> str:
    if value is None:
        return "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
