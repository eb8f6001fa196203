"""What commands read and write: data files, control texts, labels; text, JSON and tables.

Also the number of samples on a terminal, which shows progress.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from polytomy.cli.options import DataOptions, FeatureOptions
from polytomy.errors import Argument, ArgumentError, DataError, PolytomyError
from polytomy.files import open_atomically
from polytomy.language import MAX_CHARACTERS
from polytomy.scheme.reading import decode_text, read_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polytomy.datasets import Data, Source

STANDARD_INPUT = "-"
_NAME_OF_STANDARD_INPUT = "<standard input>"
# A list of labels or a table of classes is small; a larger file must be something else.
_MOST_BYTES = 2**26


class InterruptedWorkError(PolytomyError):
    """Work that Ctrl-C ended; the message says what was saved."""


# -- text ------------------------------------------------------------------------------------------


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise _closed(_NAME_OF_STANDARD_INPUT)
    return sys.stdin.buffer


def read_control(file: str) -> tuple[str, str]:
    """Return a control text and its name in messages."""
    name = _NAME_OF_STANDARD_INPUT if file == STANDARD_INPUT else file
    try:
        if file != STANDARD_INPUT:
            return read_text(file), name
        return decode_text(_standard_input().read(4 * MAX_CHARACTERS + 1), name), name
    except OSError as error:
        # Unlike opening, reading does not set the name of the file.
        error.filename = name
        raise


def is_file(text: str) -> bool:
    """Return whether the value of an option is the name of a file."""
    try:
        return Path(text).is_file()
    except OSError:  # too long for a file name
        return False


def read_short_text(path: str | Path, option: str, kind: str) -> str:
    """Return the text of a file that an option names.

    Parameters
    ----------
    path : its name
    option : the option, for messages
    kind : what it should hold, for messages
    """
    if is_file(str(path)) and Path(path).stat().st_size > _MOST_BYTES:
        raise ArgumentError(f"{option} {path}: the file is too large for {kind}")
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentError(f"{option} {path}: the file is not UTF-8 text") from None


def parse_labels(text: str | None, option: str = "--class-order") -> Any:
    """Return the labels listed by an option; None if it is not given.

    A file has one label per line, or a JSON list of labels. For trials of several datasets, it may
    be a JSON object of dataset names and lists of labels. Labels with commas need quotes.

    Examples
    --------
    >>> parse_labels('low, high,"very, very high"')
    ['low', 'high', 'very, very high']
    """
    if text is None:
        return None
    if is_file(text):
        content = read_short_text(text, option, "a list of labels")
        if content.lstrip()[:1] not in ("[", "{"):
            return [line.strip() for line in content.splitlines() if line.strip()]
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ArgumentError(f"{option} {text}: the file is not valid JSON") from None
    labels = [label.strip() for label in next(csv.reader([text], skipinitialspace=True), [])]
    if not labels or not all(labels):
        raise ArgumentError(f"{option} {text}: a label is empty; write labels as a,b,c")
    return labels


def print_text(text: str) -> None:
    """Print a text; exit quietly if the pipe is closed, as in `polytomy show FILE | head`."""
    if sys.stdout is None:
        raise _closed("<standard output>")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python flushes standard output at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it atomically to a file."""
    if output is None:
        print_text(text)
        return
    with open_atomically(output) as file:
        file.write(f"{text}\n".encode())


def print_answer(facts: Any, text: str, as_json: bool) -> None:
    """Print the facts as JSON, or the text that tells them."""
    print_text(to_json(facts) if as_json else text)


def to_json(value: Any) -> str:
    """Return a value as JSON; numbers that are not finite become null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # a NumPy value
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value


def align_columns(rows: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return rows as lines; the first columns are aligned to the left, the others to the right.

    Examples
    --------
    >>> align_columns([["a", "1"], ["bcd", "10"]], 1)
    ['a     1', 'bcd  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k < n_left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def check_output(output: Path | None, *sources: str, endings: Sequence[str] = ()) -> None:
    """Raise ArgumentError if a file cannot be written, before any work is done."""
    if output is None:
        return
    if endings and output.suffix.lower() not in endings:
        raise ArgumentError(f"{output} must end with one of {', '.join(endings)}")
    if any(output.resolve() == Path(source).resolve() for source in sources):
        raise ArgumentError(f"{output} is also an input file; choose another output file")
    if output.is_dir():
        raise ArgumentError(f"{output} is a folder, not a file")
    if not output.resolve().parent.is_dir():
        raise ArgumentError(f"{output}: the folder {output.resolve().parent} does not exist")


def _closed(name: str) -> OSError:
    return OSError(errno.EBADF, os.strerror(errno.EBADF), name)


def explain_failure(error: OSError) -> str:
    """Return one line that says which file could not be read or written, and why."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


