"""Run benchmarks: `python -m benchmarks [name [argument ...]] ...`; without a name, all of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

import benchmarks


def find_benchmarks() -> dict[str, Callable[..., Any]]:
    """Return the `main` function of every module of this package that has one, by name.

    Benchmark names have hyphens instead of the underscores in module names.
    """
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    modules = {
        name: importlib.import_module(f"benchmarks.{name}") for name in names if name != "__main__"
    }
    return {
        name.replace("_", "-"): module.main
        for name, module in modules.items()
        if hasattr(module, "main")
    }


def main(words: list[str]) -> int:
    known = find_benchmarks()
    if {"-h", "--help"} & set(words):
        print(f"python -m benchmarks [name [argument ...]] ...\n\nBenchmarks: {', '.join(known)}.")
        print("Without a name, all of them run. POLYTOMY_DATA is the folder of the datasets.")
        return 0
    if words and words[0] not in known:
        print(f"unknown benchmark {words[0]!r}; use one of {', '.join(known)}", file=sys.stderr)
        return 2
    # Words after a name, up to the next name, are arguments for that benchmark.
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
