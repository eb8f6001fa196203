"""How fast are control texts read and printed, and is the time linear in their length?

Chains grow in depth, one-vs-one texts in width. The time per MB should stay about the same for each
kind; it grows slightly because Python's garbage collector has more objects to visit. Times are
processor times, so that other load on the machine does not count. Each text is read in its own
process, to measure peak memory.

    python -m benchmarks language
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

from polytomy import designs, parse
from polytomy.language import Source, parse_text
from polytomy.scheme.reading import resolve_tree

WIDTHS = (50, 100, 200, 500, 1000)  # number of classes in one-vs-one
DEPTHS = (1_000, 5_000, 20_000, 50_000)  # number of levels in a chain
TARGET = 1.0  # MB/s for parsing and resolving one-vs-one with 500 classes


class Row(NamedTuple):
    """Measurements of one text."""

    text: str
    size: float  # MB
    parsing: float  # seconds
    resolving: float
    printing: float
    memory: float  # MB for parsing and resolving, without the text itself
    same: bool  # parse(str(scheme)) == scheme


def one_vs_one(n_classes: int) -> str:
    return str(designs.one_vs_one(n_classes))


def chain(depth: int) -> str:
    return "".join(f"m{i} {{class{i} " for i in range(depth)) + "end" + "}" * depth


def measure(name: str, text: str) -> Row:
    before = peak_memory()
    repeats = 3 if len(text) < 3e6 else 1
    source = Source(text)
    parsing, tree = best_time(lambda: parse_text(source), repeats)
    resolving, _ = best_time(lambda: resolve_tree(tree, source), repeats)
    memory = peak_memory() - before
    scheme = parse(text)
    printing, printed = best_time(lambda: str(scheme), repeats)
    same = parse(printed) == scheme
    return Row(name, len(text) / 1e6, parsing, resolving, printing, memory, same)


def best_time(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def peak_memory() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def in_new_process(work: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def main() -> None:
    cases = [("chain", chain, n) for n in DEPTHS] + [("one-vs-one", one_vs_one, n) for n in WIDTHS]
    print(
        f"{'text':18} {'MB':>6}  {'parse':>6} {'resolve':>7} {'print':>6}   "
        f"{'read':>5}   {'read':>6} {'print':>6}   {'peak':>5}  same after"
    )
    print(
        f"{'':18} {'':>6}  {'s':>6} {'s':>7} {'s':>6}   "
        f"{'MB/s':>5}   {'s/MB':>6} {'s/MB':>6}   {'MB':>5}  printing"
    )
    rows = []
    for name, make, size in cases:
        # A process inherits the peak memory of its parent, so another process creates the text.
        text = in_new_process(make, size)
        row = in_new_process(measure, f"{name} {size:,}", text)
        reading = row.parsing + row.resolving
        print(
            f"{row.text:18} {row.size:6.2f}  {row.parsing:6.2f} {row.resolving:7.2f} "
            f"{row.printing:6.2f}   {row.size / reading:5.2f}   {reading / row.size:6.2f} "
            f"{row.printing / row.size:6.2f}   {row.memory:5.0f}  {'yes' if row.same else 'NO'}"
        )
        rows.append(row)
    speed = next(r.size / (r.parsing + r.resolving) for r in rows if r.text == "one-vs-one 500")
    verdict = "met" if speed >= TARGET else "MISSED"
    print(f"\none-vs-one of 500 classes: {speed:.2f} MB/s; target of {TARGET} MB/s {verdict}")


if __name__ == "__main__":
    main()
