"""What some tests need besides the packages of `make test`, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil

import pytest

from browser import CHROMIUM

__all__ = [
    "describe_untested",
    "needs_chromium",
    "needs_libsvm",
    "needs_posix",
    "needs_site_packages",
]

_CHROMIUM = "Chromium"
_LIBSVM = "the programs of LIBSVM"
_SITE = "the packages that build the site"
_WAYS = {
    _CHROMIUM: "apt-get install chromium",
    _LIBSVM: "apt-get install libsvm-tools",
    _SITE: "pip install --group docs",
    "POLYTOMY_DATA": "set it to the folder of the benchmark datasets (polytomy datasets get)",
}


def _needs(what: str, is_there: bool) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not is_there, reason=f"needs {what}")


needs_chromium = _needs(_CHROMIUM, CHROMIUM is not None and os.name == "posix")
needs_libsvm = _needs(_LIBSVM, shutil.which("svm-predict") is not None)
# Named pipes, symbolic links for everyone, modes of files, SIGKILL, Ctrl-C for one process, …
needs_posix = _needs("a POSIX system", os.name == "posix")
needs_site_packages = _needs(_SITE, importlib.util.find_spec("sphinx_gallery") is not None)


def describe_untested(skipped: list[tuple[str, str]]) -> list[str]:
    """Return a line for each reason to skip: how many tests, why, and what to do about it.

    Parameters
    ----------
    skipped : pairs of a test, or a file with all its tests, and the reason
    """
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in skipped:
        names_by_reason.setdefault(_shorten(reason), []).append(name)
    lines = []
    for reason, names in sorted(names_by_reason.items()):
        tests = sum("::" in name for name in names)
        files = [f"all of {name}" for name in names if "::" not in name]
        count = [f"{tests} test{'s' * (tests > 1)}"] if tests else []
        way = _find_way(reason)
        ending = f" -> {way}" if way else ""
        lines.append(f"{', '.join(count + files)}: {reason}{ending}")
    return lines


def _shorten(reason: str) -> str:
    reason = reason.removeprefix("Skipped: ")
    missing = re.match(r"could not import '([\w.]+)'", reason)
    return reason if missing is None else f"needs the package {missing[1].split('.')[0]}"


def _find_way(reason: str) -> str | None:
    needed = reason.removeprefix("needs ")
    package = re.fullmatch(r"the package (\w+)", needed)
    return _WAYS.get(needed) if package is None else f"pip install {package[1]}"
