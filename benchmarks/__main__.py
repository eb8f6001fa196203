"""Run benchmarks: `python -m benchmarks [name [argument ...]] ...`, all of them without a name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

import benchmarks


def find_benchmarks() -> dict[str, Callable[..., Any]]:
    """The modules of this package that have a `main`, by name."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    modules = {
        name: importlib.import_module(f"benchmarks.{name}") for name in names if name != "__main__"
    }
    return {name: module.main for name, module in modules.items() if hasattr(module, "main")}


def main(words: list[str]) -> int:
    known = find_benchmarks()
    if {"-h", "--help"} & set(words):
        print(f"python -m benchmarks [name [argument ...]] ...\n\nThe names: {', '.join(known)}.")
        print("Data is looked for in the folder that POLYTOMY_DATA names.")
        return 0
    if words and words[0] not in known:
        print(f"no benchmark is named {words[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    # A name starts a benchmark, and the words up to the next name are its arguments.
    runs: list[tuple[str, list[str]]] = [] if words else [(name, []) for name in known]
    for word in words:
        if word in known:
            runs.append((word, []))
        else:
            runs[-1][1].append(word)
    for name, arguments in runs:
        print(f"== {name}", flush=True)
        takes_arguments = bool(inspect.signature(known[name]).parameters)
        known[name](arguments) if takes_arguments else known[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
