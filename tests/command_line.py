"""The command line, called in this process, which is much faster than starting another."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import NamedTuple, TextIO
from unittest import mock

import typer.main

from polytomy.cli import main

__all__ = ["Outcome", "call_main", "call_on_terminal", "make_commands", "search_path"]


# Typer makes the commands anew for each call, which takes longer than most of them run.
make_commands = cache(typer.main.get_command)


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def call_main(
    arguments: list[str], typed: bytes = b"", *, together: bool = False, **streams: TextIO
) -> Outcome:
    """Run `polytomy` with arguments and standard input.

    `together` merges stderr into `out`. `stdout` and `stderr` are streams in place of those that
    the outcome is read from.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    on_termination = signal.getsignal(signal.SIGTERM)  # `main` sets a handler of its own
    with (
        warnings.catch_warnings(action="default"),
        mock.patch.object(typer.main, "get_command", make_commands),
        mock.patch.multiple(
            sys,
            argv=["polytomy", *arguments],
            stdin=io.TextIOWrapper(io.BytesIO(typed)),
            **{"stdout": out, "stderr": out if together else err, **streams},
        ),
    ):
        warnings.simplefilter("ignore", ResourceWarning)  # as Python does
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, on_termination)
    for stream in (out, err):
        stream.seek(0)
    return Outcome(code, out.read(), err.read())


def call_on_terminal(
    arguments: list[str], stream: str, variables: Mapping[str, str]
) -> tuple[str, Outcome]:
    """Run `polytomy` with a terminal as "stdout" or "stderr".

    Returns what the terminal receives, and the outcome with all else.
    """
    import pty  # Windows has none

    terminal, end = pty.openpty()
    received = bytearray()

    def receive() -> None:
        with suppress(OSError):  # raised by Linux when the other end is closed
            while piece := os.read(terminal, 4096):
                received.extend(piece)

    reader = Thread(target=receive)
    reader.start()
    try:
        with (
            mock.patch.dict(os.environ, variables),
            os.fdopen(end, "w", encoding="utf-8") as screen,
        ):
            outcome = call_main(arguments, **{stream: screen})
    finally:
        reader.join()
        os.close(terminal)
    return received.decode().replace("\r\n", "\n"), outcome


def search_path() -> str:
    """Return a search path that starts with `python` and `polytomy` of this interpreter."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
