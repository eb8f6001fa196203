"""How fast is least squares, compared with NumPy and SciPy?

20,000 samples: probabilities from a flat Dirichlet distribution, and the decision values they imply
with noise of 0.2. Two threads. Every case runs in its own process, to measure peak memory. Peers:

- `scipy.optimize.nnls`, sample by sample, with the sum of the probabilities as an extra row of
  large weight; timed on 500 samples;
- one batched `numpy.linalg.solve` of Wu, Lin and Weng's systems, which are built before timing;
- the product down a tree, with one vectorised step per node.

It then measures the time per sample of each algorithm as the number of classes grows. Both tables
are written to docs/figures, and the second is also plotted. Last, it compares the divergence of
partitions with several sides with least squares.

    python -m benchmarks solvers
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from polytomy import solve
from polytomy.designs import n_ary
from polytomy.errors import CodeError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import adjacent, one_vs_one, one_vs_rest, orthogonal
from polytomy.scheme.structure import pair_of_each_row
from polytomy.solvers.least_squares import solve_by, solve_least_squares

Floats = NDArray[np.float64]

N_SAMPLES = 20_000
N_TIMED_ONE_BY_ONE = 500
SECONDS_PER_TIMING = 3.0
LEAST_REPEATS = 5
SUM_WEIGHT = 1e4
N_OF_SIDES = 100
FIGURES = Path(__file__).parents[1] / "docs" / "figures"


class Case(NamedTuple):
    work: str
    n_classes: int
    peer: str
    wanted: float  # smallest acceptable speed-up over the peer


class Result(NamedTuple):
    work: str
    classes: int
    partitions: int
    microseconds: float  # per sample
    peer: str
    peer_microseconds: float
    ratio: float
    wanted: float
    difference: float  # largest difference of a probability from the peer's
    megabytes: float  # peak above the memory used with the decisions loaded
    times_data: float  # peak over the size of decisions and probabilities


CASES = [
    *(Case("one-vs-rest", n, "nnls", 100) for n in (10, 26, 100)),
    *(Case("orthogonal", n, "nnls", 100) for n in (10, 26, 100)),
    *(Case("adjacent", n, "nnls", 100) for n in (10, 26, 100)),
    Case("strict, 40 rows", 26, "nnls", 10),
    Case("ternary, 60 rows", 26, "nnls", 10),
    *(Case("one-vs-one", n, "batched solve", 3) for n in (10, 26)),
    *(Case("tree", n, "steps over nodes", 1) for n in (26, 1000)),
]

GROWTH = {
    "product": "tree",
    "isotonic": "adjacent",
    "projection": "one-vs-rest",
    "pairwise": "one-vs-one",
    "active-set, strict": "strict",
    "active-set, ternary": "ternary",
}
SIZES = (3, 10, 30, 100, 300, 1000)
SECONDS_PER_POINT = 0.2
MOST_GROWTH_BYTES = 2**27  # largest size of the decisions


def make_code(work: str, n_classes: int) -> CodingMatrix:
    rng = np.random.default_rng(n_classes)
    kind, _, rows = work.partition(", ")
    n_rows = int(rows.split()[0]) if rows else 2 * n_classes
    match kind:
        case "one-vs-rest":
            return one_vs_rest(n_classes)
        case "orthogonal":
            return orthogonal(n_classes, random_state=0)
        case "adjacent":
            return adjacent(n_classes)
        case "one-vs-one":
            return one_vs_one(n_classes)
        case "tree":
            return CodingMatrix(_random_tree(n_classes, rng))
    values = [-1, 1] if kind == "strict" else [-1, 0, 1]
    while True:
        try:
            return CodingMatrix(rng.choice(values, (n_rows, n_classes)))
        except CodeError:
            continue


def _random_tree(n_classes: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Split the classes at a random position, then both parts, and so on."""
    matrix = np.zeros((n_classes - 1, n_classes), dtype=np.int8)
    parts = [(0, n_classes)]
    for row in matrix:
        first, last = parts.pop()
        middle = int(rng.integers(first + 1, last))
        row[first:middle], row[middle:last] = -1, 1
        parts += [part for part in ((first, middle), (middle, last)) if part[1] - part[0] > 1]
    return matrix