# -- progress --------------------------------------------------------------------------------------


def has_terminal() -> bool:
    """Return whether progress can be shown: whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def count_samples(verb: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts samples; the count is only shown on a terminal.

    Parameters
    ----------
    verb : what is done with the samples
    total : their number, to show the time left; optional
    """
    if not has_terminal():
        yield lambda n_samples: None
        return
    from rich import progress as rich
    from rich.console import Console

    count = rich.TextColumn("{task.completed:,.0f} samples " + verb)
    columns = (
        (rich.SpinnerColumn(), count, rich.TimeElapsedColumn())
        if total is None
        else (rich.BarColumn(), count, rich.TimeRemainingColumn())
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda n_samples: progress.advance(task, n_samples)


# -- samples ---------------------------------------------------------------------------------------


def open_data(path: str) -> Source:
    """Return the data source: standard input for -, a pipe, or a file."""
    from polytomy.datasets import Stream, open_source

    if path == STANDARD_INPUT:
        return Stream(_standard_input(), _NAME_OF_STANDARD_INPUT)
    return open_source(path)


def read_samples(
    path: str, options: DataOptions, *, is_number: bool = False, **more: Any
) -> tuple[Data, NDArray[Any]]:
    """Return the samples of a file and their labels; DataError if the labels are not classes.

    Parameters
    ----------
    path : name of the file
    options : how to read it
    is_number : whether the labels are the numeric targets of a regressor
    **more : further arguments of `polytomy.datasets.read_data`
    """
    from polytomy.datasets import read_data

    source = open_data(path)
    data = read_data(source, **options.reading(), **more)
    labels = data.y
    assert labels is not None, "a label column was requested"
    if is_number:
        return data, as_numbers(data, os.fspath(source))
    check_class_labels(labels, os.fspath(source), options.column, data.label_name)
    return data, labels


def read_scaled(path: str, options: FeatureOptions) -> tuple[Any, NDArray[Any]]:
    """Return the scaled features of a file and its labels."""
    data, labels = read_samples(path, options)
    scaler = make_scaler(options.scale, data.X)
    return (data.X if scaler is None else scaler.fit_transform(data.X)), labels


def check_class_labels(
    labels: NDArray[Any], source: str, column: str | int, label_name: str | None
) -> None:
    """Raise DataError if labels are fractions, which are not classes."""
    fractions = labels[labels % 1 != 0].tolist() if labels.dtype.kind == "f" else []
    if fractions:
        place = repr(column) if label_name is None else f'"{label_name}"'
        raise DataError(
            f"{source}, column {place}: labels must be classes; {fractions[0]:g} is neither a word "
            "nor an integer. Set ",
            Argument("target"),
            " to the label column. For numbers, use train --regress.",
        )


def as_numbers(data: Data, source: str) -> NDArray[Any]:
    """Return the targets of samples as floats; DataError with the row if one is not a number."""
    import numpy as np

    labels = data.y
    assert labels is not None, "a label column was requested"
    values = np.empty(len(labels))
    for k, label in enumerate(labels.tolist()):
        try:
            values[k] = float(label)
            is_number = np.isfinite(values[k])
        except ValueError:
            is_number = False
        if not is_number:
            raise DataError(
                f'{source}, row {data.row_numbers[k]}: the target "{label}" is not a number. Set ',
                Argument("target"),
                " to another column, or train without --regress.",
            )
    return values


def make_scaler(scale: str, X: Any) -> Any:
    """Return the unfitted scaler that an option names; None for no scaling."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scale == "none":
        return None
    if issparse(X):
        # These keep zeros, so sparse data stays sparse.
        return StandardScaler(with_mean=False) if scale == "standard" else MaxAbsScaler()
    return StandardScaler() if scale == "standard" else MinMaxScaler()
