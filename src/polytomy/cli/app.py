"""The `polytomy` command. A failure prints one message and exits with code 2, never a traceback.

Ctrl-C prints "interrupted" and exits with code 130; files are written completely or not at all.
The command `warm-up` is here too; each other command is in the module of its subject.
"""

from __future__ import annotations

import csv
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from polytomy.cli import evaluating, model_files, predicting, schemes, training, trials
from polytomy.cli.data import (
    InterruptedWorkError,
    explain_failure,
    print_answer,
    print_text,
)
from polytomy.cli.options import AS_JSON, JOBS, expand_options, fill_in_names, find_default
from polytomy.errors import Argument, Message, PolytomyError
from polytomy.inputs.arguments import count_things

if TYPE_CHECKING:
    from polytomy.routines.warming import WarmUpProgress


class HelpfulCommand(TyperCommand):
    """A command whose help has the names and defaults of the library."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        shown = copy(self)
        shown.params = [describe_parameter(each) for each in self.params]
        TyperCommand.format_help(shown, ctx, formatter)


def describe_parameter(parameter: Any) -> Any:
    """Return a parameter of a command for its help, with the names and the default to show."""
    shown = copy(parameter)
    shown.help = fill_in_names(parameter.help or "")
    shown.default = find_default(parameter)
    shown.show_default = not isinstance(shown.default, bool) and "efault" not in shown.help
    return shown


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


# -- the application -------------------------------------------------------------------------------


EXIT_CODE_OF_INTERRUPT = 130


def _make_app(**options: Any) -> typer.Typer:
    return typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )


def warm_up(n_jobs: int | None = JOBS, as_json: bool = AS_JSON) -> None:
    """Compile all routines now, so that no later command or program has to.

    Run it when you build a container image. The machine code is stored next to the package, or in
    the folder named by the environment variable NUMBA_CACHE_DIR. Routines that are already compiled
    are not compiled again.

    Example: `polytomy warm-up`
    """
    from polytomy.routines import warming

    done = warming.warm_up(None if as_json else _print_line, n_jobs=n_jobs)
    functions = count_things(done.n_compiled, "function")
    compiled = f"{functions} compiled" if done.n_compiled else "nothing to compile"
    print_answer(
        {**done._asdict(), "folder": str(done.folder)},
        f"{done.n_routines} routines are ready ({compiled}, {done.seconds:.1f} s); "
        f"their machine code is in {done.folder}",
        as_json,
    )


def _print_line(at: WarmUpProgress) -> None:
    if at.routine:
        line = f"{at.n_done + 1}/{at.n_routines} {at.routine}"
        print(line, file=sys.stderr, flush=True)


app = _make_app(name="polytomy", help="Multi-class classifiers composed of binary ones.")
datasets = _make_app(help="List and download datasets for trials.", add_completion=False)
_COMMANDS: tuple[Callable[..., None], ...] = (
    training.train,
    predicting.predict,
    evaluating.evaluate,
    model_files.info,
    model_files.convert,
    model_files.compress,
    model_files.extend,
    model_files.export,
    trials.split,
    schemes.design,
    schemes.check,
    schemes.show,
    schemes.flatten,
    schemes.tree,
    schemes.distances,
    schemes.search,
    trials.trials,
    trials.report,
    warm_up,
)
for function in _COMMANDS:
    app.command(function.__name__.replace("_", "-"), cls=HelpfulCommand)(expand_options(function))
datasets.command("list", cls=HelpfulCommand)(expand_options(trials.list_datasets))
datasets.command("get", cls=HelpfulCommand)(expand_options(trials.get_datasets))
app.add_typer(datasets, name="datasets")


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
        app(prog_name="polytomy")
    except SystemExit as error:
        # Typer ends a command with this code after Ctrl-C.
        if error.code != EXIT_CODE_OF_INTERRUPT:
            raise
        _fail("interrupted", EXIT_CODE_OF_INTERRUPT)
    except InterruptedWorkError as error:
        _fail(str(error), EXIT_CODE_OF_INTERRUPT)
    except PolytomyError as error:
        _fail(_show_message(error))
    except OSError as error:
        _fail(explain_failure(error))
    except MemoryError:
        _fail("out of memory")
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        _fail(f"the terminal cannot show {character!a}; set its encoding to UTF-8")
    except (ImportError, ValueError, csv.Error) as error:
        # Raised because a package is missing, or by scikit-learn because of the options or the
        # data. An extension module that is being imported turns Ctrl-C into an ImportError too.
        _fail(" ".join([str(error), *(f"({note})" for note in getattr(error, "__notes__", ()))]))


def _fail(message: str, code: int = 2) -> None:
    print(f"polytomy: {message}", file=sys.stderr)
    raise SystemExit(code)


def _show_message(message: Message) -> str:
    """Return a library message with options in place of arguments."""
    command = find_command(app, sys.argv[1:])
    return message.worded(lambda argument: show_option(argument, command, app))


def _make_warning_printer() -> Callable[..., None]:
    """Return a function that prints each warning once, even if many binaries cause it."""
    printed: set[str] = set()

    def print_warning(message: Warning | str, *_: object, **__: object) -> None:
        text = _show_message(message) if isinstance(message, Message) else str(message)
        if text not in printed:
            printed.add(text)
            print(f"polytomy: warning: {text}", file=sys.stderr)

    return print_warning
