"""The command and how it fails: one clean message and exit code 2, never a traceback."""

from __future__ import annotations

import csv
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

import typer

from polytomy.cli import (
    datasets,
    exporting,
    models,
    predicting,
    reporting,
    schemes,
    searching,
    splitting,
    trials,
)
from polytomy.cli.text_files import explain_failure, print_text
from polytomy.cli.wording import in_options
from polytomy.errors import PolytomyError

__all__ = ["app", "main"]

app = typer.Typer(
    name="polytomy",
    help="Multi-class classifiers composed of binary ones.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (
    models,
    predicting,
    exporting,
    splitting,
    schemes,
    searching,
    trials,
    reporting,
    datasets,
):
    commands.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_text(f"polytomy {version('polytomy')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Multi-class classifiers composed of binary ones."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    warnings.showwarning = _each_once()
    # Ended from outside, it still takes its unfinished files away.
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app(prog_name="polytomy")
    except PolytomyError as error:
        _fail(str(error))
    except OSError as error:
        _fail(explain_failure(error))
    except MemoryError:
        _fail("there is not enough memory for this")
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        _fail(f"the terminal cannot show {character!a}; set its encoding to UTF-8")
    except (ValueError, csv.Error) as error:
        # What scikit-learn, or a reader of tables, has against the options or the data.
        _fail(str(error))


def _fail(message: str) -> None:
    print(f"polytomy: {in_options(message)}", file=sys.stderr)
    raise SystemExit(2)


def _each_once() -> Callable[..., None]:
    """Return what shows a warning; many binaries may have the same one."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = in_options(str(message))
        if text not in shown:
            shown.add(text)
            print(f"polytomy: warning: {text}", file=sys.stderr)

    return show
