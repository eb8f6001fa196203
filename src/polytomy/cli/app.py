"""The `polytomy` command. A failure prints one message and exits with code 2, never a traceback.

Ctrl-C prints "interrupted" and exits with code 130; files are written completely or not at all.
"""

from __future__ import annotations

import csv
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Annotated, Any

import typer

from polytomy.cli import (
    datasets,
    evaluating,
    exporting,
    model_files,
    predicting,
    reporting,
    schemes,
    searching,
    splitting,
    training,
    trials,
    warming,
)
from polytomy.cli.help_pages import HelpfulCommand, HelpfulGroup
from polytomy.cli.interrupts import interrupt_after_imports
from polytomy.cli.option_names import find_command, show_option
from polytomy.cli.text_files import explain_failure, print_text
from polytomy.errors import Message, PolytomyError

__all__ = ["app", "main"]

_EXIT_CODE_OF_INTERRUPT = 130


class _Interrupted(BaseException):
    """Replaces KeyboardInterrupt, which Typer would handle in its own way."""


class _Commands(HelpfulGroup):
    def make_context(self, *arguments: Any, **named: Any) -> Any:
        with _own_interrupts():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        with _own_interrupts():
            return super().invoke(ctx)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise _Interrupted from None


app = typer.Typer(
    name="polytomy",
    cls=_Commands,
    help="Multi-class classifiers composed of binary ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (
    training,
    predicting,
    evaluating,
    model_files,
    exporting,
    splitting,
    schemes,
    searching,
    trials,
    reporting,
    datasets,
    warming,
):
    commands.register(app)
for command in app.registered_commands:
    command.cls = HelpfulCommand


def _print_version(is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version

        print_text(f"polytomy {version('polytomy')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Multi-class classifiers composed of binary ones."""


def main() -> None:
    """Run the command line and end the process with the exit code."""
    warnings.showwarning = _make_warning_printer()
    # SIGTERM becomes SystemExit, so that temporary files are removed.
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        interrupt_after_imports(partial(app, prog_name="polytomy"))
    except (_Interrupted, KeyboardInterrupt):
        _fail("interrupted", _EXIT_CODE_OF_INTERRUPT)
    except PolytomyError as error:
        _fail(_show_message(error))
    except OSError as error:
        _fail(explain_failure(error))
    except MemoryError:
        _fail("out of memory")
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        _fail(f"the terminal cannot show {character!a}; set its encoding to UTF-8")
    except (ValueError, csv.Error) as error:
        # Raised by scikit-learn or the csv module because of the options or the data.
        _fail(str(error))


def _fail(message: str, code: int = 2) -> None:
    print(f"polytomy: {message}", file=sys.stderr)
    raise SystemExit(code)


def _show_message(message: Message) -> str:
    """Return a library message with options in place of arguments."""
    command = find_command(app, sys.argv[1:])
    return message.worded(lambda argument: show_option(argument, command))


def _make_warning_printer() -> Callable[..., None]:
    """Return a function that prints each warning once, even if many binaries cause it."""
    printed: set[str] = set()

    def print_warning(message: Warning | str, *_: object, **__: object) -> None:
        text = _show_message(message) if isinstance(message, Message) else str(message)
        if text not in printed:
            printed.add(text)
            print(f"polytomy: warning: {text}", file=sys.stderr)

    return print_warning
