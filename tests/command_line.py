"""The command line, called in this process, which is much faster than starting another."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from polytomy.cli import main

__all__ = ["Outcome", "call_main", "search_path"]


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def call_main(arguments: list[str], typed: bytes = b"", *, together: bool = False) -> Outcome:
    """Run `polytomy` with arguments and standard input; `together` merges stderr into `out`."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    on_termination = signal.getsignal(signal.SIGTERM)  # `main` sets a handler of its own
    with (
        warnings.catch_warnings(action="default"),
        mock.patch.multiple(
            sys,
            argv=["polytomy", *arguments],
            stdin=io.TextIOWrapper(io.BytesIO(typed)),
            stdout=out,
            stderr=out if together else err,
        ),
    ):
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


def search_path() -> str:
    """Return a search path that starts with `python` and `polytomy` of this interpreter."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