def make_decisions(code: CodingMatrix, n_samples: int) -> Floats:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(code.n_classes), n_samples)
    if code.is_pairwise and code.n_classes > 2:
        negative, positive = (p[:, side] for side in pair_of_each_row(code.matrix))
        r = (positive - negative) / (positive + negative)
    else:
        signed = code.matrix.astype(np.float64)
        r = (p @ signed.T) / (p @ np.abs(signed).T)
    r = np.ascontiguousarray(r)
    r += 0.2 * rng.standard_normal(r.shape)
    return np.clip(r, -1.0, 1.0, out=r)


def best_time(work: Callable[[], object], seconds: float = SECONDS_PER_TIMING) -> float:
    """Return the shortest time of many runs, because other load can only add to it."""
    times: list[float] = []
    while len(times) < LEAST_REPEATS or sum(times) < seconds:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


# --- peers: each returns seconds per sample, and the probabilities of the samples it solved -------


def time_nnls(code: CodingMatrix, decisions: Floats) -> tuple[float, Floats]:
    signed = code.matrix.astype(np.float64)
    taking_part = np.abs(signed)
    few = decisions[:N_TIMED_ONE_BY_ONE]
    rows = np.vstack((signed, np.full(code.n_classes, SUM_WEIGHT)))
    target = np.append(np.zeros(code.n_partitions), SUM_WEIGHT)

    def solve_one(r: Floats) -> Floats:
        if code.is_strict:
            target[:-1] = r
        else:
            rows[:-1] = signed - r[:, np.newaxis] * taking_part
        return np.asarray(nnls(rows, target)[0])

    answers = np.array([solve_one(r) for r in few])
    return best_time(lambda: [solve_one(r) for r in few]) / len(few), answers


def time_batched_solve(code: CodingMatrix, decisions: Floats) -> tuple[float, Floats]:
    n = code.n_classes
    systems = np.zeros((len(decisions), n + 1, n + 1))
    for r, j, k in zip(decisions.T, *pair_of_each_row(code.matrix), strict=True):
        systems[:, j, j] += (1 + r) ** 2
        systems[:, k, k] += (1 - r) ** 2
        systems[:, j, k] -= 1 - r**2
        systems[:, k, j] -= 1 - r**2
    systems[:, n, :n] = systems[:, :n, n] = 1.0
    target = np.zeros((n + 1, 1))
    target[n] = 1.0
    answers = np.linalg.solve(systems, target)[:, :n, 0]
    return best_time(lambda: np.linalg.solve(systems, target)) / len(decisions), answers


def time_steps_over_nodes(code: CodingMatrix, decisions: Floats) -> tuple[float, Floats]:
    assert code.tree is not None
    children, order = code.tree
    n_rows = len(order)

    def multiply() -> Floats:
        # Rows of contiguous samples; a child's number (~k for class k) is its index.
        half = 0.5 * decisions.T
        mass = np.empty((2 * n_rows + 1, len(decisions)))
        mass[order[0]] = 1.0
        for row in order:
            left, right = children[row]
            np.multiply(mass[row], 0.5 + half[row], out=mass[right])
            np.subtract(mass[row], mass[right], out=mass[left])
        return np.ascontiguousarray(mass[: n_rows - 1 : -1].T)

    answers = multiply()
    return best_time(multiply) / len(decisions), answers


PEERS = {
    "nnls": time_nnls,
    "batched solve": time_batched_solve,
    "steps over nodes": time_steps_over_nodes,
}


def measure(case: Case) -> Result:
    code = make_code(case.work, case.n_classes)
    decisions = make_decisions(code, N_SAMPLES)
    solve_least_squares(code, decisions[:N_TIMED_ONE_BY_ONE])  # compiles
    before = reset_peak_memory()
    probabilities = solve_least_squares(code, decisions)
    peak = peak_memory() - before
    ours = best_time(lambda: solve_least_squares(code, decisions)) / len(decisions)
    theirs, answers = PEERS[case.peer](code, decisions)
    return Result(
        case.work,
        code.n_classes,
        code.n_partitions,
        ours * 1e6,
        case.peer,
        theirs * 1e6,
        theirs / ours,
        case.wanted,
        float(np.abs(probabilities[: len(answers)] - answers).max()),
        peak / 1e6,
        peak / (decisions.nbytes + probabilities.nbytes),
    )


