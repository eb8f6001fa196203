"""Run the code of a document and check that it does what the document shows.

=====================  ===========================================================================
fenced block           check
=====================  ===========================================================================
``python`` with >>>    run as a doctest
``python``             run; a ``text`` or ``output`` block directly below must match its output
``console``            each line after ``$`` is run, and the lines below must match its output
``control [FILE]``     must be a valid control text; with a name, it is written to that file
``broken FILE``        must be an invalid control text; it is written to that file
``text``, ``output``   not checked elsewhere
``{directive}``        left to Sphinx
=====================  ===========================================================================

The blocks of a document share a namespace and a directory. A block below the comment
``<!-- not run: reason -->`` is not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import call_main, search_path
from polytomy.errors import ControlError
from polytomy.scheme.reading import parse_with_warnings

__all__ = ["Block", "find_blocks", "find_failures", "find_headings", "find_links", "run_command"]

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S
)
_NOT_RUN = re.compile(r"<!--\s*not run(?P<reason>:[^>]*?)?\s*-->\s*\Z")
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)[^)]*\)|<img[^>]*\bsrc=\"(?P<image>[^\"]+)\"")
_COMMANDS = {"polytomy", "python", "echo", "printf", "cat"}
# Commands that can run without a shell.
_QUICK = re.compile(r"(?:echo '(?P<text>[^'\\]*)' \| )?polytomy (?P<arguments>[^|;&<>$`]*)")
_OUTPUTS = {"text", "output"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its position, the words on the fence, and its text."""

    line: int
    language: str
    title: str
    text: str
    excuse: str | None  # why it is not run
    follows: bool  # directly below the block before it


def find_blocks(document: str) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    blocks = []
    end = 0
    for match in _FENCE.finditer(document):
        between = document[end : match.start()]
        mark = _NOT_RUN.search(between)
        language, _, title = match["info"].strip().partition(" ")
        indent = match["indent"]
        text = re.sub(f"^{indent}", "", match["body"], flags=re.M)
        line = document.count("\n", 0, match.start()) + 1
        excuse = None if mark is None else (mark["reason"] or ":")[1:].strip()
        follows = bool(blocks) and not between.strip()
        blocks.append(Block(line, language, title.strip(), text, excuse, follows))
        end = match.end()
    return blocks


def find_links(document: str) -> list[str]:
    """Return the targets of the links and images outside of code."""
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", document))
    return [match["target"] or match["image"] for match in _LINK.finditer(prose)]


def find_headings(document: str) -> set[str]:
    """Return the headings of a document, as GitHub spells them in links."""
    headings = re.findall(r"^#+ +(.*?) *$", _FENCE.sub("", document), re.M)
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {text.replace(" ", "-") for text in words}


def find_failures(document: str, directory: Path) -> list[str]:
    """Run a document in a directory, and return the blocks that are wrong, each with its line."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    failures = []
    printed: str | None = None  # output of the block above
    with contextlib.chdir(directory):
        for block in find_blocks(document):
            expected_of_above = printed if block.follows else None
            printed = None
            if block.excuse is not None:
                messages = [] if block.excuse else ["say why it is not run: <!-- not run: ... -->"]
            elif block.language == "python" and ">>>" in block.text:
                messages = list(_run_doctest(block, namespace))
            elif block.language == "python":
                printed, messages = _run_python(block, namespace)
            elif block.language == "console":
                messages = list(_run_console(block))
            elif block.language in {"control", "broken"}:
                messages = list(_read_control(block))
            elif block.language.startswith("{"):
                messages = []
            elif block.language in _OUTPUTS:
                messages = list(_compare(block.text, expected_of_above))
            else:
                messages = [
                    f"blocks of {block.language!r} are not run; say why: <!-- not run: ... -->"
                ]
            failures += [f"line {block.line}: {message}" for message in messages]
    return failures


def _compare(shown: str, printed: str | None) -> Iterator[str]:
    if printed is not None and _trimmed(shown) != _trimmed(printed):
        yield f"shown:\n{shown}\nprinted:\n{printed}"


def _trimmed(text: str) -> list[str]:
    # White space at the end of a line is invisible, and editors remove it.
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _run_doctest(block: Block, namespace: dict[str, Any]) -> Iterator[str]:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, "document", None, block.line)
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    if runner.failures:
        yield report.getvalue()


def _run_python(block: Block, namespace: dict[str, Any]) -> tuple[str, list[str]]:
    printed = io.StringIO()
    try:
        # Leading line breaks make the line numbers of a traceback those of the document.
        code = compile("\n" * block.line + block.text, "document", "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except Exception:
        return printed.getvalue(), [traceback.format_exc()]
    return printed.getvalue(), []


def _run_console(block: Block) -> Iterator[str]:
    head, *entries = re.split(r"^\$ ", block.text, flags=re.M)
    if head.strip() or not entries:
        yield "a console block starts with a command after '$ '"
    for entry in entries:
        command, _, shown = entry.partition("\n")
        strangers = [part for part in command.split("|") if part.split()[0] not in _COMMANDS]
        if strangers:
            yield f"{command!r} is not run; say why: <!-- not run: ... -->"
            continue
        printed = run_command(command)
        yield from _compare(shown, printed)


def run_command(command: str) -> str:
    """Return the output of a command, standard error included."""
    quick = _QUICK.fullmatch(command)
    if quick is not None:
        typed = "" if quick["text"] is None else quick["text"] + "\n"
        return call_main(shlex.split(quick["arguments"]), typed.encode(), together=True).out
    return _run_in_shell(command)


def _run_in_shell(command: str) -> str:
    return subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": search_path(), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        timeout=300,
        check=False,
    ).stdout.decode()


def _read_control(block: Block) -> Iterator[str]:
    if block.title:
        Path(block.title).write_text(block.text, encoding="utf-8")
    elif block.language == "broken":
        yield "a broken text needs a file name: ```broken land.control"
    try:
        parse_with_warnings(block.text, block.title or "<text>")
    except ControlError as error:
        if block.language == "control":
            yield str(error)
    else:
        if block.language == "broken":
            yield "this control text is valid, but marked as broken"