def reset_peak_memory() -> int:
    """Reset the peak to the memory in use, and return it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def peak_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measure_growth(name: str, n_classes: int) -> tuple[str, int, int, float]:
    code = make_code(GROWTH[name], n_classes)
    most = max(1, MOST_GROWTH_BYTES // (8 * code.n_partitions))
    algorithm = name.partition(", ")[0]
    decisions = make_decisions(code, min(N_SAMPLES, most))
    solve_by(algorithm, code, decisions[:1])  # compiles
    n_samples, seconds = 0, 0.0
    while seconds < SECONDS_PER_POINT and n_samples < len(decisions):
        n_samples = min(max(4, 8 * n_samples), len(decisions))
        work = partial(solve_by, algorithm, code, decisions[:n_samples])
        seconds = best_time(work, SECONDS_PER_POINT)
    return name, n_classes, n_samples, seconds / n_samples * 1e6


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    # Read by Numba and by NumPy's linear algebra when they are loaded.
    for library in ("NUMBA", "OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "2")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measure_divergence(n_classes: int, n_sides: int, concentration: float) -> tuple[float, float]:
    """Return the microseconds per sample of the divergence, and of least squares."""
    scheme = n_ary(n_classes, sides=n_sides, random_state=0)
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(n_classes, concentration), N_OF_SIDES)
    masses = p @ (scheme.code.matrix > 0).T + 1e-3
    chances = masses * np.exp(0.3 * rng.standard_normal(masses.shape))
    chances = chances.reshape(N_OF_SIDES, -1, n_sides)
    chances /= chances.sum(axis=2, keepdims=True)
    decisions = 2.0 * chances.reshape(N_OF_SIDES, -1) - 1.0
    methods = "divergence", "least-squares"
    found = [solve(scheme, decisions, method) for method in methods]
    assert all(np.abs(each.sum(axis=1) - 1).max() < 1e-9 for each in found)
    times = [best_time(partial(solve, scheme, decisions, each), 0.5) for each in methods]
    return times[0] / N_OF_SIDES * 1e6, times[1] / N_OF_SIDES * 1e6


def main() -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    print(f"least squares, {N_SAMPLES:,} samples, times in microseconds per sample")
    print(
        f"{'work':29}{'classes':>8}{'ours':>9}  {'peer':17}{'its time':>9}{'ratio':>8}{'wanted':>8}"
        f"{'difference':>12}{'peak MB':>9}{'/ data':>7}"
    )
    results = []
    for case in CASES:
        result: Result = in_own_process(measure, case)
        results.append(result)
        print(
            f"{result.work:29}{result.classes:8}{result.microseconds:9.3f}  {result.peer:17}"
            f"{result.peer_microseconds:9.2f}{result.ratio:7.1f}x{result.wanted:7g}x"
            f"{result.difference:12.1e}{result.megabytes:9.1f}{result.times_data:7.2f}"
            f"{'' if result.ratio >= result.wanted else '  MISSED'}",
            flush=True,
        )
    write_csv(FIGURES / "solvers.csv", Result._fields, results)

    print("\ngrowth with the number of classes, microseconds per sample")
    print(f"{'':20}" + "".join(f"{n:>12}" for n in SIZES))
    growth = []
    for name in GROWTH:
        points = [in_own_process(measure_growth, name, n) for n in SIZES]
        growth += points
        print(f"{name:20}" + "".join(f"{point[-1]:12.3f}" for point in points), flush=True)
    fields = ("algorithm", "classes", "samples", "microseconds")
    write_csv(FIGURES / "solver_growth.csv", fields, growth)
    plot_growth(growth)

    print("\nn-way codes, microseconds per sample: divergence, least squares, ratio (at most 5)")
    for n_classes, n_sides, concentration in product((20, 100, 242), (5, 10), (1.0, 0.05)):
        ours, theirs = measure_divergence(n_classes, n_sides, concentration)
        kind = "flat" if concentration == 1.0 else "peaked"
        print(
            f"{n_classes:5} classes {n_sides:3} sides, {kind:7}{ours:9.1f}{theirs:9.1f}"
            f"{ours / theirs:7.2f}",
            flush=True,
        )


def write_csv(path: Path, fields: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(fields)
        for row in rows:
            writer.writerow([f"{v:.4g}" if isinstance(v, float) else v for v in row])


def plot_growth(growth: list[tuple[str, int, int, float]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for name in GROWTH:
        points = [(n, t) for each, n, _, t in growth if each == name]
        axes.loglog(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xlabel("classes")
    axes.set_ylabel("microseconds per sample, two threads")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(FIGURES / "solver_growth.png", dpi=120)


if __name__ == "__main__":
    main()
